/** Sessions with servers over the network that go on at another process which has the key. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { GatewayError } from '../../errors.ts';
import {
  mcpBackend,
  remoteTarget,
  startHarness,
  type Harness,
  type HarnessOptions,
} from '../harness.testing.ts';
import { RawClient, type Answered } from '../rawClient.testing.ts';
import { RemoteServer, startRemote, type Incoming } from '../remoteServer.testing.ts';
import { PinFolder } from '../../pins/index.ts';
import { until } from '../../until.testing.ts';

interface Pair {
  readonly server: RemoteServer;
  /** The process where sessions begin. */
  readonly here: Harness;
  /** Has the same key. */
  readonly there: Harness;
}

const byHeader = (request: {
  header(name: string): string | undefined;
}): { principal: string | undefined } => ({
  principal: request.header('x-principal'),
});

async function gateway(t: TestContext, server: RemoteServer, options: HarnessOptions = {}): Promise<Harness> {
  const made = await startHarness({
    backend: mcpBackend({ targets: [remoteTarget(server.url)] }),
    caller: byHeader,
    ...options,
    runtime: { keyHolders: 'others', ...options.runtime },
  });
  t.after(() => made.close());
  return made;
}

async function pair(t: TestContext, options: HarnessOptions = {}): Promise<Pair> {
  const server = await RemoteServer.start();
  // The last to go.
  const here = await gateway(t, server, options);
  const there = await gateway(t, server, options);
  t.after(() => server.close());
  return { server, here, there };
}

async function open({ here }: Pick<Pair, 'here'>, headers = {}): Promise<RawClient> {
  const client = new RawClient(here.url, headers);
  const { status } = await client.initialize();
  assert.equal(status, 200);
  return client;
}

/** The same client, as it comes to another gateway. */
function moved(client: RawClient, to: Harness, headers = {}): RawClient {
  const same = new RawClient(to.url, headers);
  same.sessionId = client.sessionId;
  return same;
}

const statusOf = async (client: RawClient): Promise<number> =>
  (await client.post(client.request('tools/list'))).status;

const outcomes = ({ metrics }: Harness): Record<string, number> =>
  Object.fromEntries(
    [...metrics()].flatMap(([series, value]) => {
      const [, outcome] = /^mcp_session_resumptions_total\{outcome="(\w+)"\}$/.exec(series) ?? [];
      return outcome === undefined ? [] : [[outcome, value]];
    }),
  );

test('a session goes on at another process that has the key: same server session, no second initialize', async (t) => {
  const { server, here, there } = await pair(t);
  const client = await open({ here });
  const other = moved(client, there);
  for (const [at, text] of [
    [client, 'a'],
    [other, 'b'],
    [client, 'c'],
    [other, 'd'],
  ] as const)
    assert.equal(await at.call('echo', { text }), text);
  assert.equal(server.of('initialize').length, 1);
  const calls = server.of('tools/call');
  assert.deepEqual(new Set(calls.map(({ headers }) => headers['mcp-session-id'])), new Set(['session-1']));
  assert.deepEqual(
    new Set(calls.map(({ headers }) => headers['mcp-protocol-version'])),
    new Set(['2025-11-25']),
  );
  const ids = server.seen.flatMap(({ message: { id } }) => id ?? []);
  assert.equal(new Set(ids).size, ids.length, 'no id of a request is used twice in a session');
  assert.ok(ids.every((id) => Number.isSafeInteger(id)));
  const [copy] = there.runtime.view().sessions;
  assert.equal(copy?.resumed, true);
  assert.equal(copy?.protocolVersion, '2025-11-25');
  assert.equal(copy?.label, here.runtime.view().sessions[0]?.label);
  assert.deepEqual(outcomes(there), { resumed: 1 });
});

test('requests that come at once resume a session once', async (t) => {
  const { server, here, there } = await pair(t);
  const other = moved(await open({ here }), there);
  const texts = Array.from({ length: 8 }, (_, i) => `${i}`);
  assert.deepEqual(await Promise.all(texts.map((text) => other.call('echo', { text }))), texts);
  assert.equal(server.of('ping').length, 1);
  assert.equal(there.runtime.view().sessions.length, 1);
});

