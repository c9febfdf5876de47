import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { get, ok, post, type BackendConnection } from '../proxy/wire.testing.ts';
import { startRaw } from '../proxy/rawServer.testing.ts';
import { until } from '../until.testing.ts';
import { ask, Asker, closedPort, endpointAt, gone, send, startBackend, still } from './endpoint.testing.ts';

const evictAtOnce = { consecutiveFailures: 1, durationMs: 60_000, maxEjectedPercent: 100 };

test('a connection carries one request after another and is kept in between', async (t) => {
  const backend = await startBackend(t, { onRequest: (_request, one) => one.send(ok('hello')) });
  const endpoint = endpointAt(t, backend.port);
  const connection = endpoint.take();
  const asker = send(connection);
  assert.deepEqual(await asker.outcome, { status: 200, body: 'hello' });
  assert.equal(asker.connected, true);
  assert.equal(connection.reused, true);
  assert.equal(endpoint.take(), connection);
  assert.deepEqual(await ask(connection), { status: 200, body: 'hello' });
  assert.equal(backend.accepted, 1);
});

test('a connection ends with as many requests as it may carry', async (t) => {
  const backend = await startBackend(t, { onRequest: (_request, one) => one.send(ok('x')) });
  const endpoint = endpointAt(t, backend.port, {
    limits: { maxRequestsPerConnection: 2, maxPendingRequests: 0 },
  });
  const connection = endpoint.take();
  await ask(connection);
  assert.equal(connection.usable, true);
  await ask(endpoint.take());
  assert.equal(connection.usable, false);
  assert.equal(endpoint.connections, 0);
});

test('a connection is not kept when the answer is there before the whole request is', async (t) => {
  const backend = await startBackend(t, { onHead: (one) => one.send(ok('early')) });
  const endpoint = endpointAt(t, backend.port);
  const connection = endpoint.take();
  const asker = new Asker();
  connection.begin(asker, false, false);
  connection.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhalf');
  assert.deepEqual(await asker.outcome, { status: 200, body: 'early' });
  assert.equal(endpoint.connections, 0);
});

test('a backend that sends bytes without a request loses its connection', async (t) => {
  const backend = await startBackend(t, { onRequest: (_request, one) => one.send(ok('x')) });
  const endpoint = endpointAt(t, backend.port);
  const connection = endpoint.take();
  await ask(connection);
  assert.equal(endpoint.idleConnections, 1);
  for (const one of backend.connections) one.send(ok('for nobody'));
  await gone(connection);
  assert.equal(endpoint.idleConnections, 0);
  assert.equal(endpoint.connections, 0);
});

test('a request to a port that is closed fails as one that was never sent, and the address cools down', async (t) => {
  const endpoint = endpointAt(t, await closedPort());
  const outcome = await ask(endpoint.take());
  assert.deepEqual(
    [outcome.failure, outcome.detail, outcome.fresh],
    ['upstream_connect_failed', 'ECONNREFUSED', true],
  );
  assert.equal(endpoint.health.isEligible(Date.now()), false);
  assert.equal(endpoint.stats.connectFailed, 1);
  assert.equal(endpoint.connections, 0);
});

test('a backend that accepts and says nothing of TLS fails the request by the time limit for connections', async (t) => {
  const server = await startRaw(t);
  const endpoint = endpointAt(t, server.port, { tls: {}, settings: { connectTimeoutMs: 30 } });
  const outcome = await ask(endpoint.take());
  assert.equal(outcome.failure, 'upstream_tls_failed');
  assert.equal(outcome.detail, 'connect timeout during the TLS handshake');
  assert.equal(await (await server.connection()).closed(), 'fin');
});

test('not a byte of a request is sent before the backend has shown who it is', async (t) => {
  const server = await startRaw(t);
  const endpoint = endpointAt(t, server.port, { tls: { insecure: false } });
  const asker = send(endpoint.take(), get('/secret'));
  const there = await server.connection();
  await there.find('a ClientHello', () => (there.inbox.length > 0 ? true : undefined));
  assert.equal(asker.connected, false);
  there.close();
  assert.equal((await asker.outcome).failure, 'upstream_tls_failed');
  assert.doesNotMatch(there.text, /secret/);
});

