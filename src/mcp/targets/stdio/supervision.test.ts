import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import {
  fixture,
  mcpBackend,
  startHarness,
  stdioTarget,
  type Harness,
  type HarnessOptions,
} from '../../harness.testing.ts';
import { RawClient, type Message } from '../../rawClient.testing.ts';
import { alive } from '../../alive.testing.ts';
import { until } from '../../../until.testing.ts';
import type { StdioTarget } from '../../../model/index.ts';

const open: Harness[] = [];
afterEach(async () => {
  for (const harness of open.splice(0)) await harness.close();
});

const quick = { firstDelayMs: 1, maxDelayMs: 4, maxFailures: 3, windowMs: 60_000, coolDownMs: 1_000 };

async function start(target: Partial<StdioTarget> = {}, options: HarnessOptions = {}): Promise<Harness> {
  const harness = await startHarness({
    backend: mcpBackend({ targets: [stdioTarget(target)] }),
    ...options,
    runtime: { restart: quick, ...options.runtime },
  });
  open.push(harness);
  return harness;
}

async function connect(harness: Harness): Promise<RawClient> {
  const client = new RawClient(harness.url);
  await client.initialize();
  return client;
}

const targetOf = (harness: Harness) => harness.runtime.view().sessions[0]!.targets[0]!;

test('a missing command is a JSON-RPC error that names the target; only the log names the command', async () => {
  const harness = await start({ name: 'weather', cmd: 'no-such-command' });
  const answer = await new RawClient(harness.url).initialize();
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('mcp-session-id'), null);
  assert.equal(answer.json.error?.code, -32603);
  assert.match(
    answer.json.error.message,
    /^target "weather" could not be started, at .* failure=[0-9a-f]{8}$/,
  );
  assert.ok(
    harness.log.some(({ fields }) => fields['detail'] === 'the command "no-such-command" was not found'),
  );
  assert.equal(harness.runtime.view().sessions.length, 0);
});

test('a missing working directory is not mistaken for a missing command', async () => {
  const harness = await start({ cwd: '/no/such/directory' });
  const answer = await new RawClient(harness.url).initialize();
  assert.match(answer.json.error?.message ?? '', /^target "fixture" could not be started, at /);
  assert.ok(
    harness.log.some(({ fields }) => /"\/no\/such\/directory" does not exist/.test(String(fields['detail']))),
  );
});

test('arguments that the system refuses are an error, not a crash', async () => {
  const harness = await start({ args: ['a\0b'] });
  const answer = await new RawClient(harness.url).initialize();
  assert.match(answer.json.error?.message ?? '', /^target "fixture" could not be started, at /);
});

test('a server that ends before it answers is an error with its exit code, and the log has its last words', async () => {
  const harness = await start({ args: [fixture, 'failing'] });
  const answer = await new RawClient(harness.url).initialize();
  assert.match(answer.json.error!.message, /ended with exit code 7/);
  const line = harness.log.find((entry) => entry.level === 'warn' && entry.message.includes('exit code 7'));
  assert.equal(line?.fields['target'], 'fixture');
  assert.match(String(line?.fields['stderr']), /cannot find my database/);
});

test('a server that does not answer initialize in time is stopped', async () => {
  const harness = await start({ args: [fixture, 'mute'], startTimeoutMs: 150 });
  const answer = await new RawClient(harness.url).initialize();
  assert.match(answer.json.error!.message, /did not answer initialize within 150 ms/);
  await until('the child is gone', () => harness.runtime.view().children === 0);
});

test('a server’s refusal of initialize passes, and no session is left', async () => {
  const harness = await start({ args: [fixture, 'refusing'] });
  const answer = await new RawClient(harness.url).initialize();
  assert.deepEqual(answer.json.error, { code: -32602, message: 'I do not like you' });
  assert.equal(answer.headers.get('mcp-session-id'), null);
  await until('the child is gone', () => harness.runtime.view().children === 0);
});

test('environment, working directory and secrets are as configured', async () => {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'portcullis-')));
  process.env['PORTCULLIS_TEST_SECRET'] = 'hidden';
  process.env['PORTCULLIS_TEST_OPEN'] = 'seen';
  const harness = await start(
    { cwd, env: { ADDED: 'yes' } },
    { runtime: { secrets: new Set(['PORTCULLIS_TEST_SECRET']) } },
  );
  const client = await connect(harness);
  assert.equal(await client.call('directory'), cwd);
  assert.equal(await client.call('environment', { name: 'ADDED' }), 'yes');
  assert.equal(await client.call('environment', { name: 'PORTCULLIS_TEST_OPEN' }), 'seen');
  assert.equal(await client.call('environment', { name: 'PORTCULLIS_TEST_SECRET' }), '(unset)');
  rmSync(cwd, { recursive: true });
});

test('a line on stderr is in the log with the name of the target', async () => {
  const harness = await start();
  const client = await connect(harness);
  await client.call('stderr', { line: 'a word of warning' });
  await until('the line is logged', () =>
    harness.log.some(
      (entry) => entry.fields['line'] === 'a word of warning' && entry.fields['target'] === 'fixture',
    ),
  );
});