test('a session that goes on elsewhere is of the same caller, and of no other', async (t) => {
  const { server, here, there } = await pair(t);
  const ada = { 'x-principal': 'issuer\\nada' };
  const client = await open({ here }, ada);
  for (const headers of [{}, { 'x-principal': 'issuer\\nbob' }, { 'x-principal': 'issuer\\nad' }]) {
    const stranger = moved(client, there, headers);
    assert.equal(await statusOf(stranger), 404);
    assert.equal(await stranger.delete(), 404);
    await assert.rejects(stranger.get(), /404/);
  }
  assert.equal(server.of('ping').length, 0, 'the server hears nothing of them');
  assert.equal(there.runtime.view().sessions.length, 0);
  assert.equal(await moved(client, there, ada).call('echo', { text: 'mine' }), 'mine');
  // The process that holds the session by now answers the same.
  assert.equal(await statusOf(moved(client, there, {})), 404);
  const nobody = await open({ here });
  assert.equal(await statusOf(moved(nobody, there, ada)), 404, 'an anonymous session is closed to names');
});

test('an id of a session that has ended is of no use anywhere', async (t) => {
  const { server, here, there } = await pair(t);
  for (const [by, name] of [
    [here, 'where it began'],
    [there, 'elsewhere'],
  ] as const) {
    const client = await open({ here });
    await moved(client, there).call('echo', { text: 'on' });
    assert.equal(await moved(client, by).delete(), 204, name);
    assert.equal(server.sessions.size, 0, 'the server knows when the client is told');
    for (const at of [there, here, there])
      assert.equal(await statusOf(moved(client, at)), 404, `${name}, then ${at === here ? 'here' : 'there'}`);
  }
  const fresh = await open({ here });
  await fresh.delete();
  assert.equal(await statusOf(moved(fresh, there)), 404, 'by a process that never held it');
  assert.deepEqual(outcomes(there), { resumed: 2, unknown: 1 });
  assert.equal(server.of('initialize').length, 3, 'none was begun again');
});

test('an id is good for so long after the beginning and no longer, and a session that is held goes on', async (t) => {
  let now = 1_000_000;
  const runtime = { now: () => now, sessionResumableMs: 10_000 };
  const { here, there } = await pair(t, { runtime });
  const client = await open({ here });
  now += 9_999;
  const other = moved(client, there);
  assert.equal(await statusOf(other), 200);
  const late = await open({ here });
  now += 10_000;
  assert.equal(await statusOf(moved(late, there)), 404);
  assert.equal(await statusOf(other), 200);
  assert.equal(await statusOf(client), 200);
});

test('without resumption, session ids carry no state', async (t) => {
  const { server, here, there } = await pair(t, { runtime: { sessionResumableMs: 0 } });
  const client = await open({ here });
  assert.equal(await statusOf(moved(client, there)), 404);
  server.sessions.clear();
  assert.equal(await client.call('echo', { text: 'again' }), 'again', 'it is of one process, as ever');
});

test('a process with another key knows nothing of the session', async (t) => {
  const { server, here } = await pair(t);
  const stranger = await gateway(t, server, { runtime: { sessionKey: 'cd'.repeat(32) } });
  assert.equal(await statusOf(moved(await open({ here }), stranger)), 404);
});

test('a backend of another name or with another server does not go on with it', async (t) => {
  const { server, here, there } = await pair(t);
  const client = await open({ here });
  const other = moved(client, there);
  const targets = (settings: object, url = server.url): object => ({
    targets: [remoteTarget(url, settings)],
  });
  for (const changed of [
    { key: 'backend-2' },
    targets({ name: 'renamed' }),
    targets({ path: '/other' }),
    targets({}, server.url.replace('127.0.0.1', 'localhost')),
    targets({ tls: {} }),
    { targets: [remoteTarget(server.url), remoteTarget(server.url, { name: 'second' })] },
  ]) {
    there.use(mcpBackend({ targets: [remoteTarget(server.url)], ...changed }));
    assert.equal(await statusOf(other), 404, JSON.stringify(changed));
  }
  assert.equal(server.of('ping').length, 0, 'the session is not shown to another server');
  there.use(mcpBackend({ targets: [remoteTarget(server.url)], dnsRebindingProtection: true }));
  assert.equal(await statusOf(other), 200);
});

