/** Requests that are forwarded by a plan, where the connections to their backend are limited. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { policySchemas } from '../../policies/index.ts';
import { TestPlane } from '../dataPlane.testing.ts';
import { until } from '../../until.testing.ts';
import { get, ok, post, RawBackend, status, type BackendConnection } from '../wire.testing.ts';

const buffer = (maxBytes: number, failOpen = false) => ({
  buffer: policySchemas.buffer.parse({
    request: { maxBytes, failureMode: failOpen ? 'failOpen' : 'failClosed' },
  }),
});
const retry = (attempts: number) => ({
  retry: policySchemas.retry.parse({ attempts, codes: [502], backoff: '10ms' }),
});

interface Stage {
  readonly plane: TestPlane;
  readonly backend: RawBackend;
  /** Answers the request that has the only connection. */
  release(): void;
  /** Requests that wait. */
  waiting(): number;
}

/** Requests that no connection and no place in a queue was left for. */
const refusals = ({ plane }: TestPlane): number =>
  [...plane.endpoints.destinations()].reduce((sum, { waiting }) => sum + waiting.refused, 0);

/** A backend with one connection, which has a request already. */
async function start(
  t: TestContext,
  policies: Record<string, unknown>,
  maxPendingRequests = 5,
  connectTimeoutMs = 10_000,
): Promise<Stage> {
  const holding: BackendConnection[] = [];
  const backend = await RawBackend.start({
    onRequest: (request, connection) => {
      if (request.start.includes('/hold')) holding.push(connection);
      else connection.send(ok(`${request.start.split(' ')[0] ?? ''} ${request.body.length}`));
    },
  });
  t.after(() => backend.close());
  const target = {
    host: '127.0.0.1',
    port: backend.port,
    connections: { maxConnections: 1, maxPendingRequests },
  };
  const plane = await TestPlane.start({
    routes: [
      { name: 'hold', prefix: '/hold', targets: [target] },
      { name: 'planned', policies, targets: [target] },
    ],
    upstream: { connectTimeoutMs },
  });
  t.after(() => plane.close());
  const holder = await plane.client();
  holder.send(get('/hold'));
  await backend.until('it has the connection', () => holding.length === 1);
  return {
    plane,
    backend,
    release: () => holding.shift()?.send(ok('held')),
    waiting: () =>
      [...plane.plane.endpoints.destinations()].reduce((sum, { waiting }) => sum + waiting.length, 0),
  };
}

for (const [what, policies] of [
  ['retry', retry(2)],
  ['buffer', buffer(500_000)],
  ['both', { ...retry(2), ...buffer(500_000) }],
] as const)
  test(`with ${what} a request waits for a connection like any other, with its body`, async (t) => {
    const { plane, release, waiting } = await start(t, policies);
    const clients = await Promise.all([plane.client(), plane.client(), plane.client()]);
    clients[0]?.send(get('/first'));
    await until('the first waits', () => waiting() === 1);
    clients[1]?.send(post('x'.repeat(10)));
    await until('the second waits', () => waiting() === 2);
    clients[2]?.send(post('x'.repeat(300_000)));
    await until('the third waits', () => waiting() === 3);
    release();
    const answers = await Promise.all(clients.map((client) => client.answer()));
    assert.deepEqual(
      answers.map(({ body }) => body.toString()),
      ['GET 0', 'POST 10', 'POST 300000'],
    );
    assert.ok(plane.access.every(({ error }) => error === undefined));
  });

test('a body that is too large to be gathered is kept while its request waits, and goes on after', async (t) => {
  const { plane, release, waiting } = await start(t, buffer(10_000, true));
  const client = await plane.client();
  client.send(post('x'.repeat(30_000_000)));
  await until('it waits', () => waiting() === 1);
  await until('its client is held back', () => client.socket.writableLength > 0);
  release();
  assert.equal((await client.answer()).body.toString(), 'POST 30000000');
});

test('a request over the limit of those that wait is refused, and tried again where that is asked for', async (t) => {
  const { plane, release, waiting } = await start(t, retry(2), 1);
  const first = await plane.client();
  first.send(get('/first'));
  await until('it waits', () => waiting() === 1);
  assert.equal(status(await plane.ask(get('/second'))), 503);
  assert.equal(plane.access.at(-1)?.error, 'upstream_overloaded');
  assert.equal(plane.access.at(-1)?.extra?.['tries'], 2);
  release();
  assert.equal((await first.answer()).body.toString(), 'GET 0');
});

for (const [what, text] of [
  ['a known length', post('x'.repeat(10))],
  ['chunks', 'POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\na\r\nxxxxxxxxxx\r\n0\r\n\r\n'],
] as const)
  test(`a refused request whose body has ${what} is sent whole when it is tried again`, async (t) => {
    const { plane, release } = await start(t, retry(5), 0);
    const client = await plane.client();
    client.send(text);
    await until('it is refused', () => refusals(plane) > 0);
    release();
    assert.equal((await client.answer()).body.toString(), 'POST 10');
  });

test('a request that waits is forgotten when its client leaves', async (t) => {
  const { plane, backend, release, waiting } = await start(t, retry(2));
  const client = await plane.client();
  client.send(post('x'));
  await until('it waits', () => waiting() === 1);
  client.close();
  await until('it is forgotten', () => waiting() === 0);
  release();
  assert.equal((await plane.ask(get('/next'))).body.toString(), 'GET 0');
  assert.equal(backend.requests.length, 2);
});

test('a request that has waited for too long is refused, and its own time limit counts the wait', async (t) => {
  const refused = await start(t, buffer(1_000), 5, 50);
  assert.equal(status(await refused.plane.ask(post('x'))), 503);
  assert.match(refused.plane.access.at(-1)?.reason ?? '', /waited for a connection for too long/);
  const limited = await start(t, { ...buffer(1_000), timeout: { backendRequestTimeout: 60 } });
  assert.equal(status(await limited.plane.ask(post('x'))), 504);
  assert.equal(limited.waiting(), 0);
  limited.release();
});