test('a backend that hangs up within its answer fails the request, which was not unanswered', async (t) => {
  const backend = await startBackend(t, {
    onRequest: (_request, one) => one.socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf'),
  });
  const endpoint = endpointAt(t, backend.port);
  assert.deepEqual(await ask(endpoint.take()), {
    status: 200,
    body: 'half',
    failure: 'upstream_reset',
    detail: 'closed by the backend',
    fresh: false,
  });
  assert.equal(endpoint.connections, 0);
});

test('a body without a length ends with its connection, which is not kept', async (t) => {
  const backend = await startBackend(t, {
    onRequest: (_request, one) => one.socket.end('HTTP/1.1 200 OK\r\n\r\nto the end'),
  });
  const endpoint = endpointAt(t, backend.port);
  assert.deepEqual(await ask(endpoint.take()), { status: 200, body: 'to the end' });
  assert.equal(endpoint.connections, 0);
});

test('a body without a length that ends with a reset has failed', async (t) => {
  const backend = await startBackend(t, {
    onRequest: (_request, one) => one.send('HTTP/1.1 200 OK\r\n\r\nto the'),
  });
  const endpoint = endpointAt(t, backend.port);
  const asker = send(endpoint.take());
  await until('the answer has begun', () => asker.body === 'to the');
  for (const one of backend.connections) one.reset();
  assert.equal((await asker.outcome).failure, 'upstream_reset');
});

test('the health of a backend suffers when a new connection dies unanswered, but not a kept one', async (t) => {
  let held: BackendConnection | undefined;
  const backend = await startBackend(t, {
    onRequest: (_request, one, index) => {
      if (index === 0) one.send(ok('x'));
      else if (index === 1) one.close();
      else held = one;
    },
  });
  const endpoint = endpointAt(t, backend.port, { eviction: evictAtOnce });
  const connection = endpoint.take();
  await ask(connection);
  const unanswered = await ask(endpoint.take());
  assert.deepEqual([unanswered.failure, unanswered.fresh], ['upstream_reset', true]);
  assert.equal(endpoint.health.isEjected(Date.now()), false);
  const asker = send(endpoint.take());
  await until('the request is there', () => held !== undefined);
  held?.close();
  assert.equal((await asker.outcome).fresh, true);
  assert.equal(endpoint.health.isEjected(Date.now()), true);
});

test('an answer that the gateway cannot handle fails its own request and says nothing against the backend', async (t) => {
  const backend = await startBackend(t, { onRequest: (_request, one) => one.send(ok('x')) });
  const endpoint = endpointAt(t, backend.port, { eviction: evictAtOnce });
  const asker = new Asker();
  asker.onAnswer = () => {
    throw new Error('a defect');
  };
  const { failure, detail } = await send(endpoint.take(), get(), asker).outcome;
  assert.equal(failure, 'internal_error');
  assert.match(detail ?? '', /a defect/);
  assert.equal(endpoint.health.isEjected(Date.now()), false);
  assert.equal(endpoint.connections, 0);
});

for (const event of ['onConnected', 'onWritable'] as const)
  test(`an error in ${event} fails its own request and says nothing against the backend`, async (t) => {
    const backend = await startBackend(t, { onRequest: () => undefined });
    const endpoint = endpointAt(t, backend.port, { eviction: evictAtOnce });
    const asker = new Asker();
    asker[event] = () => {
      throw new Error('a defect');
    };
    const connection = endpoint.take();
    connection.begin(asker, false, false);
    connection.write(
      `POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 30000000\r\n\r\n${'x'.repeat(30_000_000)}`,
    );
    const { failure, detail } = await asker.outcome;
    assert.equal(failure, 'internal_error');
    assert.match(detail ?? '', /a defect/);
    assert.equal(endpoint.health.isEjected(Date.now()), false);
    assert.equal(endpoint.connections, 0);
  });

test('an answer that does not begin in time fails its request, and a patient user waits on', async (t) => {
  const held: BackendConnection[] = [];
  const backend = await startBackend(t, { onRequest: (_request, one) => void held.push(one) });
  const endpoint = endpointAt(t, backend.port, { process: { responseTimeoutMs: 1_000 } });
  const hasty = send(endpoint.take());
  const patient = send(endpoint.take(), get(), new Asker(true));
  await backend.until('both requests are there', () => held.length === 2);
  endpoint.sweep(Date.now());
  assert.equal(endpoint.connections, 2, 'one tick of the coarse clock may be a moment only');
  endpoint.sweep(Date.now());
  const { failure, detail } = await hasty.outcome;
  assert.deepEqual([failure, detail], ['upstream_timeout', 'limits.responseTimeout']);
  for (const one of held) one.send(ok('late'));
  assert.equal((await patient.outcome).body, 'late');
});