test('a session that is held elsewhere ends when the backend names another server', async (t) => {
  const { server, here, there } = await pair(t);
  const next = await startRemote(t);
  const other = moved(await open({ here }), there);
  assert.equal(await statusOf(other), 200);
  there.use(mcpBackend({ targets: [remoteTarget(next.url)] }));
  assert.equal(await statusOf(other), 404);
  assert.equal(next.seen.length, 0);
  await until('the first server knows', () => server.deleted.length === 1);
});

test('a session goes on where its server is only to be reached in another way', async (t) => {
  const { server, here, there } = await pair(t);
  const client = await open({ here });
  for (const at of [here, there]) {
    const same = moved(client, at);
    assert.equal(await statusOf(same), 200);
    at.use(
      mcpBackend({
        targets: [remoteTarget(server.url, { connections: { maxConnections: 5, maxPendingRequests: 5 } })],
      }),
    );
    assert.equal(await statusOf(same), 200);
  }
  assert.equal(server.of('initialize').length, 1);
  assert.deepEqual(server.deleted, []);
});

test('resumed sessions count', async (t) => {
  const { here, there } = await pair(t, { limits: { maxMcpSessions: 2 } });
  const [first, second] = [await open({ here }), await open({ here })];
  const own = await open({ here: there });
  assert.equal(await statusOf(moved(first, there)), 200);
  const refused = await moved(second, there).post(second.request('ping'));
  assert.equal(refused.status, 503);
  assert.ok(Number(refused.headers.get('retry-after')) > 0);
  await own.delete();
  assert.equal(await statusOf(moved(second, there)), 200);
});

test('while the server cannot be asked a session waits for better times', async (t) => {
  const { server, here, there } = await pair(t);
  const other = moved(await open({ here }), there);
  server.methods['ping'] = (x) => x.status(500);
  const { status, json, headers } = await other.post(other.request('tools/list', {}, 7));
  assert.equal(status, 503);
  assert.equal(json.error?.message, 'session cannot be resumed now');
  assert.equal(json.id, 7);
  assert.equal(headers.get('retry-after'), '1');
  await assert.rejects(other.get(), /503/);
  assert.equal(await other.delete(), 503);
  assert.equal(there.runtime.view().sessions.length, 0);
  // A server that has no ping says so, and knows the session.
  server.methods['ping'] = (x) =>
    x.json({ jsonrpc: '2.0', id: x.id, error: { code: -32601, message: 'Method not found' } });
  assert.equal(await statusOf(other), 200);
  assert.deepEqual(outcomes(there), { failed: 3, resumed: 1 });
});

test('a session id that is too long for a header stays with its process', async (t) => {
  const { server, here, there } = await pair(t);
  const sizes: number[] = [];
  for (const [length, status] of [
    [36, 200],
    [512, 200],
    [513, 404],
    [1_024, 404],
  ] as const) {
    const long = 'x'.repeat(length);
    server.sessions.add(long);
    server.methods['initialize'] = (x) =>
      x.json({ jsonrpc: '2.0', id: x.id, result: { protocolVersion: '2025-11-25', capabilities: {} } }, 200, {
        'mcp-session-id': long,
      });
    const client = await open({ here });
    sizes.push(client.sessionId!.length);
    assert.equal(await statusOf(client), 200);
    assert.equal(await statusOf(moved(client, there)), status, `${length} characters`);
  }
  assert.ok(sizes[0]! < 300 && Math.max(...sizes) <= 1_024, String(sizes));
});

test('a session with a server that keeps none goes on, and has ended where it was ended', async (t) => {
  const { server, here, there } = await pair(t);
  server.stateful = false;
  const client = await open({ here });
  const other = moved(client, there);
  assert.equal(await other.call('echo', { text: 'x' }), 'x');
  assert.equal(await other.delete(), 204);
  assert.equal(await statusOf(other), 404);
});

