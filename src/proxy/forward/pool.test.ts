import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestPlane, type ModelInShort } from '../dataPlane.testing.ts';
import { get, ok, RawBackend, status, type BackendConnection } from '../wire.testing.ts';

/** Runs `body` with a backend that answers only when it is told to. */
async function withHeldBackend(
  upstream: ModelInShort['upstream'],
  body: (plane: TestPlane, backend: RawBackend, release: () => void) => Promise<void>,
): Promise<void> {
  const held: BackendConnection[] = [];
  const backend = await RawBackend.start({ onRequest: (_request, connection) => void held.push(connection) });
  const plane = await TestPlane.start({ routes: [{ to: backend.port }], upstream: upstream ?? {} });
  await body(plane, backend, () => {
    for (const connection of held.splice(0)) connection.send(ok('x'));
  });
  plane.close();
  await backend.close();
}

/** `count` requests at the same time, each answered when all are at the backend. */
async function burst(
  plane: TestPlane,
  backend: RawBackend,
  release: () => void,
  count: number,
): Promise<void> {
  const before = backend.requests.length;
  const clients = await Promise.all(Array.from({ length: count }, () => plane.client()));
  for (const client of clients) client.send(get());
  await backend.until('all requests are there', () => backend.requests.length === before + count);
  release();
  for (const client of clients) {
    assert.equal(status(await client.answer()), 200);
    client.close();
  }
}

test('a backend gets as many connections as there are requests at once, and no more later', async () => {
  await withHeldBackend({}, async (plane, backend, release) => {
    await burst(plane, backend, release, 5);
    assert.equal(backend.accepted, 5);
    await burst(plane, backend, release, 5);
    await burst(plane, backend, release, 3);
    assert.equal(backend.accepted, 5);
    assert.equal(plane.upstreamConnections, 5);
  });
});

test('no more idle connections are kept than the pool may hold', async () => {
  await withHeldBackend({ poolMaxSize: 2 }, async (plane, backend, release) => {
    await burst(plane, backend, release, 5);
    await backend.until('the surplus is closed', () => backend.connections.size === 2);
    assert.equal(plane.upstreamConnections, 2);
  });
});

test('idle connections are closed after a while', async () => {
  await withHeldBackend({ poolIdleTimeoutMs: 50 }, async (plane, backend, release) => {
    await burst(plane, backend, release, 3);
    await backend.until('all are closed', () => backend.connections.size === 0);
    assert.equal(plane.upstreamConnections, 0);
    await burst(plane, backend, release, 1);
    assert.equal(backend.accepted, 4);
  });
});

test('an idle connection that the backend closes is not handed out', async () => {
  await withHeldBackend({}, async (plane, backend, release) => {
    await burst(plane, backend, release, 2);
    for (const connection of backend.connections) connection.close();
    await backend.until('both are gone', () => backend.connections.size === 0);
    await burst(plane, backend, release, 2);
    assert.equal(backend.accepted, 4);
  });
});
