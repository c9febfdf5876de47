import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  createSecureServer,
  createServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type Settings,
} from 'node:http2';
import { Socket, type AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { recordingLog } from '../mcp/harness.testing.ts';
import { certificate } from '../proxy/certificates.testing.ts';
import { startRaw } from '../proxy/rawServer.testing.ts';
import { get } from '../proxy/wire.testing.ts';
import { until } from '../until.testing.ts';
import {
  Asker,
  ask,
  closedPort,
  endpointAt,
  send,
  type EndpointInShort,
  type Outcome,
} from './endpoint.testing.ts';
import { Http2Sessions, type SharedSession } from './http2Sessions.ts';
import { TlsMaterial } from './tls.ts';
import type { UpstreamConnection } from './upstreamConnection.ts';

const trusting = { insecure: true, insecureHost: false, subjectAltNames: [] };
const tls = (): TlsMaterial => new TlsMaterial(trusting, '127.0.0.1', recordingLog().log);

/** A server of HTTP/2 and the sessions with it. */
async function start(
  t: TestContext,
  {
    settings = {},
    secure = false,
    length = false,
  }: { settings?: Settings; secure?: boolean; length?: boolean } = {},
) {
  const server: Http2Server = secure
    ? (createSecureServer({ ...certificate(), settings }) as unknown as Http2Server)
    : createServer({ settings });
  const there = new Set<ServerHttp2Session>();
  let opened = 0;
  server.on('session', (session) => {
    opened++;
    there.add(session);
    session.on('close', () => there.delete(session));
  });
  const held: (() => void)[] = [];
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    const answer = (): void => {
      stream.respond(length ? { 'content-length': '5' } : {});
      stream.end('hello');
    };
    stream.on('error', () => undefined);
    if (headers[':path'] === '/held') held.push(answer);
    else answer();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sessions = new Http2Sessions({ host: '127.0.0.1', port }, secure ? tls() : undefined);
  t.after(() => {
    sessions.destroy();
    server.close();
  });
  return { sessions, server, there, port, held, opened: () => opened };
}

/** A server of HTTP/2 whose answers tell their length, and an endpoint there. */
async function startEndpoint(t: TestContext, short: EndpointInShort = {}) {
  const { server, there, opened, held, port } = await start(t, {
    length: true,
    secure: short.tls !== undefined,
  });
  return { server, there, opened, held, endpoint: endpointAt(t, port, { http2: true, ...short }) };
}

/** The result for a waiter: `ready`, or the error. */
const outcome = (shared: SharedSession, of: 'waiting' | 'settling' = 'waiting'): Promise<string> =>
  new Promise((resolve) => {
    shared[of].add({ ready: () => resolve('ready'), failed: ({ message }) => resolve(message) });
  });

test('a hundred requests share one connection, and the next one opens another', async (t) => {
  const { sessions, there } = await start(t);
  const taken = Array.from({ length: 100 }, () => sessions.take());
  assert.equal(new Set(taken).size, 1);
  assert.equal(await outcome(taken[0]!), 'ready');
  const next = sessions.take();
  assert.notEqual(next, taken[0]);
  sessions.give(taken[0]!);
  assert.equal(sessions.take(), taken[0]);
  assert.equal(await outcome(next), 'ready');
  await until('the backend has two connections', () => there.size === 2);
});

test('a backend that allows fewer requests at a time gets fewer', async (t) => {
  const { sessions } = await start(t, { settings: { maxConcurrentStreams: 2 } });
  const first = sessions.take();
  assert.equal(await outcome(first, 'settling'), 'ready');
  assert.equal(sessions.take(), first);
  assert.notEqual(sessions.take(), first);
});

test('a further connection to such a backend goes by the limit of the first one, before its own is known', async (t) => {
  const { sessions } = await start(t, { settings: { maxConcurrentStreams: 2 } });
  const first = sessions.take();
  assert.equal(await outcome(first, 'settling'), 'ready');
  const taken = [first, ...Array.from({ length: 5 }, () => sessions.take())];
  assert.equal(taken[2]?.settled, false);
  assert.deepEqual(
    taken.map((one) => taken.indexOf(one)),
    [0, 0, 2, 2, 4, 4],
  );
});

test('connections that have carried nothing for long enough are closed, and only those', async (t) => {
  const { sessions, there } = await start(t);
  const [shared] = [sessions.take(), sessions.take()];
  await outcome(shared);
  sessions.sweep(Date.now() + 1_000_000, 1_000);
  assert.equal(shared.session.closed, false, 'a request is under way');
  sessions.give(shared);
  sessions.give(shared);
  sessions.sweep(shared.idleSince + 999, 1_000);
  assert.equal(shared.session.closed, false);
  sessions.sweep(shared.idleSince + 1_000, 1_000);
  assert.equal(shared.session.closed, true);
  assert.notEqual(sessions.take(), shared, 'a connection that is closing takes no request');
  await until('the backend has no more than the new connection', () => there.size <= 1);
});

test('a connection that the backend says goodbye to takes no further request, and finishes those that it has', async (t) => {
  const { sessions, there } = await start(t);
  const shared = sessions.take();
  await outcome(shared);
  await until('the backend knows the connection', () => there.size === 1);
  const told = once(shared.session, 'goaway');
  for (const session of there) session.goaway();
  await told;
  assert.notEqual(sessions.take(), shared);
});

test('connections that are left end with the last request on them', async (t) => {
  const { sessions } = await start(t);
  const [shared] = [sessions.take(), sessions.take()];
  await outcome(shared);
  sessions.retire();
  sessions.give(shared);
  assert.equal(shared.session.closed, false);
  sessions.give(shared);
  assert.equal(shared.session.closed, true);
  await once(shared.session, 'close');
});

test('everyone who waits for a connection hears that it cannot be made', async (t) => {
  const nowhere = new Http2Sessions({ host: '127.0.0.1', port: await closedPort() }, undefined);
  t.after(() => nowhere.destroy());
  const shared = nowhere.take();
  const heard = await Promise.all([outcome(shared), outcome(shared), outcome(shared, 'settling')]);
  for (const message of heard) assert.match(message, /ECONNREFUSED/);
  await until('the next request opens a connection of its own', () => nowhere.take() !== shared);
});

test('a kept channel ends with its connection, so that a request learns that the address is gone', async (t) => {
  const { endpoint, server, there } = await startEndpoint(t);
  assert.equal((await ask(endpoint.take())).status, 200);
  await until('the channel is kept', () => endpoint.idleConnections === 1);
  server.close();
  for (const session of there) session.destroy();
  await until('the connection is gone', () => endpoint.http2?.hasRoom() === false);
  const { failure, fresh } = await ask(endpoint.take());
  assert.deepEqual({ failure, fresh }, { failure: 'upstream_connect_failed', fresh: true });
  assert.equal(endpoint.stats.connectFailed, 1);
});

test('a check has a connection of its own, which ends with the check', async (t) => {
  const { endpoint, there, opened } = await startEndpoint(t);
  assert.equal((await ask(endpoint.take())).status, 200);
  for (const connections of [2, 3]) {
    const check = endpoint.takeForCheck();
    assert.equal((await ask(check)).status, 200);
    assert.equal(opened(), connections);
    check.close();
    await until('the connection of the check has ended', () => there.size === 1);
  }
  assert.equal((await ask(endpoint.take())).status, 200);
  assert.equal(opened(), 3);
});

for (const secure of [false, true])
  test(`a request that is given up after a silence leaves its connection, ${secure ? 'under' : 'without'} TLS`, async (t) => {
    const { endpoint, there, opened, held } = await startEndpoint(t, secure ? { tls: {} } : {});
    // With its second answer everything has come that comes without a request.
    for (const path of ['/', '/']) assert.equal((await ask(endpoint.take(), get(path))).status, 200);
    const hold = async (): Promise<[request: UpstreamConnection, outcome: Promise<Outcome>]> => {
      const before = held.length;
      const request = endpoint.take();
      const { outcome } = send(request, get('/held'));
      await until('the request is there', () => held.length > before);
      return [request, outcome];
    };
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
    const [, other] = await hold();
    const [silent] = await hold();
    t.mock.timers.tick(250);
    silent.abandon();
    assert.equal((await ask(endpoint.take())).status, 200);
    assert.equal(opened(), 2, 'the next request has another connection');
    assert.equal(there.size, 2, 'the other request goes on');
    held[0]?.();
    assert.equal((await other).status, 200);
    await until('the silent connection has ended', () => there.size === 1);
    const [slow] = await hold();
    assert.equal((await ask(endpoint.take())).status, 200);
    t.mock.timers.tick(250);
    slow.abandon();
    assert.equal((await ask(endpoint.take())).status, 200);
    assert.equal(opened(), 2, 'a connection on which bytes come stays in use');
  });

test('the connection below the channels gets the keep-alive of the settings', async (t) => {
  const set = t.mock.method(Socket.prototype, 'setKeepAlive');
  const keepAlive = { enabled: true, timeMs: 5_000, intervalMs: 6_000, retries: 2 };
  const { endpoint } = await startEndpoint(t, { settings: { keepAlive } });
  await Promise.all([ask(endpoint.take()), ask(endpoint.take())]);
  assert.deepEqual(
    set.mock.calls.map((call) => call.arguments),
    [[true, 5_000, 6_000, 2]],
  );
});

test('a channel carries the next request before the stream of the last one has ended', async (t) => {
  const next = new Asker();
  let waits = true;
  const onFree = (free: UpstreamConnection | undefined): boolean => {
    if (free === undefined || !waits) return false;
    waits = false;
    send(free, get('/next'), next);
    return true;
  };
  const { endpoint } = await startEndpoint(t, { onFree });
  const [first, second] = await Promise.all([ask(endpoint.take()), next.outcome]);
  assert.deepEqual([first.body, second.body], ['hello', 'hello']);
  assert.equal(endpoint.stats.opened, 1);
});

test('a connection that is not made in time is given up, and the next request opens another one', async (t) => {
  const server = await startRaw(t);
  const endpoint = endpointAt(t, server.port, { http2: true, tls: {}, settings: { connectTimeoutMs: 30 } });
  for (let index = 0; index < 2; index++) {
    assert.equal((await ask(endpoint.take())).detail, 'connect timeout');
    assert.notEqual(await (await server.connection(index)).closed(), 'open');
  }
});

test('requests that still wait for a connection get it when another one gave up before', async (t) => {
  const { sessions } = await start(t);
  const [shared] = [sessions.take(), sessions.take()];
  sessions.give(shared);
  assert.notEqual(sessions.take(), shared);
  assert.equal(await outcome(shared), 'ready');
  sessions.give(shared);
  await once(shared.session, 'close');
});

test('everyone who waits hears of the end when the sessions are destroyed', async (t) => {
  const server = await startRaw(t);
  const sessions = new Http2Sessions({ host: '127.0.0.1', port: server.port }, undefined);
  const shared = sessions.take();
  const heard = outcome(shared, 'settling');
  const there = await server.connection();
  sessions.destroy();
  assert.match(await heard, /closed|cancel/i);
  await there.closed();
});

test('under TLS the backend must choose h2', async (t) => {
  const { sessions } = await start(t, { secure: true });
  assert.equal(sessions.scheme, 'https');
  assert.equal(await outcome(sessions.take()), 'ready');
  const other = await startRaw(t, { tls: { ...certificate(), ALPNProtocols: ['http/1.1'] } });
  for (const port of [other.port, (await startRaw(t, { tls: certificate() })).port]) {
    const strangers = new Http2Sessions({ host: '127.0.0.1', port }, tls());
    t.after(() => strangers.destroy());
    assert.match(await outcome(strangers.take()), /does not speak HTTP\/2|no application protocol/i);
  }
});