test('children and their sessions stay where they are', async (t) => {
  const backend = mcpBackend();
  const here = await startHarness({ backend, runtime: { keyHolders: 'others' } });
  const there = await startHarness({ backend, runtime: { keyHolders: 'others' } });
  t.after(() => Promise.all([here.close(), there.close()]));
  const client = await open({ here });
  assert.equal(await statusOf(moved(client, there)), 404);
  assert.equal(await statusOf(client), 200);
});

const textOf = ({ events, json }: Answered): unknown => (events.at(-1) ?? json).result;

test('a client may answer a request of the server through another process', async (t) => {
  const { server, here, there } = await pair(t);
  const client = await open({ here });
  const other = moved(client, there);
  const answers: unknown[] = [];
  // Servers use any id, and each asks on the stream of its own call.
  for (const [tool, id] of [
    ['numbered', 1],
    ['named', 'q-"1"'],
  ] as const)
    server.tools[tool] = async (x) => {
      x.stream().event({ jsonrpc: '2.0', id, method: 'elicitation/create', params: {} });
      await until('the answer', () => server.seen.some(({ message }) => message.id === id && message.result));
      answers.push(server.seen.find(({ message }) => message.id === id && message.result)!.message.result);
      x.event(x.result('thanks'));
      x.end();
    };
  for (const [at, elsewhere, tool] of [
    [client, other, 'numbered'],
    [other, client, 'named'],
  ] as const) {
    const stream = await at.stream(at.tool(tool));
    const question = (await stream.next())!;
    assert.equal(question.method, 'elicitation/create');
    const { status } = await elsewhere.post({ jsonrpc: '2.0', id: question.id, result: { by: tool } });
    assert.equal(status, 202);
    assert.deepEqual(((await stream.next())?.result?.['content'] as { text: string }[])[0]?.text, 'thanks');
  }
  assert.deepEqual(answers, [{ by: 'numbered' }, { by: 'named' }]);
});

test('a response without a pending request is dropped', async (t) => {
  const { server, here, there } = await pair(t);
  const other = moved(await open({ here }), there);
  const before = server.seen.length;
  for (const id of [
    1,
    'x',
    '0-',
    '0-{}',
    '0-[1]',
    '0-null',
    '0- 1',
    '0-1 ',
    '1-5',
    '0-"',
    '-1',
    '0-1,"method":"x"',
  ])
    assert.equal((await other.post({ jsonrpc: '2.0', id, result: {} })).status, 202);
  assert.equal(await other.call('echo', { text: 'x' }), 'x');
  assert.deepEqual(
    server.seen.slice(before).map(({ message: { method } }) => method),
    ['ping', 'tools/call'],
  );
});

test('news go where the client listens, and the server has one stream at a time', async (t) => {
  const { server, here, there } = await pair(t);
  let most = 0;
  server.get = (x) => {
    // As servers of the SDK do.
    if (server.news.size > 0) return x.status(409);
    x.stream();
    server.news.add(x);
    most = Math.max(most, server.news.size);
    void x.left.then(() => server.news.delete(x));
  };
  const client = await open({ here });
  const other = moved(client, there);
  const change = { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'a:1' } };
  let first: object | undefined;
  for (const at of [client, other]) {
    const stream = await at.get();
    await until(
      'the server has its stream',
      () => server.news.size === 1 && !server.news.has(first as never),
    );
    const [news] = server.news;
    first = news;
    news!.event(change);
    assert.deepEqual((await stream.next())?.params, { uri: 'a:1' });
    await stream.cancel();
  }
  assert.equal(most, 1);
});

test('a stream that breaks is gone on with where it was, and elsewhere a fresh one begins', async (t) => {
  const { server, here, there } = await pair(t);
  const client = await open({ here });
  server.tools['long'] = (x) => {
    x.stream().event({ jsonrpc: '2.0', method: 'notifications/message', params: { data: 1 } });
  };
  const broken = await client.stream(client.tool('long'));
  await broken.next();
  await broken.cancel();
  const other = moved(client, there);
  await other.call('echo', { text: 'x' });
  const events = await other.get({ 'last-event-id': broken.lastId });
  assert.equal(await events.nextBlock(), ': open', 'not one of its own by the same name');
  await events.cancel();
});

