import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { TestPlane } from '../dataPlane.testing.ts';
import { freePorts } from '../ports.testing.ts';
import { until } from '../../until.testing.ts';
import { field, get, ok, RawBackend, RawClient, status, type BackendConnection } from '../wire.testing.ts';

const named = (name: string) =>
  RawBackend.start({ onRequest: (_request, connection) => connection.send(ok(name)) });

test('under load every request is answered while the model changes again and again', async () => {
  const backends = [await named('a'), await named('b')];
  const model = (i: number) => ({
    routes: [{ to: (backends[i % 2] as RawBackend).port }],
    limits: { maxHeaders: 100 + (i % 3) },
    headers: { requestId: i % 2 === 0 },
  });
  const plane = await TestPlane.start(model(0));
  let running = true;
  const answers: Record<string, number> = {};
  const load = Array.from({ length: 8 }, async (_, i) => {
    const client = await plane.client();
    while (running) {
      // Two in the pipeline, so that a change falls between head and head, too.
      client.send(get(`/${i}`) + get(`/${i}`));
      for (let n = 0; n < 2; n++) {
        const answer = await client.answer();
        const key = `${status(answer)} ${answer.body.toString()}`;
        answers[key] = (answers[key] ?? 0) + 1;
      }
    }
    client.close();
  });
  for (let i = 1; i <= 40; i++) {
    const before = plane.access.length;
    await plane.apply(model(i));
    await until('requests ran on it', () => plane.access.length >= before + 20);
  }
  running = false;
  await Promise.all(load);
  assert.deepEqual(Object.keys(answers).toSorted(), ['200 a', '200 b']);
  await until('no connection is left', () => plane.connections === 0);
  plane.close();
  for (const backend of backends) await backend.close();
});

test('a request under way ends on the model it began with', async () => {
  const old: BackendConnection[] = [];
  const slow = await RawBackend.start({ onRequest: (_request, connection) => void old.push(connection) });
  const next = await named('next');
  const plane = await TestPlane.start({ routes: [{ to: slow.port }] });
  const client = await plane.client();
  client.send(get());
  await slow.until('the request is there', () => old.length === 1);
  await plane.apply({ routes: [{ to: next.port }] });
  assert.equal((await plane.ask(get())).body.toString(), 'next');
  old[0]?.send(ok('old'));
  assert.equal((await client.answer()).body.toString(), 'old');
  // The same connection goes on with the new model, and the old backend is let go.
  assert.equal((await client.ask(get())).body.toString(), 'next');
  await slow.until('the old backend is let go', () => slow.connections.size === 0);
  plane.close();
  await slow.close();
  await next.close();
});

test('warm backend connections outlive a reload', async () => {
  const backend = await named('x');
  const plane = await TestPlane.start({ routes: [{ to: backend.port }] });
  await plane.ask(get());
  await plane.apply({ routes: [{ to: backend.port, name: 'renamed' }] });
  await plane.ask(get());
  assert.equal(backend.accepted, 1);
  plane.close();
  await backend.close();
});

test('ports open and close with the model; connections of a removed port drain', async () => {
  const waiting: BackendConnection[] = [];
  const backend = await RawBackend.start({
    onRequest: (request, connection) => {
      if (request.start.includes('/slow')) waiting.push(connection);
      else connection.send(ok('x'));
    },
  });
  const [first, second] = (await freePorts(2)) as [number, number];
  const routes = [{ to: backend.port }];
  const plane = await TestPlane.start({ routes, ports: [first] });
  await plane.apply({ routes, ports: [first, second] });
  const idle = await plane.client(second);
  assert.equal(status(await idle.ask(get())), 200);
  const busy = await plane.client(second);
  busy.send(get('/slow'));
  await backend.until('the request is there', () => waiting.length === 1);
  const stays = await plane.client(first);
  assert.equal(status(await stays.ask(get())), 200);

  await plane.apply({ routes, ports: [first] });
  assert.equal(await idle.closed(), 'fin');
  await assert.rejects(RawClient.connect(second), /ECONNREFUSED/);
  assert.equal(busy.ending, 'open');
  waiting[0]?.send(ok('late'));
  const late = await busy.answer();
  assert.equal(late.body.toString(), 'late');
  assert.equal(field(late, 'connection'), 'close');
  assert.equal(await busy.closed(), 'fin');
  assert.equal(status(await stays.ask(get())), 200);

  await plane.apply({ routes, ports: [second] });
  const again = await plane.client(second);
  assert.equal(status(await again.ask(get())), 200);
  assert.equal(await stays.closed(), 'fin');
  plane.close();
  await backend.close();
});

