/** Requests that wait for the lists of targets, and whose client leaves or takes them back: other calls get their places. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { McpBackend } from '../../model/index.ts';
import { until } from '../../until.testing.ts';
import { catalog, mcpBackend, remoteTarget, startHarness, type Harness } from '../harness.testing.ts';
import { RawClient } from '../rawClient.testing.ts';
import { startRemote } from '../remoteServer.testing.ts';

interface Stage {
  readonly harness: Harness;
  readonly client: RawClient;
  /** Requests for lists that the server has got, and does not answer. */
  readonly asked: () => number;
}

const hanging = ['tools/list', 'tasks/list'];

/**
 * A gateway in front of a server whose lists hang.
 * @param calls that a client may have at the same time
 */
async function start(
  t: TestContext,
  settings: Partial<McpBackend> = {},
  calls = 1,
  hasOther = true,
): Promise<Stage> {
  const server = await startRemote(t);
  for (const method of hanging) server.methods[method] = () => undefined;
  server.methods['initialize'] = (x) => {
    const { protocolVersion } = x.seen.message.params as { protocolVersion: string };
    const capabilities = { tools: {}, tasks: { list: {} } };
    const result = { protocolVersion, capabilities, serverInfo: { name: 'hangs', version: '1' } };
    x.json({ jsonrpc: '2.0', id: x.id, result });
  };
  server.stateful = false;
  const harness = await startHarness({
    backend: mcpBackend({
      targets: [
        remoteTarget(server.url, { name: 'hangs' }),
        ...(hasOther ? [catalog({ name: 'fine', tools: ['read'] })] : []),
      ],
      ...settings,
    }),
    limits: { maxMcpCallsPerPrincipal: calls },
  });
  t.after(() => harness.close());
  const client = new RawClient(harness.url);
  await client.initialize();
  return { harness, client, asked: () => hanging.flatMap((method) => server.of(method)).length };
}

/** Sends a request whose client leaves when the server has got it. */
async function leave({ harness, client, asked }: Stage, message: object): Promise<void> {
  const before = asked();
  const leaving = new AbortController();
  const left = client.fetch(message, {}, leaving.signal);
  await until('the server is asked', () => asked() > before);
  leaving.abort();
  await assert.rejects(left);
  await until('the gateway knows', () => !harness.runtime.view().sessions[0]!.attached);
}

for (const method of hanging)
  test(`a ${method} whose client has left gives way to the next call`, async (t) => {
    const stage = await start(t);
    const { client } = stage;
    await leave(stage, client.request(method));
    assert.equal(await client.call('fine_read'), 'fine: read');
  });

test('a list that the client has taken back makes room for the next call at once', async (t) => {
  const { client, asked } = await start(t, {}, 2);
  const lists = ['one', 'two'].map((id) => client.post(client.request('tools/list', {}, id)));
  await until('the server is asked', () => asked() > 0);
  const { status } = await client.post(client.tool('fine_read'));
  assert.equal(status, 429);
  for (const requestId of ['one', 'two'])
    await client.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
  assert.equal(await client.call('fine_read'), 'fine: read');
  await Promise.all(lists);
});

test('a call whose name only the lists tell gives way when its client has left', async (t) => {
  const stage = await start(t);
  await leave(stage, stage.client.tool('hangs_bad_name__12ad77e9'));
  assert.equal(await stage.client.call('fine_read'), 'fine: read');
});

test('the same call gives way in a session with one target', async (t) => {
  const stage = await start(t, { prefixMode: 'always' }, 1, false);
  await leave(stage, stage.client.tool('hangs_bad_name__12ad77e9'));
  assert.equal(await stage.client.call('hangs_echo', { text: 'next' }), 'next');
});

test('a session in which 1,024 requests wait for targets sends no further request to them', async (t) => {
  const { harness, asked } = await start(t, {}, 2_000);
  const client = new RawClient(harness.url);
  await client.initialize('2025-03-26');
  const batches = Array.from({ length: 4 }, (_, batch) =>
    Array.from({ length: 256 }, (__, i) => `list-${batch}-${i}`),
  );
  const lists = batches.map((ids) => client.post(ids.map((id) => client.request('tools/list', {}, id))));
  await until('the server is asked', () => asked() > 0);
  for (const ids of batches)
    await client.post(
      ids.map((requestId) => ({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } })),
    );
  await Promise.all(lists);
  const { json, events } = await client.post(client.request('tools/list'));
  assert.match((events.at(-1) ?? json).error?.message ?? '', /too many requests of the session/);
});