test('log level and subscriptions are those of the server session, wherever they were said', async (t) => {
  const { server, here, there } = await pair(t);
  const client = await open({ here });
  const other = moved(client, there);
  await other.post(other.request('logging/setLevel', { level: 'debug' }));
  await client.post(client.request('resources/subscribe', { uri: 'a:1' }));
  for (const method of ['logging/setLevel', 'resources/subscribe'])
    assert.deepEqual(
      server.of(method).map(({ headers }) => headers['mcp-session-id']),
      ['session-1'],
    );
  assert.ok(textOf(await other.post(other.request('ping'))));
});

test('notifications/initialized may come to another process than initialize', async (t) => {
  const { server, here, there } = await pair(t);
  const client = new RawClient(here.url);
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  const { headers } = await client.post(client.request('initialize', params));
  client.sessionId = headers.get('mcp-session-id')!;
  let noted = false;
  server.methods['notifications/initialized'] = (x) => {
    setImmediate(() => {
      noted = true;
      x.status(202);
    });
  };
  const { status } = await moved(client, there).post({ jsonrpc: '2.0', method: 'notifications/initialized' });
  assert.equal(status, 202);
  assert.equal(noted, true, 'the next message may go to the first one');
  assert.equal(await client.call('echo', { text: 'x' }), 'x');
});

test('a server that lost a shared session ends it for all processes, and the client initializes again', async (t) => {
  const { server, here, there } = await pair(t);
  const client = await open({ here });
  const other = moved(client, there);
  assert.equal(await statusOf(other), 200);
  server.sessions.clear();
  const gone = await other.post(other.tool('echo', { text: 'x' }, {}));
  assert.equal(gone.status, 404);
  assert.equal(gone.json.error?.message, 'session not found');
  assert.equal(await statusOf(client), 404);
  assert.equal(server.of('initialize').length, 1);
  assert.deepEqual([...here.runtime.view().sessions, ...there.runtime.view().sessions], []);
});

test('the process that began a session reinitializes it while a client listens', async (t) => {
  const { server, here } = await pair(t);
  const client = await open({ here });
  const events = await client.get();
  await until('the server has a stream', () => server.news.size === 1);
  server.sessions.clear();
  assert.equal(await client.call('echo', { text: 'x' }), 'x');
  assert.equal(server.of('initialize').length, 2);
  await events.cancel();
});

test('a stream that has begun when its session turns out to be gone ends with the error of a session that is gone', async (t) => {
  const { server, here, there } = await pair(t);
  const client = await open({ here });
  server.tools['long'] = (x) => {
    x.stream().event({ jsonrpc: '2.0', method: 'notifications/message', params: { data: 1 } });
  };
  const other = moved(client, there);
  const stream = await other.stream(other.tool('long'));
  await stream.next();
  server.sessions.clear();
  assert.equal(await statusOf(other), 404);
  assert.equal((await stream.next())?.error?.code, -32001);
});

test('an idle session is detached for other processes, and ends when none can resume it', async (t) => {
  let now = 1_000_000;
  const runtime = { now: () => now, sessionTtlMs: 1_000, sessionResumableMs: 10_000 };
  const { server, here, there } = await pair(t, { runtime });
  const client = await open({ here });
  const other = moved(client, there);
  assert.equal(await statusOf(other), 200);
  now += 1_000;
  here.runtime.tick();
  assert.deepEqual(here.runtime.view().sessions, []);
  assert.equal(await statusOf(other), 200);
  assert.deepEqual(server.deleted, []);
  // It may come back.
  assert.equal(await statusOf(client), 200);
  now += 1_000;
  here.runtime.tick();
  now += 8_000;
  here.runtime.tick();
  await until('the server knows', () => server.deleted.length === 1);
});

