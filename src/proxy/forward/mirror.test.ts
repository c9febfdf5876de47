import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { policySchemas } from '../../policies/index.ts';
import { TestPlane } from '../dataPlane.testing.ts';
import { freePorts } from '../ports.testing.ts';
import { until } from '../../until.testing.ts';
import { field, get, ok, post, RawBackend, type BackendScript } from '../wire.testing.ts';

const planes: TestPlane[] = [];
const backends: RawBackend[] = [];
afterEach(async () => {
  for (const plane of planes.splice(0)) plane.close();
  await Promise.all(backends.splice(0).map((backend) => backend.close()));
});

const answer: BackendScript = { onRequest: (_request, connection) => connection.send(ok('real')) };

async function backendOf(script: BackendScript): Promise<RawBackend> {
  const backend = await RawBackend.start(script);
  backends.push(backend);
  return backend;
}

async function planeTo(
  backend: RawBackend,
  mirrors: unknown,
  more: Record<string, unknown> = {},
): Promise<TestPlane> {
  const requestMirror = policySchemas.requestMirror.parse(mirrors);
  const plane = await TestPlane.start({
    routes: [{ to: backend.port, policies: { requestMirror, ...more } }],
  });
  planes.push(plane);
  return plane;
}

const at = (port: number, percentage = 1) => ({ backend: { host: `127.0.0.1:${port}` }, percentage });

test('a copy with head and body goes to the mirror, and its response is ignored', async () => {
  const real = await backendOf(answer);
  const mirror = await backendOf({
    onRequest: (_request, connection) =>
      connection.send('HTTP/1.1 500 No\r\nx-mirror: 1\r\ncontent-length: 6\r\n\r\nmirror'),
  });
  const plane = await planeTo(real, at(mirror.port));
  const reply = await plane.ask(post('a body', 'x-one: 1'));
  assert.equal(reply.body.toString(), 'real');
  assert.equal(field(reply, 'x-mirror'), undefined);
  await mirror.until('the copy is there', () => mirror.requests.length === 1);
  const [original] = real.requests;
  const [copy] = mirror.requests;
  assert.deepEqual(copy?.lines, original?.lines);
  assert.equal(copy?.start, original?.start);
  assert.equal(copy?.body.toString(), 'a body');
  await until('the answer of the mirror is through', () => plane.upstreamConnections === 2);
  assert.equal((await plane.ask(get('/second'))).body.toString(), 'real');
  await mirror.until('the second copy is there', () => mirror.requests.length === 2);
  assert.equal(mirror.accepted, 1, 'the connection to the mirror is kept');
});

test('several mirrors get copies, each its share', async () => {
  const real = await backendOf(answer);
  const all = await backendOf(answer);
  const none = await backendOf(answer);
  const half = await backendOf(answer);
  const plane = await planeTo(real, [at(all.port), at(none.port, 0), at(half.port, 0.5)]);
  const client = await plane.client();
  for (let i = 0; i < 200; i++) await client.ask(get('/'));
  await all.until('all copies are there', () => all.requests.length === 200);
  assert.equal(none.accepted, 0);
  assert.ok(half.requests.length > 50 && half.requests.length < 150, String(half.requests.length));
});

test('a mirror that is not there, breaks off or talks nonsense changes nothing and is counted', async () => {
  const real = await backendOf(answer);
  const broken = await backendOf({ onRequest: (_request, connection) => connection.reset() });
  const mad = await backendOf({ onRequest: (_request, connection) => connection.send('nonsense\r\n\r\n') });
  const [dead = 0] = await freePorts(1);
  const plane = await planeTo(real, [at(dead), at(broken.port), at(mad.port)]);
  for (let i = 0; i < 3; i++) assert.equal((await plane.ask(post('a'))).body.toString(), 'real');
  let text = '';
  for (let i = 0; i < 500 && !/mirrored_requests_total\{[^}]*failed[^}]*\} 9/.test(text); i++) {
    text = await plane.metricsText();
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.match(text, /portcullis_mirrored_requests_total\{[^}]*result="failed"[^}]*\} 9/);
});

test('a stalled mirror does not slow requests down, and its queue is bounded', async () => {
  const real = await backendOf(answer);
  const stuck = await backendOf({ onConnection: (connection) => void connection.socket.pause() });
  const plane = await planeTo(real, at(stuck.port));
  const size = 24 * 1_048_576;
  const client = await plane.client();
  client.send(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${size}\r\n\r\n`);
  const piece = Buffer.alloc(1_048_576, 120);
  for (let sent = 0; sent < size; sent += piece.length) client.send(piece);
  assert.equal((await client.answer()).body.toString(), 'real');
  assert.equal(real.requests[0]?.body.length, size);
  await until('the copy is given up', () => plane.upstreamConnections === 1);
});

test('a client that leaves in the middle of its body ends the copy, too', async () => {
  const real = await backendOf(answer);
  const mirror = await backendOf(answer);
  const plane = await planeTo(real, at(mirror.port));
  const client = await plane.client();
  client.send('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhalf');
  await mirror.until('the copy has begun', () => [...mirror.connections].some(({ headSeen }) => headSeen));
  client.close();
  await mirror.until('the copy is given up', () => mirror.connections.size === 0);
  assert.equal(mirror.requests.length, 0);
});

test('requests that ask for another protocol are not copied', async () => {
  const real = await backendOf(answer);
  const mirror = await backendOf(answer);
  const plane = await planeTo(real, at(mirror.port));
  await plane.ask(get('/', 'connection: upgrade', 'upgrade: websocket', 'sec-websocket-key: abc'));
  assert.equal(mirror.accepted, 0);
});

test('a request that is tried again is copied once', async () => {
  const real = await backendOf({
    onRequest: (_request, connection, index) =>
      connection.send(index === 0 ? 'HTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n' : ok('real')),
  });
  const mirror = await backendOf(answer);
  const retry = policySchemas.retry.parse({ codes: [503], attempts: 2 });
  const plane = await planeTo(real, at(mirror.port), { retry });
  assert.equal((await plane.ask(post('a'))).body.toString(), 'real');
  await mirror.until('the copy is there', () => mirror.requests.length === 1);
  assert.equal(real.requests.length, 2);
  assert.equal(mirror.requests.length, 1);
});
