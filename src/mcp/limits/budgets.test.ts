import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import {
  labelOf,
  mcpBackend,
  startHarness,
  stdioTarget,
  type Harness,
  type HarnessOptions,
} from '../harness.testing.ts';
import { RawClient, type Answered } from '../rawClient.testing.ts';
import { stage } from '../remote.testing.ts';
import { until } from '../../until.testing.ts';

const open: Harness[] = [];
afterEach(async () => {
  for (const harness of open.splice(0)) await harness.close();
});

/** Moved by hand: no test waits for a grace. */
let now = 0;
const graceMs = 60_000;

/** Each test says in a header who calls. */
const byHeader: HarnessOptions['caller'] = (request) => ({ principal: request.header('x-principal') });

async function start(
  limits: HarnessOptions['limits'],
  target: Parameters<typeof stdioTarget>[0] = {},
): Promise<Harness> {
  now = 1_000_000;
  const harness = await startHarness({
    backend: mcpBackend({ targets: [stdioTarget(target)] }),
    caller: byHeader!,
    limits: { ...limits, mcpSessionGraceMs: graceMs },
    runtime: { now: () => now, sessionTtlMs: 3_600_000 },
  });
  open.push(harness);
  return harness;
}

async function connect(harness: Harness, principal: string): Promise<RawClient> {
  const client = new RawClient(harness.url, { 'x-principal': principal });
  const { status, text } = await client.initialize();
  assert.equal(status, 200, text);
  now += 1;
  return client;
}

const stateOf = (harness: Harness, client: RawClient): string | undefined =>
  harness.runtime.view().sessions.find(({ label }) => label === labelOf(client.sessionId!))?.targets[0]
    ?.state;

function refused({ status, headers, json }: Answered, expected: number, limit: string): void {
  assert.equal(status, expected);
  assert.ok(Number(headers.get('retry-after')) > 0);
  assert.equal(json.error?.code, -32000);
  assert.match(json.error.message, new RegExp(`\\(limits\\.${limit}\\)$`));
}

test('a principal gets child processes up to its budget, without affecting other principals', async () => {
  const harness = await start({ maxChildrenPerPrincipal: 2 });
  await connect(harness, 'ada');
  await connect(harness, 'ada');
  const third = new RawClient(harness.url, { 'x-principal': 'ada' });
  refused(await third.initialize(), 429, 'maxChildrenPerPrincipal');
  const bob = await connect(harness, 'bob');
  assert.equal(await bob.call('echo', { text: 'served' }), 'served');
  assert.ok(
    harness.log.some(
      ({ message, fields }) =>
        message.startsWith('Request refused') &&
        fields['limit'] === 'limits.maxChildrenPerPrincipal' &&
        fields['holder'] === 'ada',
    ),
  );
});

test('after the grace an abandoned session gives its child up to the next session of its principal', async () => {
  const harness = await start({ maxChildrenPerPrincipal: 2 });
  const first = await connect(harness, 'ada');
  await first.post(first.request('logging/setLevel', { level: 'debug' }));
  const former = await first.call('pid');
  const second = await connect(harness, 'ada');
  await second.call('pid');
  now += graceMs;
  const third = await connect(harness, 'ada');
  assert.equal(stateOf(harness, first), 'suspended', 'the least recently used one');
  assert.equal(stateOf(harness, second), 'ready');
  assert.equal(harness.runtime.view().children, 2);
  await third.call('pid');
  now += graceMs;
  // It comes back: the child of the second makes room for it.
  assert.notEqual(await first.call('pid'), former);
  const { level } = JSON.parse(await first.call('state')) as { level: string };
  assert.equal(level, 'debug', 'it was told everything again');
  assert.equal(stateOf(harness, second), 'suspended');
  assert.equal(await third.call('echo', { text: 'x' }), 'x');
  assert.equal(harness.metrics().get('mcp_children_taken_total{target="fixture"}'), 2);
  for (const text of ['Child of an idle session stopped to make room', 'Session came back'])
    assert.ok(
      harness.log.some(({ level: of, message }) => of === 'info' && message.startsWith(text)),
      text,
    );
});

test('a session that saw nothing after initialize goes before one that was used', async () => {
  const harness = await start({ maxChildrenPerPrincipal: 2 });
  const used = await connect(harness, 'ada');
  await used.call('pid');
  const unused = await connect(harness, 'ada');
  now += graceMs;
  await connect(harness, 'ada');
  assert.equal(stateOf(harness, used), 'ready');
  assert.equal(stateOf(harness, unused), 'suspended');
});