test('a gateway that shuts down leaves sessions to others, or ends them if none can resume them', async (t) => {
  const server = await startRemote(t);
  for (const [keyHolders, ended] of [
    ['others', 0],
    ['workers', 1],
  ] as const) {
    const harness = await startHarness({
      backend: mcpBackend({ targets: [remoteTarget(server.url)] }),
      runtime: { keyHolders },
    });
    await open({ here: harness });
    await harness.close();
    assert.equal(server.deleted.length, ended, keyHolders);
  }
  const passing = await startHarness({ backend: mcpBackend({ targets: [remoteTarget(server.url)] }) });
  const client = await open({ here: passing });
  passing.runtime.handOver();
  await passing.close();
  assert.equal(server.deleted.length, 1);
  const next = await startHarness({ backend: mcpBackend({ targets: [remoteTarget(server.url)] }) });
  t.after(() => next.close());
  assert.equal(await moved(client, next).call('echo', { text: 'on' }), 'on');
  assert.equal(await moved(client, next).delete(), 204);
});

test('without a shared session key, an ended session id stays ended', async (t) => {
  let now = 1_000_000;
  const server = await RemoteServer.start();
  server.stateful = false;
  const harness = await startHarness({
    backend: mcpBackend({ targets: [remoteTarget(server.url)] }),
    runtime: { now: () => now, sessionTtlMs: 1_000 },
  });
  t.after(async () => {
    await harness.close();
    await server.close();
  });
  const client = await open({ here: harness });
  now += 1_000;
  harness.runtime.tick();
  assert.equal(await statusOf(client), 404);
});

test('a backend that goes while a session is resumed takes it along', async (t) => {
  const { server, here, there } = await pair(t);
  const other = moved(await open({ here }), there);
  const asked = Promise.withResolvers<() => void>();
  server.methods['ping'] = (x) => asked.resolve(() => x.json({ jsonrpc: '2.0', id: x.id, result: {} }));
  const waiting = statusOf(other);
  const answer = await asked.promise;
  there.runtime.retire(new Set());
  answer();
  assert.equal(await waiting, 503, 'whether it is unknown is for the next configuration to say');
  assert.deepEqual(there.runtime.view().sessions, []);
});

test('a session that was begun again is of one process, and its server is told of the end', async (t) => {
  let now = 1_000_000;
  const runtime = { now: () => now, sessionTtlMs: 1_000 };
  const { server, here, there } = await pair(t, { runtime });
  const client = await open({ here });
  const events = await client.get();
  await until('the server has a stream', () => server.news.size === 1);
  server.sessions.clear();
  assert.equal(await client.call('echo', { text: 'x' }), 'x');
  await events.cancel();
  await until('nobody listens', () => here.runtime.view().sessions[0]!.streams === 0);
  assert.equal(await statusOf(moved(client, there)), 404, 'the id is of the session before');
  now += 1_000;
  here.runtime.tick();
  await until('the server knows', () => server.deleted.length === 1);
  assert.deepEqual(server.deleted, ['session-2']);
  assert.equal(await statusOf(client), 404);
});

test('two questions under one id of a server are two to the client', async (t) => {
  const { server, here } = await pair(t);
  const client = await open({ here });
  const asking: Incoming[] = [];
  // Servers that number the messages of each stream by themselves.
  server.tools['ask'] = (x) => {
    asking.push(x);
    x.stream().event({ jsonrpc: '2.0', id: 1, method: 'elicitation/create', params: {} });
  };
  const streams = [await client.stream(client.tool('ask')), await client.stream(client.tool('ask'))];
  const ids = [];
  for (const stream of streams) ids.push((await stream.next())!.id);
  assert.equal(new Set(ids).size, 2);
  for (const id of ids) await client.post({ jsonrpc: '2.0', id, result: { to: id } });
  await until('both answers', () => server.seen.filter(({ message }) => message.result).length === 2);
  assert.ok(server.seen.filter(({ message }) => message.result).every(({ message }) => message.id === 1));
  for (const x of asking) x.end();
  for (const stream of streams) await stream.cancel();
});

