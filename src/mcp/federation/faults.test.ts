/** Tests of a target that misbehaves beside others, which do not notice. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { until } from '../../until.testing.ts';
import type { McpBackend } from '../../model/index.ts';
import {
  catalog,
  mcpBackend,
  remoteTarget,
  startHarness,
  stdioTarget,
  type Harness,
  type HarnessOptions,
} from '../harness.testing.ts';
import { RawClient, type Events, type Message } from '../rawClient.testing.ts';
import { RemoteServer, startRemote } from '../remoteServer.testing.ts';
import { changeable } from './toolsFile.testing.ts';

/** A target that can misbehave in every way (`fixtures/server.ts`), beside one that works. */
const bad = stdioTarget({ name: 'bad' });
const good = catalog({ name: 'good', tools: ['read', 'pid'] });

async function start(
  t: TestContext,
  backend: Partial<McpBackend> = {},
  options: HarnessOptions = {},
): Promise<{ harness: Harness; client: RawClient }> {
  const harness = await startHarness({
    backend: mcpBackend({ targets: [bad, good], failOpen: true, ...backend }),
    ...options,
  });
  t.after(() => harness.close());
  const client = new RawClient(harness.url);
  await client.initialize();
  return { harness, client };
}

async function outcome(client: RawClient, name: string, args: object = {}): Promise<Message> {
  const { events, json } = await client.post(client.tool(name, args));
  return events.at(-1) ?? json;
}

test('a target that is killed fails its calls with its name, and starts again', async (t) => {
  const { harness, client } = await start(t);
  const pid = await client.call('good_pid');
  const { error } = await outcome(client, 'bad_die');
  assert.match(error!.message, /target "bad"/);
  assert.equal(await client.call('good_pid'), pid);
  assert.equal(await client.call('bad_echo', { text: 'again' }), 'again');
  assert.equal(harness.metrics().get('mcp_child_restarts_total{target="bad"}'), 1);
});

test('a target that hangs loses its call after the time-out, and no other call waits for it', async (t) => {
  const { client } = await start(t, { targets: [{ ...bad, callTimeoutMs: 300 }, good] });
  const hanging = outcome(client, 'bad_hang');
  assert.equal(await client.call('good_read'), 'good: read');
  assert.match((await hanging).error!.message, /target "bad" did not answer within 300 ms/);
});

test('a batch that is refused leaves no rejection behind, though a target of it is down', async (t) => {
  const dead = stdioTarget({ name: 'dead', cmd: '/none' });
  const { harness } = await start(t, { targets: [dead, good] });
  const client = new RawClient(harness.url);
  await client.initialize('2025-03-26');
  const withoutId = { jsonrpc: '2.0', method: 'tools/call', params: {} };
  const { status } = await client.post([client.tool('dead_read'), withoutId]);
  assert.equal(status, 400);
  // The test fails where a rejection finds nobody.
  assert.equal(await client.call('good_read'), 'good: read');
});

for (const [fault, tool, args] of [
  ['answers rubbish', 'bad_brokenAnswer', {}],
  ['writes a line over the limit', 'bad_huge', { bytes: 2_000_000 }],
] as const)
  test(`a target that ${fault} fails that call, and both targets go on`, async (t) => {
    const { client } = await start(t, {}, { limits: { maxMcpMessageBytes: 1_000_000 } });
    assert.match((await outcome(client, tool, args)).error!.message, /target "bad"/);
    assert.equal(await client.call('good_read'), 'good: read');
    assert.equal(await client.call('bad_echo', { text: 'on' }), 'on');
  });

test('a line of 100 MB fails that call, and the gateway never holds it', async (t) => {
  const { client } = await start(t);
  assert.equal(await client.call('bad_echo', { text: 'warm' }), 'warm');
  const before = process.resourceUsage().maxRSS;
  const line = { before: '{"jsonrpc":"2.0","id":$ID,"result":"', letters: 100_000_000, after: '"}\n' };
  assert.match((await outcome(client, 'bad_large', line)).error!.message, /target "bad"/);
  const grownKiB = process.resourceUsage().maxRSS - before;
  // The limit is 16 MiB. A gateway that held the line would need 100 MB for its bytes alone.
  assert.ok(grownKiB < 80 * 1024, `${grownKiB} KiB more at the peak`);
  assert.equal(await client.call('good_read'), 'good: read');
  assert.equal(await client.call('bad_echo', { text: 'on' }), 'on');
});

