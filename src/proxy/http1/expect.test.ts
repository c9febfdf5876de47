import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestPlane } from '../dataPlane.testing.ts';
import { field, get, ok, RawBackend, status } from '../wire.testing.ts';

const expecting = (length: number, ...lines: string[]): string =>
  `POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: ${length}\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;

async function setUp(script: Parameters<typeof RawBackend.start>[0] = {}) {
  const backend = await RawBackend.start({
    onRequest: (request, connection) => connection.send(ok(request.body.toString())),
    ...script,
  });
  const plane = await TestPlane.start({
    routes: [
      { to: backend.port },
      { prefix: '/refused', policies: { directResponse: { status: 403, body: 'no', headers: {} } } },
    ],
  });
  return { backend, plane };
}

test('a client that waits for leave gets it from the gateway, and the backend sees no expectation', async () => {
  const { backend, plane } = await setUp();
  const client = await plane.client();
  client.send(expecting(5));
  assert.equal((await client.answer()).start, 'HTTP/1.1 100 Continue');
  client.send('hello');
  assert.equal((await client.answer()).body.toString(), 'hello');
  assert.equal(field(backend.requests[0] ?? (await client.answer()), 'expect'), undefined);
  assert.equal((await client.ask(get())).start, 'HTTP/1.1 200 OK');
  plane.close();
  await backend.close();
});

test('a client that does not wait is not asked to go on', async () => {
  const { backend, plane } = await setUp();
  const answer = await plane.ask(`${expecting(5)}hello`);
  assert.equal(answer.start, 'HTTP/1.1 200 OK');
  plane.close();
  await backend.close();
});

test('a request without a body has nothing to wait for', async () => {
  const { backend, plane } = await setUp();
  assert.equal((await plane.ask(expecting(0))).start, 'HTTP/1.1 200 OK');
  plane.close();
  await backend.close();
});

test('a backend’s own 100 does not come twice', async () => {
  const { backend, plane } = await setUp({
    onHead: (connection) => connection.send('HTTP/1.1 100 Continue\r\n\r\n'),
  });
  const client = await plane.client();
  client.send(expecting(2));
  assert.equal(status(await client.answer()), 100);
  client.send('ab');
  assert.equal(status(await client.answer()), 200);
  plane.close();
  await backend.close();
});

test('a refusal comes instead of the leave, and ends the connection: the body may or may not follow', async () => {
  const { backend, plane } = await setUp();
  const client = await plane.client();
  const answer = await client.ask(expecting(5).replace('POST /', 'POST /refused'));
  assert.equal(status(answer), 403);
  assert.equal(field(answer, 'connection'), 'close');
  client.send('hello');
  assert.equal(await client.closed(), 'fin');
  assert.equal(client.text, '');
  assert.equal(backend.requests.length, 0);
  plane.close();
  await backend.close();
});

test('HTTP/1.0 cannot expect: it is sent no interim answer', async () => {
  const { backend, plane } = await setUp();
  const client = await plane.client();
  client.send('POST / HTTP/1.0\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n');
  await backend.until('the head is at the backend', () => [...backend.connections].some((c) => c.headSeen));
  client.send('hello');
  assert.equal((await client.answer()).start, 'HTTP/1.1 200 OK');
  plane.close();
  await backend.close();
});

test('an unknown expectation is refused', async () => {
  const { backend, plane } = await setUp();
  assert.equal(status(await plane.ask(get('/', 'Expect: tea'))), 417);
  plane.close();
  await backend.close();
});