for (const [tool, reason] of [
  ['crash', /target "fixture" ended with exit code 3/],
  ['die', /target "fixture" was ended by SIGKILL/],
] as const)
  test(`a child that ends in a call (${tool}): every pending call fails at once, the session goes on`, async () => {
    const harness = await start();
    const client = await connect(harness);
    const before = await client.call('pid');
    const held = client.post(client.tool('hold'));
    await until('the call is in flight', () => targetOf(harness).pending === 1);
    const answer = await client.post(client.tool(tool));
    assert.equal(answer.status, 200);
    assert.match(answer.json.error!.message, reason);
    assert.match((await held).json.error!.message, reason);
    const after = await client.call('pid');
    assert.notEqual(after, before);
    assert.equal(targetOf(harness).restarts, 1);
    assert.equal(harness.metrics().get('mcp_child_restarts_total{target="fixture"}'), 1);
  });

test('a restarted server knows that it is initialized, its log level and its subscriptions', async () => {
  const harness = await start();
  const client = await connect(harness);
  await client.post(client.request('logging/setLevel', { level: 'warning' }));
  for (const uri of ['file:///a', 'file:///b'])
    await client.post(client.request('resources/subscribe', { uri }));
  await client.post(client.request('resources/unsubscribe', { uri: 'file:///a' }));
  await client.post(client.tool('crash'));
  const state = JSON.parse(await client.call('state')) as object;
  assert.deepEqual(state, {
    level: 'warning',
    subscriptions: ['file:///b'],
    notifications: [{ jsonrpc: '2.0', method: 'notifications/initialized' }],
  });
});

test('a child killed from outside, with nothing pending, is replaced before anyone asks', async () => {
  const harness = await start();
  const client = await connect(harness);
  process.kill(Number(await client.call('pid')), 'SIGKILL');
  await until('it runs again', () => targetOf(harness).restarts === 1 && targetOf(harness).state === 'ready');
  assert.equal(await client.call('echo', { text: 'back' }), 'back');
});

test('a question to the client that was open when the server died is called off', async () => {
  const harness = await start();
  const client = await connect(harness);
  const get = await client.get();
  const events = await client.stream(client.tool('roots'));
  const asked = await events.next();
  const pid = Number(targetOf(harness).pid);
  process.kill(pid, 'SIGKILL');
  const failed = await events.next();
  assert.match(failed!.error!.message, /SIGKILL/);
  const off = await get.next();
  assert.equal(off?.method, 'notifications/cancelled');
  assert.equal(off.params?.['requestId'], asked?.id);
  // The late answer of the client must not reach the new server.
  assert.equal((await client.post({ jsonrpc: '2.0', id: asked!.id, result: {} })).status, 202);
  await client.call('echo', { text: 'x' });
  await get.cancel();
});

test('a server that keeps failing is given up with a clear error and tried again after the cool-down', async () => {
  let now = 1_000_000;
  const harness = await start({}, { runtime: { now: () => now, sessionTtlMs: 1e9 } });
  const client = await connect(harness);
  for (let i = 0; i < 3; i++) {
    await client.post(client.tool('crash'));
    await until('it has settled', () => ['ready', 'failed'].includes(targetOf(harness).state));
  }
  assert.equal(targetOf(harness).state, 'failed');
  const refused = await client.post(client.tool('echo'));
  assert.match(refused.json.error!.message, /target "fixture" keeps failing: it ended with exit code 3/);
  now += 100_000;
  assert.equal(await client.call('echo', { text: 'again' }), 'again');
});

test('calls that come while a server cannot be restarted wait, and fail when it is given up', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'portcullis-'));
  const harness = await start({ cwd: directory });
  const client = await connect(harness);
  rmSync(directory, { recursive: true });
  const crash = client.post(client.tool('crash'));
  await crash;
  const answers = await Promise.all([1, 2, 3].map(() => client.post(client.tool('echo'))));
  for (const answer of answers) assert.match(answer.json.error!.message, /keeps failing/);
  assert.equal(targetOf(harness).pending, 0);
});

test('a call that waits for a restart can be cancelled, and is then never made', async () => {
  const slow = { ...quick, firstDelayMs: 300, maxDelayMs: 300 };
  const harness = await start({}, { runtime: { restart: slow } });
  const client = await connect(harness);
  await client.post(client.tool('crash'));
  const waiting = client.post(client.request('tools/call', { name: 'crash' }, 'later'));
  await until('it waits', () => targetOf(harness).pending === 1);
  await client.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'later' } });
  assert.deepEqual((await waiting).events, []);
  assert.equal(await client.call('echo', { text: 'alive' }), 'alive');
  assert.equal(targetOf(harness).restarts, 1);
});

test('garbage on stdout is skipped and logged', async () => {
  const harness = await start();
  const client = await connect(harness);
  assert.equal(await client.call('garbage'), 'after garbage');
  assert.ok(
    harness.log.some((entry) => entry.level === 'warn' && entry.message.includes('not an MCP message')),
  );
});