test('responses with wrong and repeated ids reach nobody', async (t) => {
  const { client } = await start(t);
  const wrong = '{"jsonrpc":"2.0","id":99,"result":{"content":[{"type":"text","text":"wrong"}]}}';
  const right = '{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"right"}]}}';
  assert.equal(await client.call('bad_raw', { line: `${wrong}\n${right}\n${right}` }), 'right');
  assert.equal(await client.call('good_read'), 'good: read');
  assert.equal(await client.call('bad_echo', { text: 'on' }), 'on');
});

test('a target that floods its call with progress does not hold up the others', async (t) => {
  const { client } = await start(t);
  const flood = client.post(
    client.tool('bad_flood', { messages: 5_000 }, { _meta: { progressToken: 'flood' } }),
  );
  assert.equal(await client.call('good_read'), 'good: read');
  const { events } = await flood;
  assert.equal(events.length, 5_001);
});

test('a list leaves out a target that dies while it is read', async (t) => {
  const { client } = await start(t, {
    targets: [catalog({ name: 'dying', diesAt: 'tools/list' }), good],
    failOpen: true,
  });
  const { json, events } = await client.post(client.request('tools/list'));
  const tools = (events.at(-1) ?? json).result?.['tools'] as { name: string }[];
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['good_read', 'good_pid'],
  );
});

test('a list that changes between two of its pages is announced, and not remembered', async (t) => {
  const changing = catalog({
    name: 'changing',
    tools: ['a', 'b'],
    pageSize: 1,
    toolsChangeTo: ['c', 'd'],
  });
  const { client } = await start(t, { targets: [good, changing] });
  const events = await client.get();
  // The server itself answers with the first page of before and the second one of after.
  assert.deepEqual(await toolsOf(client), ['good_read', 'good_pid', 'changing_a', 'changing_d']);
  await untilToolsChanged(events);
  assert.deepEqual(await toolsOf(client), ['good_read', 'good_pid', 'changing_c', 'changing_d']);
  assert.equal(await client.call('changing_c'), 'changing: c');
  await events.cancel();
});

test('a thousand clients that vanish in the middle of their calls leave nothing behind', async (t) => {
  const remotes = [await RemoteServer.start(), await RemoteServer.start()];
  t.after(() => Promise.all(remotes.map((remote) => remote.close())));
  for (const remote of remotes) remote.tools['hold'] = () => undefined;
  const [one, other] = remotes;
  const ttlMs = 3_600_000;
  let clock = Date.now();
  const { harness, client } = await start(
    t,
    { targets: [remoteTarget(one!.url, { name: 'one' }), remoteTarget(other!.url, { name: 'other' })] },
    {
      caller: (request) => ({ principal: request.header('x-user') }),
      runtime: { now: () => clock, sessionTtlMs: ttlMs },
    },
  );
  await client.delete();
  const leave = new AbortController();
  const pending: Promise<unknown>[] = [];
  const users = 1_000;
  const arrive = async (user: number): Promise<void> => {
    clock += 1_000;
    const each = new RawClient(harness.url, { 'x-user': `user-${user}` });
    await each.initialize();
    pending.push(each.fetch(each.tool('one_hold'), {}, leave.signal).catch(() => undefined));
  };
  for (let user = 0; user < users; user += 20)
    await Promise.all(Array.from({ length: 20 }, (_, i) => arrive(user + i)));
  await until('all calls are in flight', () => one!.of('tools/call').length === users);
  leave.abort();
  await Promise.all(pending);
  clock += ttlMs - users * 1_000;
  // Twenty at a time: an end that the servers take no note of within three seconds is not told again.
  await until('every session has ended', () => {
    clock += 20_000;
    harness.runtime.tick();
    return harness.runtime.view().sessions.length === 0;
  });
  await until('both servers have been told', () =>
    remotes.every((remote) => remote.deleted.length === users + 1),
  );
});

test('no call fails while targets come and go with the configuration', async (t) => {
  const { harness, client } = await start(t, { targets: [good, catalog({ name: 'other' })] });
  const other = catalog({ name: 'other' });
  const third = catalog({ name: 'third' });
  const clients = [client];
  for (let i = 0; i < 3; i++) {
    const more = new RawClient(harness.url);
    await more.initialize();
    clients.push(more);
  }
  const pids = await Promise.all(clients.map((each) => each.call('good_pid')));
  let going = true;
  let calls = 0;
  const loads = clients.map(async (each) => {
    while (going) {
      assert.equal(await each.call('good_read'), 'good: read');
      assert.equal(await each.call('other_echo'), 'other: echo');
      calls++;
    }
  });
  for (let turn = 0; turn < 20; turn++) {
    harness.use(
      mcpBackend({ targets: turn % 2 === 0 ? [third, good, other] : [good, other], failOpen: true }),
    );
    const before = calls;
    await until('calls go on', () => calls > before + 4);
  }
  going = false;
  await Promise.all(loads);
  assert.deepEqual(await Promise.all(clients.map((each) => each.call('good_pid'))), pids);
  await until('the third target is gone', () => harness.runtime.view().children === 8);
});

