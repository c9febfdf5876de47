/** Sessions with programs without state, at another process that has the key. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PinFolder } from '../../pins/index.ts';
import {
  catalog,
  mcpBackend,
  remoteTarget,
  startHarness,
  stdioTarget,
  type Harness,
} from '../harness.testing.ts';
import { startRemote } from '../remoteServer.testing.ts';
import { RawClient } from '../rawClient.testing.ts';
import type { McpBackend } from '../../model/index.ts';
import { until } from '../../until.testing.ts';

const stateless = mcpBackend({ targets: [stdioTarget({ stateless: true })] });

async function gateway(t: TestContext, backend: McpBackend = stateless): Promise<Harness> {
  const made = await startHarness({ backend, runtime: { keyHolders: 'others' } });
  t.after(() => made.close());
  return made;
}

async function elsewhere(t: TestContext, client: RawClient, backend?: McpBackend): Promise<number> {
  const same = new RawClient((await gateway(t, backend)).url);
  same.sessionId = client.sessionId;
  return (await same.post(same.request('tools/list'))).status;
}

test('the id carries the initialize of the client, up to a size', async (t) => {
  const here = await gateway(t);
  const client = new RawClient(here.url);
  await client.initialize('2025-06-18', { experimental: { small: {} } });
  assert.ok(client.sessionId!.length < 1_024, `${client.sessionId!.length} characters`);
  assert.equal(await elsewhere(t, client), 200);
  const large = new RawClient(here.url);
  // Random digits do not get much smaller.
  const text = Array.from({ length: 200 }, () => Math.random().toString(36).slice(2)).join('');
  await large.initialize('2025-06-18', { experimental: { [text]: {} } });
  assert.ok(large.sessionId!.length < 200, 'the id carries nothing');
  assert.equal(await elsewhere(t, large), 404);
  assert.equal(await large.call('echo', { text: 'goes on here' }), 'goes on here');
});

test('a session does not go on with another program, or with several targets in the place of one', async (t) => {
  const client = new RawClient((await gateway(t)).url);
  await client.initialize();
  const other = stdioTarget({ stateless: true, env: { OTHER: 'yes' } });
  assert.equal(await elsewhere(t, client, mcpBackend({ targets: [other] })), 404);
  const second = stdioTarget({ stateless: true, name: 'second' });
  assert.equal(await elsewhere(t, client, mcpBackend({ targets: [...stateless.targets, second] })), 404);
  assert.equal(
    await elsewhere(t, client, mcpBackend({ key: 'another backend', targets: stateless.targets })),
    404,
  );
  assert.equal(await elsewhere(t, client), 200);
});

test('a session that ends by the idle time of one process goes on there with its next request', async (t) => {
  let now = 1_000_000;
  const here = await startHarness({
    backend: stateless,
    runtime: { keyHolders: 'others', now: () => now, sessionTtlMs: 1_000 },
  });
  t.after(() => here.close());
  const client = new RawClient(here.url);
  await client.initialize();
  now += 2_000;
  here.runtime.tick();
  // The handshake alone is no use: the session is not parked, but ended.
  assert.deepEqual(here.runtime.view().sessions, []);
  assert.equal(await client.call('echo', { text: 'again' }), 'again');
  assert.equal(await client.delete(), 204);
  assert.equal((await client.post(client.request('tools/list'))).status, 404);
});

test('a session with pins begins anew elsewhere, and its definitions are compared there', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-revival-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const toolsOf = async (client: RawClient): Promise<string[]> => {
    const { json, events } = await client.post(client.request('tools/list'));
    const { tools } = (events.at(-1) ?? json).result as { tools: { name: string }[] };
    return tools.map(({ name }) => name);
  };
  const server = await startRemote(t);
  const start = async (backend: McpBackend): Promise<Harness> => {
    const made = await startHarness({
      backend,
      runtime: { keyHolders: 'others', pins: new PinFolder(folder) },
    });
    t.after(() => made.close());
    return made;
  };
  const files = { ...catalog({ name: 'files', tools: ['read'] }), stateless: true } as const;
  for (const target of [files, remoteTarget(server.url)]) {
    const backend = mcpBackend({ targets: [target], pin: 'enforce' });
    const client = new RawClient((await start(backend)).url);
    await client.initialize();
    const before = await toolsOf(client);
    const there = await start(backend);
    const same = new RawClient(there.url);
    same.sessionId = client.sessionId;
    assert.deepEqual(await toolsOf(same), before);
    const [tool] = before;
    const pins = new PinFolder(folder);
    const item = { backend: backend.key, target: target.name, kind: 'tool', name: tool! } as const;
    assert.equal(await pins.check(item, '{}'), 'changed');
    for await (const change of pins.changed()) await pins.approve(change);
    const late = new RawClient((await start(backend)).url);
    late.sessionId = client.sessionId;
    await assert.rejects(late.call(tool!), /has changed/);
  }
});

test('a backend that goes while a program begins anew takes the program along', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-revival-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'gate');
  const slow = catalog({ name: 'slow', waitsFor: { method: 'initialize', file } });
  const backend = mcpBackend({ targets: [{ ...slow, stateless: true }] });
  writeFileSync(file, '');
  const client = new RawClient((await gateway(t, backend)).url);
  await client.initialize();
  rmSync(file);
  const there = await gateway(t, backend);
  const same = new RawClient(there.url);
  same.sessionId = client.sessionId;
  const waiting = same.post(same.request('tools/list'));
  await until('the program starts', () => there.runtime.view().children === 1);
  there.runtime.retire(new Set());
  writeFileSync(file, '');
  assert.equal((await waiting).status, 503);
  await until('the program has ended', () => there.runtime.view().children === 0);
});
