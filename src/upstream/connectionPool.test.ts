import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { certificate } from '../proxy/certificates.testing.ts';
import { startRaw } from '../proxy/rawServer.testing.ts';
import { ok, RawBackend, type BackendConnection } from '../proxy/wire.testing.ts';
import { until } from '../until.testing.ts';
import { AnswerEnds } from './answerEnds.ts';
import {
  ask,
  endpointAt,
  Passenger,
  send,
  startBackend,
  type Asker,
  type EndpointInShort,
} from './endpoint.testing.ts';
import type { Endpoint, UpstreamConnection } from './upstreamConnection.ts';

/** A backend that answers when it is told to, and an endpoint of it. */
async function heldBackend(t: TestContext, short: EndpointInShort = {}) {
  const held: BackendConnection[] = [];
  const backend = await startBackend(t, { onRequest: (_request, one) => void held.push(one) });
  const endpoint = endpointAt(t, backend.port, short);
  return {
    backend,
    endpoint,
    /** Sends so many requests at once, on connections of their own. */
    start: async (count: number): Promise<Asker[]> => {
      const askers = Array.from({ length: count }, () => send(endpoint.take()));
      await backend.until('the requests are there', () => held.length === count);
      return askers;
    },
    /** Answers all of them. */
    answer: async (askers: readonly Asker[]): Promise<void> => {
      for (const one of held.splice(0)) one.send(ok('x'));
      await Promise.all(askers.map(({ outcome }) => outcome));
    },
  };
}

/** An endpoint with so many idle connections, the one used last at the end. */
async function withIdle(t: TestContext, count: number, short: EndpointInShort = {}) {
  const { backend, endpoint, start, answer } = await heldBackend(t, short);
  await answer(await start(count));
  return { backend, endpoint };
}

const idleOf = (endpoint: Endpoint): UpstreamConnection[] => {
  const taken = Array.from({ length: endpoint.idleConnections }, () => endpoint.take());
  for (const connection of taken.toReversed()) endpoint.give(connection);
  return taken;
};

test('the connection that was used last is taken first', async (t) => {
  const { endpoint } = await withIdle(t, 3);
  const [last, middle, first] = idleOf(endpoint) as [
    UpstreamConnection,
    UpstreamConnection,
    UpstreamConnection,
  ];
  assert.equal(endpoint.take(), last);
  assert.equal(endpoint.take(), middle);
  endpoint.give(last);
  assert.equal(endpoint.take(), last);
  assert.equal(endpoint.take(), first);
  assert.equal(endpoint.idleConnections, 0);
});

test('no more idle connections are kept than the pool may hold', async (t) => {
  const { backend, endpoint } = await withIdle(t, 5, { settings: { poolMaxSize: 2 } });
  assert.deepEqual([endpoint.idleConnections, endpoint.connections, endpoint.load], [2, 2, 0]);
  await backend.until('the others are closed', () => backend.connections.size === 2);
});

test('a sweep closes the connections that have been idle for too long, each by its own limit', async (t) => {
  const { endpoint } = await withIdle(t, 3, { settings: { poolIdleTimeoutMs: 60_000 } });
  const [hinted, ...others] = idleOf(endpoint) as [
    UpstreamConnection,
    UpstreamConnection,
    UpstreamConnection,
  ];
  const now = Date.now();
  for (const one of [hinted, ...others]) one.idleSince = now;
  hinted.idleLimitMs = 1_000;
  endpoint.sweep(now + 999);
  assert.equal(endpoint.idleConnections, 3);
  endpoint.sweep(now + 1_000);
  assert.deepEqual(idleOf(endpoint), others);
  endpoint.sweep(Date.now() + 60_000);
  assert.equal(endpoint.connections, 0);
});

test('a connection that is over its time is not handed out, even between two sweeps', async (t) => {
  const { endpoint } = await withIdle(t, 1);
  const [old] = idleOf(endpoint) as [UpstreamConnection];
  old.idleSince = Date.now() - 100_000;
  assert.notEqual(endpoint.take(), old);
  assert.equal(old.usable, false);
  assert.equal(endpoint.connections, 1);
});

test('a connection that the backend has closed is not handed out', async (t) => {
  const { backend, endpoint } = await withIdle(t, 2);
  for (const one of backend.connections) one.close();
  await until('the endpoint knows it', () => endpoint.connections === 0);
  assert.equal(endpoint.idleConnections, 0);
});

test('a request that wants a new connection gets one, and an idle one makes room for it', async (t) => {
  const limits = { maxConnections: 2, maxPendingRequests: 0 };
  const { backend, endpoint } = await withIdle(t, 2, { limits });
  const [last, oldest] = idleOf(endpoint) as [UpstreamConnection, UpstreamConnection];
  const fresh = endpoint.take(true);
  assert.ok(fresh !== last && fresh !== oldest);
  assert.equal(endpoint.connections, 2);
  assert.equal(oldest.usable, false, 'the oldest idle connection has gone');
  await backend.until('the backend has three connections, one after the other', () => backend.accepted === 3);
});

test('an endpoint has no room when all connections that it may have are busy', async (t) => {
  const limits = { maxConnections: 2, maxPendingRequests: 0 };
  const { endpoint, start, answer } = await heldBackend(t, { limits });
  const askers = await start(1);
  assert.equal(endpoint.hasRoom, true);
  const check = endpoint.takeForCheck();
  assert.deepEqual([endpoint.hasRoom, endpoint.load], [true, 1], 'a health check takes no room');
  check.tunnel(new Passenger());
  endpoint.take().tunnel(new Passenger());
  assert.deepEqual([endpoint.hasRoom, endpoint.load], [false, 2]);
  await answer(askers);
  assert.equal(endpoint.hasRoom, true, 'an idle connection is room');
});