const quick = { firstDelayMs: 1, maxDelayMs: 1, maxFailures: 3, windowMs: 60_000, coolDownMs: 30_000 };

async function toolsOf(client: RawClient): Promise<string[]> {
  const { json, events } = await client.post(client.request('tools/list'));
  return ((events.at(-1) ?? json).result?.['tools'] as { name: string }[]).map(({ name }) => name);
}

/** Waits until the client is told that tools have changed. */
async function untilToolsChanged(events: Events): Promise<void> {
  let method: string | undefined;
  do method = (await events.next())?.method;
  while (method !== undefined && method !== 'notifications/tools/list_changed');
  assert.equal(method, 'notifications/tools/list_changed');
}

const stateOf = (harness: Harness, target: string): string | undefined =>
  harness.runtime
    .view()
    .sessions.flatMap(({ targets }) => targets)
    .find(({ name }) => name === target)?.state;

test('a target that is killed and comes back is announced, without a call', async (t) => {
  const other = changeable(t, 'other', ['crash', 'old']);
  let clock = Date.now();
  const { harness, client } = await start(
    t,
    { targets: [good, other.target] },
    { runtime: { restart: quick, now: () => clock } },
  );
  const events = await client.get();
  other.remove();
  await outcome(client, 'other_crash');
  await until('the target is given up', () => stateOf(harness, 'other') === 'failed');
  assert.deepEqual(await toolsOf(client), ['good_read', 'good_pid']);
  other.write(['crash', 'old']);
  harness.runtime.tick();
  assert.equal(stateOf(harness, 'other'), 'failed');
  clock += quick.windowMs;
  harness.runtime.tick();
  await untilToolsChanged(events);
  assert.deepEqual(await toolsOf(client), ['good_read', 'good_pid', 'other_crash', 'other_old']);
  await events.cancel();
});

test('a child restarted with other tools is announced', async (t) => {
  const other = changeable(t, 'other', ['crash', 'old']);
  const ofUser = { ...other.target, scope: 'user' } as const;
  for (const targets of [[good, other.target], [other.target], [good, ofUser], [ofUser]]) {
    other.write(['crash', 'old']);
    const { client } = await start(
      t,
      { targets },
      { runtime: { restart: quick }, caller: () => ({ principal: 'ada' }) },
    );
    const prefix = targets.length > 1 ? 'other_' : '';
    const events = await client.get();
    assert.ok((await toolsOf(client)).includes(`${prefix}old`));
    other.write(['crash', 'new']);
    await outcome(client, `${prefix}crash`);
    await untilToolsChanged(events);
    const tools = await toolsOf(client);
    assert.ok(tools.includes(`${prefix}new`) && !tools.includes(`${prefix}old`));
    await events.cancel();
  }
});

test('a server over HTTP that answers its list again is announced, without a call', async (t) => {
  const remote = await startRemote(t);
  remote.methods['tools/list'] = (x) => x.status(503);
  const { harness, client } = await start(t, { targets: [good, remoteTarget(remote.url)] });
  const events = await client.get();
  assert.deepEqual(await toolsOf(client), ['good_read', 'good_pid']);
  harness.runtime.tick();
  await until('the server is asked again', () => remote.of('tools/list').length === 2);
  Reflect.deleteProperty(remote.methods, 'tools/list');
  await until('the server is asked once more', () => {
    harness.runtime.tick();
    return remote.of('tools/list').length > 2;
  });
  await untilToolsChanged(events);
  assert.deepEqual(await toolsOf(client), ['good_read', 'good_pid', 'remote_echo']);
  await events.cancel();
});

test('a server over HTTP that has forgotten the session is announced when it knows it again', async (t) => {
  const remote = await startRemote(t);
  const { client } = await start(t, { targets: [good, remoteTarget(remote.url)] });
  const events = await client.get();
  assert.deepEqual(await toolsOf(client), ['good_read', 'good_pid', 'remote_echo']);
  remote.sessions.clear();
  remote.tools['more'] = (x) => x.json(x.result('more'));
  assert.equal(await client.call('remote_echo', { text: 'again' }), 'again');
  await untilToolsChanged(events);
  assert.deepEqual(await toolsOf(client), ['good_read', 'good_pid', 'remote_echo', 'remote_more']);
  await events.cancel();
});