test('a response with broken JSON fails its call instead of leaving it without an answer', async () => {
  const harness = await start();
  const client = await connect(harness);
  const answer = await client.post(client.tool('brokenAnswer'));
  assert.equal(answer.json.error?.message, 'target "fixture" answered with broken JSON');
});

test('a line over maxMcpMessageBytes fails its call, and the session goes on', async () => {
  const harness = await start({}, { limits: { maxMcpMessageBytes: 100_000 } });
  const client = await connect(harness);
  const held = client.post(client.tool('hold'));
  const answer = await client.post(client.tool('huge', { bytes: 5_000_000 }));
  assert.match(answer.json.error!.message, /message that is too large/);
  assert.equal((await client.call('huge', { bytes: 90_000 })).length, 90_000);
  await client.call('release');
  await held;
  assert.equal(targetOf(harness).restarts, 0);
});

test('a large response passes whole', async () => {
  const harness = await start();
  const client = await connect(harness);
  assert.equal((await client.call('huge', { bytes: 8_000_000 })).length, 8_000_000);
});

test('a child that never answers leaves other calls alone and ends with its session', async () => {
  const harness = await start();
  const client = await connect(harness);
  const hanging = client.post(client.tool('hang'));
  assert.equal(await client.call('echo', { text: 'x' }), 'x');
  const pid = Number(await client.call('pid'));
  await client.delete();
  assert.match((await hanging).json.error!.message, /has been stopped/);
  await until('the process is gone', () => !alive(pid));
});

test('a flood arrives whole at a client that reads, however slowly it began', async () => {
  const harness = await start();
  const client = await connect(harness);
  const params = { messages: 20_000, bytes: 500 };
  const events = await client.stream(client.tool('flood', params, { _meta: { progressToken: 'f' } }));
  await until('the child is held back', () => harness.runtime.view().sessions[0]!.pressed);
  let count = 0;
  let last: Message | undefined;
  for (let one = await events.next(); one !== undefined; one = await events.next()) {
    last = one;
    count++;
  }
  assert.equal(count, 20_001);
  assert.ok(last?.result);
});

test('a child that does not read its stdin gets calls up to a bound, and then they are refused', async () => {
  const harness = await start({ args: [fixture, 'deaf'] });
  const client = await connect(harness);
  const leave = new AbortController();
  const text = 'x'.repeat(1_500_000);
  const calls: Promise<unknown>[] = [];
  for (let i = 0; i < 6; i++) calls.push(client.fetch(client.tool('echo', { text }), {}, leave.signal));
  await until('all of them are in flight', () => targetOf(harness).pending === 6);
  const refused = await client.post(client.tool('echo'));
  assert.match(refused.json.error!.message, /does not read its messages/);
  leave.abort();
  await Promise.allSettled(calls);
});

test('abandoned calls make room for others', async () => {
  const harness = await start();
  const client = await connect(harness);
  for (let round = 0; round < 11; round++) {
    const leave = new AbortController();
    const calls = Array.from({ length: 100 }, () => client.fetch(client.tool('hang'), {}, leave.signal));
    const wanted = Math.min((round + 1) * 100, 1_024);
    await until('they are in flight', () => targetOf(harness).pending >= wanted);
    leave.abort();
    await Promise.allSettled(calls);
  }
  assert.equal(await client.call('echo', { text: 'room' }), 'room');
});

test('at the end of a session nothing of a child is left: not its children, not one that ignores SIGTERM', async () => {
  const harness = await start();
  const client = await connect(harness);
  const pids = [Number(await client.call('pid')), Number(await client.call('grandchild'))];
  assert.ok(pids.every(alive));
  await client.delete();
  await until('all are gone', () => !pids.some(alive));
  await until('none is counted', () => harness.runtime.view().children === 0);
});

test('when a child dies, its own children do not outlive it', async () => {
  const harness = await start();
  const client = await connect(harness);
  const grandchild = Number(await client.call('grandchild'));
  await client.post(client.tool('die'));
  await until('the grandchild is gone', () => !alive(grandchild));
  assert.equal(await client.call('echo', { text: 'on' }), 'on');
});

test('close leaves no process, even of those that ignore every polite request', async () => {
  const harness = await start({ args: [fixture, 'stubborn'] });
  const pids: number[] = [];
  for (let i = 0; i < 3; i++) {
    const client = await connect(harness);
    pids.push(Number(await client.call('pid')), Number(await client.call('grandchild')));
  }
  await harness.runtime.close(300);
  assert.deepEqual(pids.filter(alive), []);
  assert.equal(harness.runtime.view().children, 0);
  const late = await new RawClient(harness.url).initialize();
  assert.equal(late.status, 503);
});

test('a client that leaves before initialize is answered leaves no session and no child', async () => {
  const harness = await start({ args: [fixture, 'mute'] });
  const leave = new AbortController();
  const client = new RawClient(harness.url);
  const pending = client.fetch(client.request('initialize', {}), {}, leave.signal);
  await until('the child runs', () => harness.runtime.view().children === 1);
  leave.abort();
  await assert.rejects(pending);
  await until('the child is gone', () => harness.runtime.view().children === 0);
  assert.equal(harness.runtime.view().sessions.length, 0);
});
