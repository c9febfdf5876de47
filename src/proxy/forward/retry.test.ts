import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { afterEach, test } from 'node:test';
import { policySchemas } from '../../policies/index.ts';
import { TestPlane } from '../dataPlane.testing.ts';
import { get, ok, post, RawBackend, status, type BackendScript } from '../wire.testing.ts';

const planes: TestPlane[] = [];
const backends: RawBackend[] = [];
afterEach(async () => {
  for (const plane of planes.splice(0)) plane.close();
  await Promise.all(backends.splice(0).map((backend) => backend.close()));
});

const failure = (code: number): string => `HTTP/1.1 ${code} No\r\ncontent-length: 2\r\n\r\nno`;

async function stage(settings: object, script: BackendScript, more: Record<string, unknown> = {}) {
  const backend = await RawBackend.start(script);
  backends.push(backend);
  const plane = await TestPlane.start({
    routes: [{ to: backend.port, policies: { retry: policySchemas.retry.parse(settings), ...more } }],
  });
  planes.push(plane);
  return { backend, plane };
}

/** Answers by number of the request. */
const answers =
  (...texts: string[]): NonNullable<BackendScript['onRequest']> =>
  (_request, connection, index) =>
    connection.send(texts[Math.min(index, texts.length - 1)] as string);

const twice = { codes: [503], attempts: 2 };

test('an answer with one of the codes is not shown, and the next try answers', async () => {
  const { plane, backend } = await stage(
    { ...twice, attempts: 3 },
    { onRequest: answers(failure(503), failure(503), ok('yes')) },
  );
  const reply = await plane.ask(get('/a?b', 'x-one: 1'));
  assert.equal(reply.body.toString(), 'yes');
  assert.deepEqual(
    backend.requests.map(({ start }) => start),
    new Array(3).fill('GET /a?b HTTP/1.1'),
  );
  assert.deepEqual(new Set(backend.requests.map(({ lines }) => JSON.stringify(lines))).size, 1);
  assert.equal(plane.access.at(-1)?.extra?.['tries'], 3);
  assert.match(await plane.metricsText(), /portcullis_retries_total\{[^}]*result="made"[^}]*\} 2/);
});

test('after the last try its answer is shown, whatever it is', async () => {
  const { plane, backend } = await stage(twice, { onRequest: answers(failure(503)) });
  const reply = await plane.ask(get('/'));
  assert.equal(status(reply), 503);
  assert.equal(reply.body.toString(), 'no');
  assert.equal(backend.requests.length, 2);
});

test('other answers are shown at once', async () => {
  const { plane, backend } = await stage(twice, { onRequest: answers(failure(500)) });
  assert.equal(status(await plane.ask(get('/'))), 500);
  assert.equal(backend.requests.length, 1);
});

test('a body is sent again as it came, in one piece or in many, chunked or not', async () => {
  const { plane, backend } = await stage(twice, {
    onRequest: (_request, connection, index) => connection.send(index % 2 === 0 ? failure(503) : ok('yes')),
  });
  assert.equal((await plane.ask(post('a body'))).body.toString(), 'yes');
  const client = await plane.client();
  client.send('POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n');
  await backend.until('the head is there', () => [...backend.connections].some(({ headSeen }) => headSeen));
  client.send('4\r\ndefg\r\n0\r\n\r\n');
  assert.equal((await client.answer()).body.toString(), 'yes');
  assert.deepEqual(
    backend.requests.map(({ body }) => body.toString()),
    ['a body', 'a body', 'abcdefg', 'abcdefg'],
  );
});

test('an answer that comes before the body is complete is tried again with the whole body', async () => {
  let heads = 0;
  const { plane, backend } = await stage(twice, {
    onHead: (connection) => {
      if (heads++ === 0) connection.send(failure(503));
    },
    onRequest: (_request, connection) => connection.send(ok('yes')),
  });
  const client = await plane.client();
  client.send('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 6\r\n\r\nabc');
  await backend.until('the second try has begun', () => heads === 2);
  client.send('def');
  assert.equal((await client.answer()).body.toString(), 'yes');
  assert.deepEqual(
    backend.requests.map(({ body }) => body.toString()),
    ['abcdef'],
  );
  assert.equal((await client.ask(get('/'))).body.toString(), 'yes');
});

test('a body over the limit is forwarded, and its request not tried again', async () => {
  const { plane, backend } = await stage(
    { ...twice, maxBodyBytes: 1_000 },
    { onRequest: answers(failure(503), ok('yes')) },
  );
  assert.equal(status(await plane.ask(post('x'.repeat(1_001)))), 503);
  assert.equal(backend.requests.length, 1);
  assert.equal(backend.requests[0]?.body.length, 1_001);
});