test('a gateway that shuts down ends detached sessions that no process can resume', async (t) => {
  let now = 1_000_000;
  const server = await startRemote(t);
  const backend = mcpBackend({ targets: [remoteTarget(server.url)] });
  const first = await gateway(t, server);
  const client = await open({ here: first });
  // Another worker of the one that began it.
  const heir = await startHarness({
    backend,
    runtime: { keyHolders: 'workers', now: () => now, sessionTtlMs: 1_000 },
  });
  now = Date.now();
  assert.equal(await statusOf(moved(client, heir)), 200);
  now += 1_000;
  heir.runtime.tick();
  assert.deepEqual(heir.runtime.view().sessions, []);
  assert.deepEqual(server.deleted, []);
  await heir.close();
  assert.deepEqual(server.deleted, ['session-1']);
});

test('a session can be resumed until its server is told of the end, and not longer', async (t) => {
  let now = 1_000_000;
  const runtime = { now: () => now, sessionTtlMs: 1_000, sessionResumableMs: 10_000 };
  const { server, here, there } = await pair(t, { runtime });
  server.methods['initialize'] = (x) => {
    delete server.methods['initialize'];
    // It takes its time.
    now += 5_000;
    server.sessions.add('slow');
    const result = { protocolVersion: '2025-11-25', capabilities: {} };
    x.json({ jsonrpc: '2.0', id: x.id, result }, 200, { 'mcp-session-id': 'slow' });
  };
  const client = await open({ here });
  now += 4_999;
  here.runtime.tick();
  assert.equal(await statusOf(moved(client, there)), 200);
  const late = await gateway(t, server, { runtime });
  now += 1;
  here.runtime.tick();
  await until('the server knows', () => server.deleted.length === 1);
  assert.equal(await statusOf(moved(client, late)), 404);
  assert.equal(server.of('ping').length, 1, 'the last one has no need to ask');
});

test('a session that one of several addresses knows is looked for when they are known, and there', async (t) => {
  const other = await RemoteServer.start();
  const server = await RemoteServer.start(other.port, 'http', '127.0.0.2');
  t.after(() => Promise.all([server.close(), other.close()]));
  const targets = [remoteTarget(`http://localhost:${other.port}/mcp`)];
  const addresses = Promise.withResolvers<void>();
  const at = (address: string): { address: string; family: number } => ({ address, family: 4 });
  const backend = mcpBackend({ targets });
  const here = await gateway(t, server, { backend, lookup: () => Promise.resolve([at('127.0.0.2')]) });
  // The first request makes it look.
  await new RawClient(here.url).initialize();
  const client = await open({ here });
  const there = await gateway(t, server, {
    backend,
    lookup: async () => {
      await addresses.promise;
      return [at('127.0.0.1'), at('127.0.0.2')];
    },
  });
  const waiting = statusOf(moved(client, there));
  await until('the request is there', () => there.annotations.length === 1);
  addresses.resolve();
  assert.equal(await waiting, 200);
  assert.equal(other.of('ping').length, 0, 'nobody else is asked');
});

test('sessions under resumption count for their caller and do not delay shutdown', async (t) => {
  const { server, here, there } = await pair(t, { limits: { maxMcpSessions: 2 } });
  const ada = { 'x-principal': 'ada' };
  const clients = [await open({ here }, ada), await open({ here }, ada)] as const;
  const third = await gateway(t, server);
  const more = await open({ here: third }, ada);
  const asked: Incoming[] = [];
  server.methods['ping'] = (x) => void asked.push(x);
  const waiting = clients.map((client) => statusOf(moved(client, there, ada)));
  await until('both are asked about', () => asked.length === 2);
  assert.equal(await statusOf(moved(more, there, ada)), 503, 'no room');
  assert.equal(await statusOf(moved(clients[0], there, { 'x-principal': 'bob' })), 404);
  // A client that leaves takes nothing along.
  const left = new AbortController();
  const gone = fetch(there.url, {
    method: 'DELETE',
    headers: { ...ada, 'mcp-session-id': clients[0].sessionId! },
    signal: left.signal,
  });
  await until('it is there', () => there.annotations.length === 5);
  left.abort();
  await assert.rejects(gone);
  asked[0]!.json({ jsonrpc: '2.0', id: asked[0]!.id, result: {} });
  assert.equal(await waiting[0], 200);
  assert.deepEqual(server.deleted, []);
  await there.runtime.close(0);
  assert.equal(await waiting[1], 503);
  assert.equal(asked.length, 2);
});