test('a request that is still being written, and an answer that has begun, have no time limit here', async (t) => {
  const held: BackendConnection[] = [];
  const backend = await startBackend(t, { onHead: (one) => void held.push(one) });
  const endpoint = endpointAt(t, backend.port, { process: { responseTimeoutMs: 1_000 } });
  const connection = endpoint.take();
  const asker = new Asker();
  connection.begin(asker, false, false);
  connection.write(post('a body').slice(0, -3));
  await backend.until('the head is there', () => held.length === 1);
  for (let i = 0; i < 4; i++) endpoint.sweep(Date.now());
  connection.write('ody');
  connection.sent();
  held[0]?.send('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nso');
  await until('the answer has begun', () => asker.body === 'so');
  for (let i = 0; i < 4; i++) endpoint.sweep(Date.now());
  held[0]?.send('on');
  assert.deepEqual(await asker.outcome, { status: 200, body: 'soon' });
});

test('a time limit that passes while the client still sends does not count against the backend', async (t) => {
  const backend = await startBackend(t, {});
  const endpoint = endpointAt(t, backend.port, { eviction: evictAtOnce });
  const connection = endpoint.take();
  const text = post('a body');
  connection.begin(new Asker(), false, false);
  connection.write(text.slice(0, -3));
  await until('the connection is there', () => connection.connected);
  connection.tooSlow();
  assert.equal(endpoint.health.isEjected(Date.now()), false);
  connection.write(text.slice(-3));
  connection.sent();
  connection.tooSlow();
  assert.equal(endpoint.health.isEjected(Date.now()), true);
});

test('a user that takes no more holds the backend back until it resumes', async (t) => {
  const backend = await startBackend(t, {
    onRequest: (_request, one) => {
      one.send('HTTP/1.1 200 OK\r\ncontent-length: 20000000\r\n\r\n');
      one.send(Buffer.alloc(20_000_000, 'x'));
    },
  });
  const endpoint = endpointAt(t, backend.port);
  const connection = endpoint.take();
  const asker = new Asker();
  let taken = 0;
  let ended = false;
  asker.onAnswer = (_head, _bytes, from, to) => {
    taken += to - from;
    return false;
  };
  asker.onBody = (_bytes, from, to, done) => {
    taken += to - from;
    ended = done;
    return true;
  };
  send(connection, get(), asker);
  await backend.until('the backend has been asked', () => backend.requests.length === 1);
  await still('the bytes that came through', () => taken);
  assert.ok(taken > 0);
  assert.ok(taken < 10_000_000, `${taken} bytes came through a connection that is held`);
  connection.resume();
  await until('the body is whole', () => ended);
  assert.equal(taken, 20_000_000);
  assert.equal(endpoint.idleConnections, 1);
});

test('a writer hears when the backend takes bytes again', async (t) => {
  const sockets: Socket[] = [];
  const server = await startRaw(t, { onConnection: (socket) => void sockets.push(socket) });
  const endpoint = endpointAt(t, server.port);
  const connection = endpoint.take();
  const asker = new Asker();
  connection.begin(asker, false, false);
  connection.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 99000000\r\n\r\n');
  await once(connection.socket, 'connect');
  const block = Buffer.alloc(1_000_000);
  let written = 0;
  while (connection.write(block)) written++;
  assert.ok(written < 98, 'the system does not take everything at once');
  assert.equal(asker.writable, 0);
  for (const socket of sockets) socket.resume();
  await until('the connection is writable again', () => asker.writable === 1);
});

test('a user that leaves takes the connection with it, since an answer cannot be skipped', async (t) => {
  const backend = await startBackend(t, {});
  const endpoint = endpointAt(t, backend.port);
  const connection = endpoint.take();
  send(connection);
  await backend.until('the request is there', () => backend.requests.length === 1);
  connection.abandon();
  assert.equal(endpoint.connections, 0);
  await backend.until('the backend hears of it', () => backend.connections.size === 0);
});
