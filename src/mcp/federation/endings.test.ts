/** Sessions with several targets that end, or change, while something is under way. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { McpBackend, StdioTarget } from '../../model/index.ts';
import { until } from '../../until.testing.ts';
import { catalog, mcpBackend, startHarness, type Harness } from '../harness.testing.ts';
import { RawClient } from '../rawClient.testing.ts';

async function start(t: TestContext): Promise<Harness> {
  const harness = await startHarness();
  t.after(() => harness.close());
  return harness;
}

/** A target that answers a method when the file is there, which it never is. */
function stuck(t: TestContext, method: string): StdioTarget {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-endings-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return catalog({ name: 'stuck', tools: ['read'], waitsFor: { method, file: join(folder, 'never') } });
}

const fast = catalog({ name: 'fast', tools: ['read', 'update', 'pid'], resources: ['file:///a'] });
const open = async (harness: Harness, settings: Partial<McpBackend>): Promise<RawClient> => {
  harness.use(mcpBackend({ failOpen: true, targetWaitMs: 10, ...settings }));
  const client = new RawClient(harness.url);
  await client.initialize();
  return client;
};

const come = (harness: Harness, method: string): Promise<boolean> =>
  until(`${method} has come`, () => harness.annotations.some((notes) => notes.get('mcp.method') === method));

const nothingLeft = (harness: Harness): Promise<true> =>
  until(
    () => JSON.stringify(harness.runtime.view()),
    () => {
      const { sessions, children } = harness.runtime.view();
      return sessions.length === 0 && children === 0;
    },
    20_000,
  );

for (const [waits, method, params] of [
  ['initialize', 'tools/call', { name: 'stuck_read' }],
  ['tools/list', 'tools/list', {}],
  ['logging/setLevel', 'logging/setLevel', { level: 'info' }],
] as const)
  test(`${method} that waits for ${waits} is answered when the session ends, and nothing is left`, async (t) => {
    const harness = await start(t);
    const slow = stuck(t, waits);
    const one = waits === 'tools/list' ? { targetWaitMs: 600_000 } : {};
    const client = await open(harness, { targets: [fast, slow], ...one });
    const call = client.post(client.request(method, params));
    await come(harness, method);
    await client.delete();
    const { json, events } = await call;
    const message = events.at(-1) ?? json;
    assert.ok(message.error ?? message.result, JSON.stringify(message));
    await nothingLeft(harness);
  });

test('a client that leaves during initialize leaves no child behind', async (t) => {
  const harness = await start(t);
  harness.use(mcpBackend({ targets: [fast, stuck(t, 'initialize')] }));
  const client = new RawClient(harness.url);
  const leave = new AbortController();
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  const left = client.fetch(client.request('initialize', params), {}, leave.signal).catch(() => 'left');
  await until('children run', () => harness.runtime.view().children === 2);
  leave.abort();
  assert.equal(await left, 'left');
  await nothingLeft(harness);
});

test('a client that leaves while one of its servers starts leaves no session behind, though the other one serves', async (t) => {
  const harness = await start(t);
  const targets = [fast, stuck(t, 'initialize')].map((target) => ({ ...target, stateless: true as const }));
  harness.use(mcpBackend({ failOpen: true, targetWaitMs: 600_000, targets }));
  const client = new RawClient(harness.url);
  const leave = new AbortController();
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  const left = client.fetch(client.request('initialize', params), {}, leave.signal).catch(() => 'left');
  await until('one server is ready', () => harness.runtime.view().sessions[0]?.targets[0]?.state === 'ready');
  leave.abort();
  assert.equal(await left, 'left');
  await nothingLeft(harness);
});

test('a failed initialize ends the targets that are still starting', async (t) => {
  const harness = await start(t);
  const bad = catalog({ name: 'bad', errors: { initialize: -32000 } });
  harness.use(mcpBackend({ targets: [stuck(t, 'initialize'), fast, bad] }));
  const { json } = await new RawClient(harness.url).initialize();
  assert.match(json.error!.message, /bad/);
  await nothingLeft(harness);
});

test('a target that leaves the configuration while it starts answers what waits for it', async (t) => {
  const harness = await start(t);
  const client = await open(harness, { targets: [fast, stuck(t, 'initialize')] });
  const call = client.post(client.tool('stuck_read'));
  await come(harness, 'tools/call');
  harness.use(mcpBackend({ targets: [fast], failOpen: true }));
  const { result } = (await client.post(client.request('tools/list'))).json;
  assert.ok(result);
  const { json, events } = await call;
  assert.ok((events.at(-1) ?? json).error);
  await until('one child is left', () => harness.runtime.view().children === 1, 20_000);
});

for (const targets of [[fast], [fast, catalog({ name: 'other' })]])
  test(`news of a resource that a new view hides does not reach an open stream of ${targets.length} target(s)`, async (t) => {
    const harness = await start(t);
    harness.use(mcpBackend({ targets }));
    const client = new RawClient(harness.url);
    await client.initialize();
    const stream = await client.get();
    const tool = targets.length > 1 ? 'fast_update' : 'update';
    await client.call(tool);
    assert.equal((await stream.next())?.method, 'notifications/resources/updated');
    harness.use(mcpBackend({ targets, view: { rest: 'hide', resources: [] } }));
    await client.call(tool);
    await client.delete();
    const rest = (await stream.rest()).map(({ method }) => method);
    assert.ok(!rest.includes('notifications/resources/updated'), rest.join());
  });

test('a reload with the same view tells clients of no change', async (t) => {
  const harness = await start(t);
  const use = (): void =>
    harness.use(mcpBackend({ targets: [fast, two], view: { rest: 'show', prompts: [] } }));
  const two = catalog({ name: 'two' });
  use();
  const client = new RawClient(harness.url);
  await client.initialize();
  const stream = await client.get();
  use();
  await client.call('fast_read');
  await client.delete();
  assert.deepEqual(await stream.rest(), []);
});