test('a connection that becomes free goes to the request that waits, and not into the pool', async (t) => {
  const offered: (UpstreamConnection | undefined)[] = [];
  let waits = true;
  const onFree = (free: UpstreamConnection | undefined): boolean => {
    offered.push(free);
    return waits;
  };
  const { endpoint, start, answer } = await heldBackend(t, { onFree });
  await answer(await start(1));
  assert.equal(offered.length, 1);
  assert.equal(endpoint.idleConnections, 0);
  const [free] = offered as [UpstreamConnection];
  waits = false;
  endpoint.give(free);
  assert.equal(endpoint.idleConnections, 1);
  free.close();
  assert.equal(offered.at(-1), undefined, 'the end of a connection is room for another one');
});

test('a retired endpoint closes what is idle at once, and what is busy when it is done', async (t) => {
  const { backend, endpoint, start, answer } = await heldBackend(t);
  const [first, second] = (await start(2)) as [Asker, Asker];
  endpoint.retire();
  assert.equal(endpoint.connections, 2);
  await answer([first, second]);
  assert.equal(endpoint.connections, 0);
  await backend.until('the backend has no connection', () => backend.connections.size === 0);
  endpoint.revive();
  const again = await start(1);
  await answer(again);
  assert.equal(endpoint.idleConnections, 1);
});

test('when an endpoint closes, every connection of it is closed, busy or not', async (t) => {
  const { backend, endpoint, start, answer } = await heldBackend(t);
  await answer(await start(1));
  send(endpoint.take());
  endpoint.take(true).tunnel(new Passenger());
  endpoint.takeForCheck();
  await backend.until('all connections are there', () => backend.connections.size === 3);
  endpoint.close();
  assert.deepEqual([endpoint.connections, endpoint.idleConnections, endpoint.load], [0, 0, 0]);
  await backend.until('the backend has no connection', () => backend.connections.size === 0);
});

test('connections and TLS sessions from before a change of the certificates are not used again', async (t) => {
  const server = await startRaw(t, {
    tls: certificate(),
    onConnection: (socket) => void socket.on('data', () => void socket.write(ok('x'))),
  });
  const endpoint = endpointAt(t, server.port, { tls: {} });
  const before = endpoint.take();
  await ask(before);
  await until('a session can be resumed', () => endpoint.session(0) !== undefined);
  const busy = endpoint.take(true);
  const tls = endpoint.tls;
  assert.ok(tls !== undefined);
  tls.generation++;
  endpoint.renew();
  assert.equal(before.usable, false);
  assert.equal(endpoint.session(0), undefined);
  assert.equal(endpoint.session(1), undefined);
  assert.equal(busy.generation, 0);
  await ask(busy);
  assert.equal(
    endpoint.idleConnections,
    0,
    'the connection of the former certificate is closed after its answer',
  );
  endpoint.keepSession(Buffer.from('late'), 0);
  assert.equal(endpoint.session(0), undefined, 'a ticket that comes late is of no use');
  const after = endpoint.take();
  await ask(after);
  assert.equal(endpoint.take(), after);
});

test('connections that are not watched are closed when answers turn out to end with their connection', async (t) => {
  const server = await startRaw(t, {
    tls: certificate(),
    onConnection: (socket) => void socket.on('data', () => void socket.write(ok('x'))),
  });
  const answerEnds = new AnswerEnds();
  const endpoint = endpointAt(t, server.port, { tls: {}, answerEnds });
  const watched = endpoint.take();
  await ask(watched);
  assert.equal(watched.watched, true);
  const [plain, busy] = [endpoint.take(true), endpoint.take(true)];
  assert.equal(plain.watched, false, 'a backend that says lengths need not be watched');
  await ask(plain);
  assert.equal(endpoint.idleConnections, 2);
  answerEnds.endedWithConnection();
  endpoint.unwatched();
  assert.equal(plain.usable, false);
  assert.equal(watched.usable, true);
  await ask(busy);
  assert.equal(endpoint.idleConnections, 1, 'a busy one goes when it is done');
});

test('the name of an endpoint has its IPv6 address in brackets, and its hash is that of its name', async (t) => {
  const six = endpointAt(t, 80, { host: '::1' });
  assert.equal(six.name, '[::1]:80');
  const four = endpointAt(t, 80);
  assert.equal(four.name, '127.0.0.1:80');
  assert.notEqual(six.hash, four.hash);
  assert.equal(four.hash, endpointAt(t, 80).hash);
});

test('the heads of answers hold as many fields as the limits allow, also after a change of the limits', async (t) => {
  const many = Array.from({ length: 300 }, (_, i) => `x-${i}: y`);
  const backend = await RawBackend.start({ onRequest: (_request, one) => one.send(ok('x', ...many)) });
  t.after(() => backend.close());
  const endpoint = endpointAt(t, backend.port, { process: { maxHeaders: 100 } });
  assert.equal((await ask(endpoint.take())).failure, 'upstream_protocol');
  endpoint.limits = { ...endpoint.limits, maxHeaders: 400 };
  assert.equal((await ask(endpoint.take())).body, 'x');
});