test('a port that is taken leaves everything as it was', async () => {
  const taken = createServer().listen(0);
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const [good, other] = [await named('good'), await named('other')];
  const [own, fresh] = (await freePorts(2)) as [number, number];
  const plane = await TestPlane.start({
    routes: [{ to: good.port }],
    ports: [own],
    limits: { maxBodyBytes: 7 },
    upstream: { poolMaxSize: 5 },
  });
  const client = await plane.client();
  assert.equal((await client.ask(get())).body.toString(), 'good');
  await assert.rejects(
    plane.apply({ routes: [{ to: other.port }], ports: [own, fresh, port], upstream: { poolMaxSize: 0 } }),
    new RegExp(`port ${port} cannot be bound: EADDRINUSE \\(another program`),
  );
  assert.equal((await client.ask(get())).body.toString(), 'good');
  assert.equal(plane.plane.limits.maxBodyBytes, 7);
  assert.deepEqual(
    plane.plane.binds.map(({ key }) => key),
    [String(own)],
  );
  await assert.rejects(RawClient.connect(fresh), /ECONNREFUSED/);
  // The pool of the good backend is as it was, too.
  assert.equal((await client.ask(get())).body.toString(), 'good');
  assert.equal(good.accepted, 1);
  assert.equal(other.accepted, 0);
  await plane.apply({ routes: [{ to: other.port }], ports: [own] });
  assert.equal((await client.ask(get())).body.toString(), 'other');
  plane.close();
  taken.close();
  await good.close();
  await other.close();
});

test('limits of a new model hold for connections that are open already', async () => {
  const waiting: BackendConnection[] = [];
  const backend = await RawBackend.start({
    onRequest: (request, connection) => {
      if (request.start.includes('/slow')) waiting.push(connection);
      else connection.send(ok('x'));
    },
  });
  const routes = [{ to: backend.port }];
  const plane = await TestPlane.start({ routes });
  const client = await plane.client();
  const many = (count: number): string => get('/', ...Array.from({ length: count }, (_, i) => `X-${i}: y`));
  assert.equal(status(await client.ask(many(50))), 200);
  // A request is under way while the limit changes.
  client.send(get('/slow'));
  await backend.until('it is there', () => waiting.length === 1);
  await plane.apply({ routes, limits: { maxHeaders: 20 } });
  waiting[0]?.send(ok('x'));
  assert.equal(status(await client.answer()), 200);
  assert.equal(status(await client.ask(get())), 200);
  assert.equal(status(await client.ask(many(50))), 431);

  const other = await plane.client();
  other.send(get('/slow'));
  await backend.until('it is there', () => waiting.length === 2);
  await plane.apply({ routes, limits: { maxHeaders: 200 } });
  waiting[1]?.send(ok('x'));
  assert.equal(status(await other.answer()), 200);
  for (let i = 0; i < 3; i++) assert.equal(status(await other.ask(many(150))), 200);
  plane.close();
  await backend.close();
});

test('a drain finishes responses with close, accepts no connection, and resolves when all are closed', async () => {
  const waiting: BackendConnection[] = [];
  const backend = await RawBackend.start({
    onRequest: (request, connection) => {
      if (request.start.includes('/slow')) waiting.push(connection);
      else connection.send(ok('x'));
    },
  });
  const plane = await TestPlane.start({ routes: [{ to: backend.port }] });
  const { port } = plane;
  const idle = await plane.client();
  const busy = await plane.client();
  const halfway = await plane.client();
  await idle.ask(get());
  busy.send(get('/slow'));
  halfway.send(get('/half').slice(0, -2));
  await backend.until('the slow request is there', () => waiting.length === 1);
  await until('the half request is there', () => plane.connections === 3);

  let drained = 0;
  const first = plane.plane.drain().then(() => drained++);
  const second = plane.plane.drain().then(() => drained++);
  assert.equal(await idle.closed(), 'fin');
  await assert.rejects(RawClient.connect(port), /ECONNREFUSED/);
  // A request that had begun is still served.
  halfway.send('\r\n');
  const half = await halfway.answer();
  assert.equal(status(half), 200);
  assert.equal(field(half, 'connection'), 'close');
  assert.equal(drained, 0);
  waiting[0]?.send(ok('late'));
  assert.equal((await busy.answer()).body.toString(), 'late');
  for (const client of [busy, halfway]) {
    assert.equal(await client.closed(), 'fin');
    client.close();
  }
  idle.close();
  await first;
  await second;
  plane.close();
  await backend.close();
});

test('close ends everything at once', async () => {
  const backend = await RawBackend.start({});
  const plane = await TestPlane.start({ routes: [{ to: backend.port }] });
  const client = await plane.client();
  client.send(get());
  await backend.until('the request is there', () => backend.requests.length === 1);
  plane.plane.close();
  assert.notEqual(await client.closed(), 'open');
  await backend.until('the backend is let go', () => backend.connections.size === 0);
  assert.equal(plane.upstreamConnections, 0);
  plane.close();
  await backend.close();
});
