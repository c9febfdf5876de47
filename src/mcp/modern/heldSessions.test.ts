import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../errors.ts';
import type { RequestSigner } from '../../http/index.ts';
import type { McpBackend } from '../../model/index.ts';
import type { Caller, Reach } from '../contract.ts';
import { catalog, mcpBackend, remoteTarget, startHarness, stdioTarget } from '../harness.testing.ts';
import { RawModernClient } from '../rawModernClient.testing.ts';
import { keyOf } from './heldSessions.ts';

const settings = { key: 'tools', targets: [{ name: 'agent' }] } as unknown as McpBackend;
const meta = { capabilities: {} } as Parameters<typeof keyOf>[2];

/** An anonymous caller whose requests to the server are signed with one credential. */
function callerWith(digest: string): Caller {
  const signer: RequestSigner = { needsBody: true, digest, sign: (head) => head };
  const reach = { path: '/mcp', headers: [], signer } as unknown as Reach;
  return { principal: undefined, reach: () => reach } as unknown as Caller;
}

test('anonymous callers share a session only if the gateway signs for them with the same credential', () => {
  const [one, same, other] = ['a', 'a', 'b'].map((digest) => keyOf(settings, callerWith(digest), meta));
  assert.equal(one, same);
  assert.notEqual(one, other);
});

/** An anonymous caller, and the token that the gateway signs for it this second. */
function callerAt(token: string, { digest = 'signer', more = 'same' } = {}): Caller {
  const reach = {
    path: `/mcp?more=${more}&token=${token}`,
    headers: [
      ['authorization', `Bearer ${token}`],
      ['x-more', more],
      ['cookie', `more=${more}; token=${token}`],
    ],
    credentials: [
      { place: { kind: 'header', name: 'authorization' }, of: 'gateway', digest },
      { place: { kind: 'query', name: 'token' }, of: 'gateway', digest },
      { place: { kind: 'cookie', name: 'token' }, of: 'gateway', digest },
    ],
  } as unknown as Reach;
  return { principal: undefined, reach: () => reach };
}

test('a credential that the gateway renews by itself makes no other caller, and everything else does', () => {
  const key = (caller: Caller): string => keyOf(settings, caller, meta);
  const now = key(callerAt('of-now'));
  assert.equal(key(callerAt('of-later')), now);
  assert.notEqual(key(callerAt('of-now', { digest: 'other' })), now);
  assert.notEqual(key(callerAt('of-now', { more: 'other' })), now);
});

test('an anonymous caller uses a target beside those that lack its credential or its values', async (t) => {
  const refuse = (): never => {
    throw new GatewayError('backend_login_required');
  };
  const harness = await startHarness({
    backend: mcpBackend({
      targets: [
        catalog({ name: 'near', tools: ['read'] }),
        remoteTarget('http://127.0.0.1:9/mcp', { name: 'far' }),
        stdioTarget({ name: 'own', injected: { TOKEN: { kind: 'header', header: 'x-token' } } }),
      ],
      failOpen: true,
    }),
    headers: refuse,
    caller: () => ({ principal: undefined, environment: (name) => (name === 'own' ? refuse() : undefined) }),
  });
  t.after(() => harness.close());
  const client = new RawModernClient(harness.url);
  const { json, status } = await client.post('tools/list');
  assert.equal(status, 200);
  const { tools } = json.result as { tools: { name: string }[] };
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['near_read'],
  );
  assert.equal((await client.post('tools/call', { name: 'near_read' })).status, 200);
});

/** The text of a result. */
const textOf = (message: { readonly result?: unknown }): string =>
  (message.result as { content: { text: string }[] }).content[0]!.text;

test('a session gets a second target and keeps the child of the first one', async (t) => {
  const one = stdioTarget({ name: 'one' });
  const harness = await startHarness({
    backend: mcpBackend({ targets: [one] }),
    caller: () => ({ principal: 'alice' }),
  });
  t.after(() => harness.close());
  const client = new RawModernClient(harness.url);
  const pidOf = async (name: string): Promise<string> =>
    textOf((await client.post('tools/call', { name })).json);
  const { events } = await client.listen({ toolsListChanged: true });
  const pid = await pidOf('pid');
  harness.use(mcpBackend({ targets: [one, stdioTarget({ name: 'two' })] }));
  assert.equal(await pidOf('one_pid'), pid);
  assert.notEqual(await pidOf('two_pid'), pid);
  assert.equal((await events.next())?.method, 'notifications/tools/list_changed');
  const { capabilities } = (await client.post('server/discover')).json.result as {
    capabilities: Record<string, { listChanged?: boolean }>;
  };
  assert.equal(capabilities['prompts']?.listChanged, true);
  await events.cancel();
});
