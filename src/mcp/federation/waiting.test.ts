/** Requests to several targets that wait: for a start, for lists, for each other. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { McpBackend } from '../../model/index.ts';
import { until } from '../../until.testing.ts';
import { alive } from '../alive.testing.ts';
import { catalog, mcpBackend, startHarness, type Harness } from '../harness.testing.ts';
import { RawClient, type Message } from '../rawClient.testing.ts';

async function start(t: TestContext): Promise<Harness> {
  const harness = await startHarness();
  t.after(() => harness.close());
  return harness;
}

async function open(
  harness: Harness,
  settings: Partial<McpBackend>,
  version = '2025-11-25',
): Promise<RawClient> {
  harness.use(mcpBackend(settings));
  const client = new RawClient(harness.url);
  await client.initialize(version);
  return client;
}

const ask = async (client: RawClient, method: string, params: object = {}): Promise<Message> => {
  const { events, json } = await client.post(client.request(method, params));
  return events.at(-1) ?? json;
};

/** A target that answers `initialize` when the file is there. */
function slowTarget(t: TestContext): { slow: ReturnType<typeof catalog>; file: string } {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-waiting-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'go');
  const waitsFor = { method: 'initialize', file };
  return { slow: catalog({ name: 'slow', tools: ['read', 'seen'], waitsFor }), file };
}

test('a call that waits for the start of its target can be cancelled, and is never sent', async (t) => {
  const harness = await start(t);
  const { slow, file } = slowTarget(t);
  const fast = catalog({ name: 'fast', tools: ['read'] });
  const client = await open(harness, { targets: [fast, slow], failOpen: true, targetWaitMs: 10 });
  const before = harness.annotations.length;
  const call = client.fetch(client.request('tools/call', { name: 'slow_read' }, 'call-1'), {
    accept: 'application/json',
  });
  await until('the call has come', () => harness.annotations[before]?.get('mcp.method') === 'tools/call');
  await client.post({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId: 'call-1' },
  });
  writeFileSync(file, '');
  const { error } = (await (await call).json()) as Message;
  assert.equal(error?.code, -32000);
  assert.doesNotMatch(await client.call('slow_seen'), /slow_read|"name":"read"/);
});

test('a batch has one response for each request, whoever answers it', async (t) => {
  const harness = await start(t);
  const { slow, file } = slowTarget(t);
  const files = catalog({ name: 'files', tools: ['read'], resources: ['file:///a'] });
  const settings: Partial<McpBackend> = { targets: [files, slow], failOpen: true, targetWaitMs: 10 };
  const client = await open(harness, settings, '2025-03-26');
  const batch = [
    client.request('tools/list', {}, 1),
    client.request('ping', {}, 2),
    client.request('tools/call', { name: 'files_read' }, 3),
    client.request('tools/call', { name: 'slow_read' }, 4),
    client.request('tools/call', { name: 'none' }, 5),
    client.request('resources/list', { cursor: 'bad' }, 6),
    client.request('x/unknown', {}, 7),
    client.request('tools/call', { name: 'slow_read' }, 8),
  ];
  const before = harness.annotations.length;
  const response = client.fetch(batch, { accept: 'application/json' });
  await until('the batch has come', () => harness.annotations[before]?.get('mcp.method') === 'tools/call');
  writeFileSync(file, '');
  const answers = (await (await response).json()) as Message[];
  assert.deepEqual(
    answers.map(({ id }) => Number(id)).toSorted((a, b) => a - b),
    [1, 2, 3, 4, 5, 6, 7, 8],
  );
});

test('a cursor that nobody gave is refused as one', async (t) => {
  const client = await open(await start(t), {
    targets: [catalog({ name: 'one', tools: ['a'] }), catalog({ name: 'two', tools: ['b'] })],
  });
  for (const index of [-1, 0.5, -1e15, 1e308]) {
    const cursor = Buffer.from(JSON.stringify(['one', 'gone', index])).toString('base64url');
    const { error } = await ask(client, 'tools/list', { cursor });
    assert.deepEqual([error?.code, /invalid cursor/.test(error?.message ?? '')], [-32602, true], `${index}`);
  }
});

test('a list with the same name twice comes to an end', async (t) => {
  const names = Array.from({ length: 1_500 }, (_, index) => `t${index}`);
  names[999] = 't0';
  const long = catalog({ name: 'long', pageSize: 2_000, tools: names });
  const client = await open(await start(t), { targets: [long, catalog({ name: 'other', tools: [] })] });
  const { result: first } = await ask(client, 'tools/list');
  const { result: second } = await ask(client, 'tools/list', { cursor: first?.['nextCursor'] });
  const shown = [first, second].flatMap((one) => one?.['tools'] as { name: string }[]);
  assert.equal(shown.map(({ name }) => name).join(), names.map((name) => `long_${name}`).join());
  assert.equal(second?.['nextCursor'], undefined);
});

test('tasks of a server that writes null for a missing cursor are listed', async (t) => {
  const tasks = catalog({
    name: 'tasks',
    capabilities: { tools: {}, tasks: { list: {} } },
    raw: { 'tasks/list': '{"tasks":[],"nextCursor":null}' },
  });
  const client = await open(await start(t), { targets: [tasks, catalog({ name: 'other' })] });
  const { result, error } = await ask(client, 'tasks/list');
  assert.deepEqual([result, error], [{ tasks: [] }, undefined]);
});

test('the server of a renamed target ends with the session when another target gets its old name', async (t) => {
  const harness = await start(t);
  const old = catalog({ name: 'a', tools: ['pid'] });
  const fresh = { ...catalog({ name: 'fresh', tools: ['pid'] }), name: 'a' };
  const client = await open(harness, { targets: [old] });
  const before = await client.call('pid');
  harness.use(mcpBackend({ targets: [{ ...old, name: 'b' }, fresh] }));
  const pids = [before, await client.call('b_pid'), await client.call('a_pid')];
  assert.notEqual(pids[1], pids[2]);
  await client.delete();
  await until('every child has ended', () => pids.every((one) => !alive(Number(one))), 20_000);
});