test('a stream or a call in flight keeps the child, however full the budget is', async () => {
  const harness = await start({ maxChildrenPerPrincipal: 2 });
  const listening = await connect(harness, 'ada');
  const events = await listening.get();
  const calling = await connect(harness, 'ada');
  const call = calling.post(calling.tool('hold'));
  await until('the call is in flight', () =>
    harness.runtime.view().sessions.some(({ targets }) => targets[0]!.pending === 1),
  );
  now += graceMs;
  const third = new RawClient(harness.url, { 'x-principal': 'ada' });
  refused(await third.initialize(), 429, 'maxChildrenPerPrincipal');
  await events.cancel();
  await until('the stream is gone', () =>
    harness.runtime.view().sessions.every(({ streams }) => streams === 0),
  );
  refused(await third.initialize(), 429, 'maxChildrenPerPrincipal');
  now += graceMs;
  assert.equal((await third.initialize()).status, 200, 'the grace begins with the end of the stream');
  assert.equal(stateOf(harness, listening), 'suspended');
  await calling.call('release');
  await call;
});

test('a session whose client listens again gets its child back before the first call', async () => {
  const harness = await start({ maxChildrenPerPrincipal: 1 });
  const first = await connect(harness, 'ada');
  now += graceMs;
  const second = await connect(harness, 'ada');
  assert.equal(stateOf(harness, first), 'suspended');
  await second.delete();
  const events = await first.get();
  await until('it runs', () => stateOf(harness, first) === 'ready');
  await events.cancel();
});

test('with resume: false the session ends with its child, and its id is unknown', async () => {
  const harness = await start({ maxChildrenPerPrincipal: 1 }, { resume: false });
  const first = await connect(harness, 'ada');
  now += graceMs;
  await connect(harness, 'ada');
  assert.equal((await first.post(first.request('ping'))).status, 404);
  assert.equal(harness.runtime.view().sessions.length, 1);
});

test('with resume: false the session ends with its child also where it has other targets', async () => {
  const harness = await start({ maxChildrenPerPrincipal: 2 });
  const targets = [stdioTarget({ name: 'remembers', resume: false }), stdioTarget({ name: 'other' })];
  harness.use(mcpBackend({ key: 'several', targets }));
  const first = await connect(harness, 'ada');
  await first.call('remembers_echo', { text: 'x' });
  now += graceMs;
  const second = await connect(harness, 'ada');
  await second.call('remembers_echo', { text: 'x' });
  assert.equal((await first.post(first.request('ping'))).status, 404);
});

test('when all children are in use, the idle ones of the heaviest principal go first', async () => {
  const harness = await start({ maxChildren: 3 });
  const light = await connect(harness, 'ada');
  const heavy = [await connect(harness, 'bob'), await connect(harness, 'bob')] as const;
  const newcomer = new RawClient(harness.url, { 'x-principal': 'eve' });
  refused(await newcomer.initialize(), 503, 'maxChildren');
  now += graceMs;
  assert.equal((await newcomer.initialize()).status, 200);
  assert.equal(
    stateOf(harness, light),
    'ready',
    'it was used least recently, and its principal has one only',
  );
  assert.equal(stateOf(harness, heavy[0]), 'suspended');
  assert.equal(stateOf(harness, heavy[1]), 'ready');
});

test('a client that leaves while it waits for room takes no child', async () => {
  const harness = await start({ maxChildrenPerPrincipal: 1 }, { args: stubborn() });
  const first = await connect(harness, 'ada');
  now += graceMs;
  const leaving = new AbortController();
  const second = new RawClient(harness.url, { 'x-principal': 'ada' });
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  const answer = second.fetch(second.request('initialize', params), {}, leaving.signal);
  await until('the child is on its way out', () => stateOf(harness, first) === 'suspended');
  leaving.abort();
  await assert.rejects(answer);
  await until('the session is gone', () => harness.runtime.view().sessions.length === 1);
  await until('nothing is left', () => harness.runtime.view().children === 0);
  assert.equal(await first.call('echo', { text: 'back' }), 'back');
});

/** A server that only SIGKILL ends. */
function stubborn(): string[] {
  return [...stdioTarget().args, 'stubborn'];
}

