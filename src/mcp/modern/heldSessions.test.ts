import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestSigner } from '../../http/index.ts';
import type { McpBackend } from '../../model/index.ts';
import type { Caller, Reach } from '../contract.ts';
import { mcpBackend, startHarness, stdioTarget } from '../harness.testing.ts';
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
