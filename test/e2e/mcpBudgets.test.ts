/** Calls in progress at a time, as clients see the limits: examples/mcp/budgets.yaml, with two users. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../../apps/dev-idp/src/config.ts';
import { startDevIdp } from '../../apps/dev-idp/src/index.ts';
import { RemoteServer, type Incoming } from '../../src/mcp/remoteServer.testing.ts';
import { until } from '../../src/until.testing.ts';
import { startGateway } from './gateway.testing.ts';
import { answerOf, openSession, resultText } from './session.testing.ts';

const fromRoot = (file: string): string => fileURLToPath(new URL(`../../${file}`, import.meta.url));

test('a user has one export in progress at a time, in all sessions together, and other calls beside it', async (t) => {
  const idp = await startDevIdp({
    port: 0,
    config: await loadConfig(fromRoot('examples/quickstart/idp.yaml')),
  });
  const server = await RemoteServer.start();
  const held: Incoming[] = [];
  server.tools['export'] = (x) => void held.push(x);
  await using gateway = await startGateway('', {
    args: ['-f', fromRoot('examples/mcp/budgets.yaml')],
    env: { GATEWAY_PORT: '0', IDP_ISSUER: idp.issuer, MCP_URL: server.url },
  });
  t.after(() => Promise.all([server.close(), idp.close()]));
  await gateway.keysReady();
  const url = `${gateway.url}/mcp`;
  const [aliceToken, bobToken] = [
    await idp.issueToken({ user: 'alice' }),
    await idp.issueToken({ user: 'bob' }),
  ];
  const [alice, again, bob] = [
    await openSession(url, aliceToken),
    await openSession(url, aliceToken),
    await openSession(url, bobToken),
  ];
  const begun = async (count: number): Promise<void> => {
    await until('the export to reach the server', () => held.length === count);
  };
  const first = alice.call('export');
  await begun(1);
  const refused = await again.send('POST', { id: 7, method: 'tools/call', params: { name: 'export' } });
  assert.equal(refused.status, 429);
  assert.match(refused.headers.get('retry-after') ?? '', /^\d+$/);
  assert.match(
    answerOf(await refused.text()).error?.message ?? '',
    /too many calls are in progress: 1 calls/,
  );
  // Neither another tool, nor a list, nor another user shares the budget.
  assert.equal(resultText(await alice.call('echo', { text: 'a' })), 'a');
  assert.ok((await again.request('tools/list')).result);
  const ofBob = bob.call('export');
  await begun(2);
  for (const one of held) one.json(one.result('exported'));
  assert.equal(resultText(await first), 'exported');
  assert.equal(resultText(await ofBob), 'exported');
  // An export that its client takes back makes room, too.
  const cancelled = alice.send('POST', { id: 9, method: 'tools/call', params: { name: 'export' } });
  await begun(3);
  await alice.send('POST', { method: 'notifications/cancelled', params: { requestId: 9 } });
  await (await cancelled).body?.cancel();
  const last = again.call('export');
  await begun(4);
  held[3]?.json(held[3].result('again'));
  assert.equal(resultText(await last), 'again');
  const line = await gateway.lineWith(' 429 ');
  assert.match(line, /policy=mcpBudgets/);
  assert.match(line, /place=binds(?!\S*binds)\S*mcpBudgets\[1\]/);
  for (const session of [alice, again, bob]) await session.close();
});