test('a backend that cannot be reached is tried again, for every method', async () => {
  const dead = createServer().listen(0, '127.0.0.1');
  await once(dead, 'listening');
  const { port } = dead.address() as AddressInfo;
  dead.close();
  await once(dead, 'close');
  const plane = await TestPlane.start({
    routes: [{ to: port, policies: { retry: policySchemas.retry.parse({ ...twice, attempts: 3 }) } }],
  });
  planes.push(plane);
  assert.equal(status(await plane.ask(post('a'))), 503);
  assert.equal(plane.access.at(-1)?.extra?.['tries'], 3);
  assert.equal(plane.access.at(-1)?.error, 'upstream_connect_failed');
});

test('a connection that breaks before an answer is tried again where that does no harm', async () => {
  const script: BackendScript = {
    onRequest: (_request, connection, index) => {
      if (index % 2 === 0) connection.reset();
      else connection.send(ok('yes'));
    },
  };
  const careful = await stage(twice, script);
  assert.equal((await careful.plane.ask(get('/'))).body.toString(), 'yes');
  assert.equal(status(await careful.plane.ask(post('a'))), 503);
  assert.equal(careful.backend.requests.length, 3);
  const told = await stage({ ...twice, precondition: 'request.method == "POST"' }, script);
  assert.equal((await told.plane.ask(post('a'))).body.toString(), 'yes');
});

test('a try that takes too long is given up, and the next one answers', async () => {
  const { plane } = await stage(
    twice,
    { onRequest: (_request, connection, index) => void (index === 1 && connection.send(ok('yes'))) },
    { timeout: { backendRequestTimeout: 1_000 } },
  );
  assert.equal((await plane.ask(get('/'))).body.toString(), 'yes');
});

test('the last try that takes too long ends with 504, and so does the time of the whole request', async () => {
  const silent: BackendScript = { onRequest: () => undefined };
  const each = await stage(twice, silent, { timeout: { backendRequestTimeout: 1_000 } });
  assert.equal(status(await each.plane.ask(get('/'))), 504);
  assert.equal(each.backend.requests.length, 2);
  const whole = await stage(
    { ...twice, attempts: 10, backoff: '10s' },
    { onRequest: answers(failure(503)) },
    { timeout: { requestTimeout: 1_000 } },
  );
  assert.equal(status(await whole.plane.ask(get('/'))), 504);
  assert.equal(whole.backend.requests.length, 1, 'the pause outlasts the time of the request');
});

test('an answer that has begun is not tried again', async () => {
  const { plane, backend } = await stage(twice, {
    onRequest: (_request, connection) => {
      connection.send('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf');
      setImmediate(() => connection.reset());
    },
  });
  await assert.rejects(plane.ask(get('/')), /ended/);
  assert.equal(backend.requests.length, 1);
});

test('nonsense instead of an answer is not asked for again', async () => {
  const { plane, backend } = await stage(twice, {
    onRequest: (_request, connection) => connection.send('nonsense\r\n\r\n'),
  });
  assert.equal(status(await plane.ask(get('/'))), 502);
  assert.equal(backend.requests.length, 1);
});

test('the budget ends further tries, and the answer that there is goes to the client', async () => {
  const { plane, backend } = await stage(
    { ...twice, budget: { percent: 0, minRetryRate: 0.2 } },
    { onRequest: answers(failure(503)) },
  );
  for (let i = 0; i < 5; i++) assert.equal(status(await plane.ask(get('/'))), 503);
  assert.equal(backend.requests.length, 7, 'five requests and two further tries');
  assert.match(await plane.metricsText(), /portcullis_retries_total\{[^}]*result="refused"[^}]*\} 3/);
});

test('a client that leaves between two tries ends them', async () => {
  const { plane, backend } = await stage({ ...twice, backoff: '10s' }, { onRequest: answers(failure(503)) });
  const client = await plane.client();
  client.send(get('/'));
  await backend.until('the first try has failed', () => backend.requests.length === 1);
  client.close();
  while (plane.connections > 0) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(backend.requests.length, 1);
});

test('a kept connection serves further requests after tries', async () => {
  const { plane } = await stage(twice, {
    onRequest: (_request, connection, index) =>
      connection.send(index % 2 === 0 ? failure(503) : ok(`${index}`)),
  });
  const client = await plane.client();
  for (let i = 0; i < 10; i++) assert.equal((await client.ask(get('/'))).body.toString(), String(2 * i + 1));
  client.send(Array.from({ length: 5 }, () => post('x')).join(''));
  for (let i = 10; i < 15; i++) assert.equal((await client.answer()).body.toString(), String(2 * i + 1));
});