test('a principal gets sessions up to its budget; its idle sessions end first, unused ones before others', async (t) => {
  now = 1_000_000;
  const { harness } = await stage(
    t,
    {},
    {
      caller: byHeader!,
      limits: { maxMcpSessionsPerPrincipal: 2, mcpSessionGraceMs: graceMs },
      runtime: { now: () => now, sessionTtlMs: 3_600_000 },
    },
  );
  const used = await connect(harness, 'ada');
  await used.call('echo', { text: 'x' });
  const unused = await connect(harness, 'ada');
  const third = new RawClient(harness.url, { 'x-principal': 'ada' });
  refused(await third.initialize(), 429, 'maxMcpSessionsPerPrincipal');
  await connect(harness, 'bob');
  now += graceMs;
  assert.equal((await third.initialize()).status, 200);
  assert.equal((await unused.post(unused.request('ping'))).status, 404);
  assert.equal(await used.call('echo', { text: 'still there' }), 'still there');
});

test('when all sessions are taken, an idle one of the heaviest principal ends for a newcomer', async (t) => {
  now = 1_000_000;
  const { harness } = await stage(
    t,
    {},
    {
      caller: byHeader!,
      limits: { maxMcpSessions: 3, mcpSessionGraceMs: graceMs },
      runtime: { now: () => now, sessionTtlMs: 3_600_000 },
    },
  );
  const light = await connect(harness, 'ada');
  const heavy = await connect(harness, 'bob');
  await connect(harness, 'bob');
  const newcomer = new RawClient(harness.url, { 'x-principal': 'eve' });
  refused(await newcomer.initialize(), 503, 'maxMcpSessions');
  now += graceMs;
  assert.equal((await newcomer.initialize()).status, 200);
  assert.equal((await heavy.post(heavy.request('ping'))).status, 404);
  assert.equal(await light.call('echo', { text: 'mine' }), 'mine');
});

test('a principal has calls in progress up to its budget, without affecting other principals', async () => {
  const harness = await start({ maxMcpCallsPerPrincipal: 2 });
  const ada = await connect(harness, 'ada');
  const bob = await connect(harness, 'bob');
  const held = [ada.post(ada.tool('hold')), ada.post(ada.tool('hold'))];
  await until('both are in flight', () => pending(harness) === 2);
  const answer = await ada.post(ada.request('ping', undefined, 'my id'));
  refused(answer, 429, 'maxMcpCallsPerPrincipal');
  assert.equal(answer.json.id, 'my id');
  assert.equal(await bob.call('echo', { text: 'bob' }), 'bob');
  await ada.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } });
  await ada.call('release');
  await Promise.all(held);
  assert.equal(await ada.call('echo', { text: 'again' }), 'again');
});

const pending = (harness: Harness): number =>
  harness.runtime.view().sessions.reduce((sum, { targets }) => sum + targets[0]!.pending, 0);

test('a call whose client has left gives way to the next call of its principal', async () => {
  const harness = await start({ maxMcpCallsPerPrincipal: 1 });
  const ada = await connect(harness, 'ada');
  const leaving = new AbortController();
  const left = ada.fetch(ada.tool('hang'), {}, leaving.signal);
  await until('it is in flight', () => pending(harness) === 1);
  leaving.abort();
  await assert.rejects(left);
  await until('the gateway knows', () => !harness.runtime.view().sessions[0]!.attached);
  assert.equal(await ada.call('echo', { text: 'next' }), 'next');
});

test('a principal has event streams up to its budget, without affecting other principals', async () => {
  const harness = await start({ maxMcpStreamsPerPrincipal: 1 });
  const ada = await connect(harness, 'ada');
  const bob = await connect(harness, 'bob');
  const events = await ada.get();
  const answer = await fetch(harness.url, { headers: ada.headers({ accept: 'text/event-stream' }) });
  assert.equal(answer.status, 429);
  assert.match(await answer.text(), /\(limits\.maxMcpStreamsPerPrincipal\)/);
  await (await bob.get()).cancel();
  await events.cancel();
  await until('the stream is gone', () => harness.runtime.view().sessions[0]!.streams === 0);
  await (await ada.get()).cancel();
});

for (const [name, limits] of [
  ['maxMcpCalls', { maxMcpCalls: 1 }],
  ['three quarters of maxRequests', { maxRequests: 2 }],
] as const)
  test(`over ${name} MCP calls get 503, so that HTTP routes have the rest`, async () => {
    const harness = await start(limits);
    const ada = await connect(harness, 'ada');
    const bob = await connect(harness, 'bob');
    const held = ada.post(ada.tool('hold'));
    await until('it is in flight', () => pending(harness) === 1);
    refused(await bob.post(bob.request('ping')), 503, 'maxMcpCalls');
    harness.runtime.retire(new Set());
    await held;
  });
