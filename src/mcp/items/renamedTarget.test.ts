/** Rules see the name that a target has today, in sessions that were opened under another one, too. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mcpBackend, remoteTarget, startHarness, stdioTarget, rulesBy } from '../harness.testing.ts';
import { RawClient } from '../rawClient.testing.ts';
import { stage } from '../remote.testing.ts';
import { startRemote } from '../remoteServer.testing.ts';
import { until } from '../../until.testing.ts';

const notDanger = { principal: undefined, ...rulesBy(({ target }) => target !== 'danger') };

test('a renamed child is judged by its new name, in calls, lists and news', async (t) => {
  const harness = await startHarness({ caller: () => notDanger });
  t.after(() => harness.close());
  const as = (name: string): void =>
    harness.use(mcpBackend({ targets: [stdioTarget({ name })], prefixMode: 'always' }));
  as('safe');
  const client = new RawClient(harness.url);
  await client.initialize();
  const pid = await client.call('safe_pid');
  const held = (): number => harness.runtime.view().sessions[0]!.held;
  await client.call('safe_updateLater', { uris: ['file:///secret'] });
  await until('the news waits', () => held() === 1);
  as('danger');
  for (const name of ['safe_pid', 'danger_pid'])
    assert.equal((await client.post(client.tool(name))).json.error?.message, `Unknown tool: ${name}`);
  assert.deepEqual((await client.post(client.request('prompts/list'))).json.result?.['prompts'], []);
  const during = await client.get();
  as('other');
  assert.equal(await client.call('other_pid'), pid, 'it is the same child');
  await client.call('other_updateLater', { uris: ['file:///open'] });
  const heard: string[] = [];
  let news = await during.next();
  for (; news !== undefined && news.method !== 'notifications/resources/updated'; news = await during.next())
    heard.push(news.method ?? '');
  // Other names are other lists.
  assert.ok(heard.includes('notifications/tools/list_changed'), heard.join(' '));
  assert.deepEqual(news?.params, { uri: 'file:///open' });
  await during.cancel();
  assert.equal(harness.annotations.findLast((notes) => notes.has('mcp.target'))?.get('mcp.target'), 'other');
});

test('a renamed server over the network is judged by its new name, and reached by it', async (t) => {
  const { server, harness, open } = await stage(t, { name: 'safe' }, { caller: () => notDanger });
  const client = await open();
  assert.equal(await client.call('echo', { text: 'a' }), 'a');
  harness.use(mcpBackend({ targets: [remoteTarget(server.url, { name: 'danger' })] }));
  assert.equal((await client.post(client.tool('echo'))).json.error?.message, 'Unknown tool: echo');
  harness.use(mcpBackend({ targets: [remoteTarget(server.url, { name: 'other' })] }));
  assert.equal(await client.call('echo', { text: 'b' }), 'b');
  assert.equal(server.of('initialize').length, 1);
});

test('a name that moves to another server takes no session along', async (t) => {
  const { server, harness, open } = await stage(t, { name: 'danger' }, { caller: () => notDanger });
  const second = await startRemote(t);
  const client = await open();
  harness.use(mcpBackend({ targets: [remoteTarget(second.url, { name: 'safe' })] }));
  const answer = await client.post(client.tool('echo', { text: 'x' }));
  assert.deepEqual([answer.status, answer.json.error?.message], [404, 'session not found']);
  await until('the server was told', () => server.deleted.length === 1);
  // Another client is with the new server.
  const next = await open();
  assert.equal(await next.call('echo', { text: 'y' }), 'y');
  assert.equal(second.of('initialize').length, 1);
});