test('a clock that goes ahead of another makes no id worthless', async (t) => {
  const server = await RemoteServer.start();
  const ahead = await gateway(t, server, { runtime: { now: () => Date.now() + 60_000 } });
  const behind = await gateway(t, server);
  t.after(() => server.close());
  assert.equal(await statusOf(moved(await open({ here: ahead }), behind)), 200);
});

test('an id that was altered, cut or lengthened is unknown, and its server hears nothing of it', async (t) => {
  const { server, here, there } = await pair(t);
  const { sessionId = '' } = await open({ here });
  const bytes = Buffer.from(sessionId, 'base64url');
  const forged = [
    ...[0, 12, 13, 30, 45, 60, 100, bytes.length - 1].map((at) => {
      const other = Buffer.from(bytes);
      other[at]! ^= 1;
      return other.toString('base64url');
    }),
    bytes.subarray(0, -1).toString('base64url'),
    Buffer.concat([bytes, Buffer.of(0)]).toString('base64url'),
    `${sessionId}=`,
    `${sessionId}A`,
    sessionId.slice(0, 20),
    'A'.repeat(1_025),
  ];
  for (const id of forged) {
    const client = new RawClient(there.url);
    client.sessionId = id;
    assert.equal(await statusOf(client), 404, id);
  }
  assert.equal(server.of('ping').length, 0);
});

test('a session that others may hold stays at its address when a reload has the addresses looked for again', async (t) => {
  const other = await RemoteServer.start();
  const server = await RemoteServer.start(other.port, 'http', '127.0.0.2');
  t.after(() => Promise.all([server.close(), other.close()]));
  const url = `http://localhost:${other.port}/mcp`;
  const addresses = Promise.withResolvers<void>();
  let looks = 0;
  const here = await gateway(t, server, {
    backend: mcpBackend({ targets: [remoteTarget(url)] }),
    lookup: async () => {
      if (looks++ > 0) await addresses.promise;
      return [{ address: '127.0.0.2', family: 4 }];
    },
  });
  await new RawClient(here.url).initialize();
  const client = await open({ here });
  const connections = { maxConnections: 5, maxPendingRequests: 5 };
  here.use(mcpBackend({ targets: [remoteTarget(url, { connections })] }));
  const waiting = statusOf(client);
  await until('the request is there', () => looks === 2);
  addresses.resolve();
  assert.equal(await waiting, 200);
  assert.equal(other.of('tools/list').length, 0);
  assert.equal(server.of('initialize').length, 1);
});

test('a session that began without pins does not go on at a gateway that compares definitions', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-pins-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const both = await pair(t, { runtime: { pins: new PinFolder(folder) } });
  const client = await open(both);
  const { server, there } = both;
  there.use(mcpBackend({ targets: [remoteTarget(server.url)], pin: 'enforce' }));
  const same = moved(client, there);
  assert.equal((await same.post(same.request('tools/list'))).status, 404);
});

test('a session that cannot go on without a credential of its caller takes no place of the caller', async (t) => {
  const { here, server } = await pair(t);
  const ada = { 'x-principal': 'ada' };
  const client = await open({ here }, ada);
  const lacking = (): never => {
    throw new GatewayError('backend_auth_failed');
  };
  const there = await gateway(t, server, {
    limits: { maxMcpSessionsPerPrincipal: 2 },
    caller: (request) => ({ ...byHeader(request), reach: lacking }),
  });
  const statuses: number[] = [];
  for (let i = 0; i < 4; i++) statuses.push(await statusOf(moved(client, there, ada)));
  assert.equal(new Set(statuses).size, 1, String(statuses));
});
