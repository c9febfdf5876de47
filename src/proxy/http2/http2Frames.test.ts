/** Frames out of order end the connection, and large bodies cross whole. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type ClientHttp2Stream } from 'node:http2';
import { test, type TestContext } from 'node:test';
import { defaults, type Limits } from '../../model/index.ts';
import { TestPlane } from '../dataPlane.testing.ts';
import { frame } from '../../http/frame.testing.ts';
import { END_HEADERS, END_STREAM, HEADERS, PING, preface, request } from './http2Floods.testing.ts';
import { until } from '../../until.testing.ts';
import { get, ok, RawBackend, status, type BackendScript } from '../wire.testing.ts';

const DATA = 0;
const PRIORITY = 2;
const RST_STREAM = 3;
const SETTINGS = 4;
const GOAWAY = 7;
const WINDOW_UPDATE = 8;
const ACK = 1;
const PROTOCOL_ERROR = 1;
const STREAM_CLOSED = 5;

const hello: BackendScript = { onRequest: (_request, connection) => connection.send(ok('hello')) };

async function start(
  t: TestContext,
  script: BackendScript,
  limits: Partial<Limits> = {},
): Promise<TestPlane> {
  const backend = await RawBackend.start(script);
  const plane = await TestPlane.start({ limits, routes: [{ to: backend.port }] });
  t.after(async () => {
    plane.close();
    await backend.close();
  });
  return plane;
}

/** The payloads of the whole frames of a type among these bytes. */
function framesOf(bytes: Buffer, type: number): Buffer[] {
  const payloads: Buffer[] = [];
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
    const end = at + 9 + bytes.readUIntBE(at, 3);
    if (bytes[at + 3] === type && end <= bytes.length) payloads.push(bytes.subarray(at + 9, end));
  }
  return payloads;
}

/** The code of the GOAWAY among these frames. */
const goodbye = (bytes: Buffer): number | undefined => framesOf(bytes, GOAWAY)[0]?.readUInt32BE(4);

const open = frame(HEADERS, END_HEADERS, 1, request(3));
const whole = (stream: number): Buffer => frame(HEADERS, END_HEADERS | END_STREAM, stream, request(2));
const dependency = (stream: number): Buffer => Buffer.from([0, 0, 0, stream, 0]);

const wrong: readonly (readonly [what: string, frames: readonly Buffer[], code: number])[] = [
  ['DATA behind the end of its stream', [whole(1), frame(DATA, 0, 1)], STREAM_CLOSED],
  ['a head behind the end of its stream', [whole(1), whole(1)], STREAM_CLOSED],
  ['DATA behind a reset', [open, frame(RST_STREAM, 0, 1, Buffer.alloc(4)), frame(DATA, 0, 1)], STREAM_CLOSED],
  ['a stream that was passed over', [whole(5), whole(3)], PROTOCOL_ERROR],
  ['PRIORITY for the connection', [frame(PRIORITY, 0, 0, dependency(1))], PROTOCOL_ERROR],
  ['PRIORITY of a stream before itself', [frame(PRIORITY, 0, 3, dependency(3))], PROTOCOL_ERROR],
];

for (const [what, frames, code] of wrong)
  test(`the connection ends with an error for ${what}`, async (t) => {
    const plane = await start(t, hello);
    const client = await plane.client();
    client.send(Buffer.concat([preface, ...frames]));
    await client.closed();
    assert.equal(goodbye(client.inbox.bytes), code);
    await until('the connection is gone', () => plane.connections === 0);
    assert.equal(status(await plane.ask(get())), 200);
  });

test('an acknowledgement of no PING changes nothing', async (t) => {
  const plane = await start(t, hello);
  const client = await plane.client();
  client.send(Buffer.concat([preface, frame(PING, ACK, 0, Buffer.alloc(8)), whole(1)]));
  await until('the request is answered', () => plane.access.length === 1);
  assert.equal(client.ending, 'open');
});

async function content(stream: ClientHttp2Stream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(stream, 'end');
  return Buffer.concat(chunks);
}

test('large bodies cross in both directions, on many streams at a time', async (t) => {
  const plane = await start(t, {
    onRequest: ({ body }, connection) =>
      connection.send(
        Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`), body]),
      ),
  });
  const session = connect(`http://127.0.0.1:${plane.port}`);
  t.after(() => session.destroy());
  const sent = Array.from({ length: 8 }, () => randomBytes(700_000));
  const received = await Promise.all(
    sent.map((body) => {
      const stream = session.request({ ':method': 'POST', ':path': '/', ':authority': 'app.test' });
      stream.end(body);
      return content(stream);
    }),
  );
  for (const [i, body] of received.entries()) assert.ok(body.equals(sent[i] as Buffer));
});

test('a client that reads nothing for a while holds its backend back, and gets all of it', async (t) => {
  const large = Buffer.alloc(30_000_000, 'a');
  let taken = false;
  const plane = await start(t, {
    onRequest: (_request, connection) => {
      connection.send(`HTTP/1.1 200 OK\r\ncontent-length: ${large.length}\r\n\r\n`);
      connection.socket.write(large, () => (taken = true));
    },
  });
  const session = connect(`http://127.0.0.1:${plane.port}`);
  t.after(() => session.destroy());
  const stream = session.request({ ':path': '/', ':authority': 'app.test' });
  await once(stream, 'response');
  assert.equal(taken, false);
  assert.equal((await content(stream)).length, large.length);
});

test('a drain lets the streams of such a connection end, too', async (t) => {
  const plane = await start(t, hello);
  const session = connect(`http://127.0.0.1:${plane.port}`);
  const stream = session.request({ ':path': '/', ':authority': 'app.test' });
  assert.equal((await content(stream)).toString(), 'hello');
  const closed = once(session, 'close');
  await plane.plane.drain();
  await closed;
});

test('a malformed request is reset and logged, and the others go on', async (t) => {
  const plane = await start(t, hello);
  const client = await plane.client();
  const odd = Buffer.concat([request(2), Buffer.from('\0\x03x-a\x03b\rc', 'latin1')]);
  client.send(Buffer.concat([preface, frame(HEADERS, END_HEADERS | END_STREAM, 1, odd), whole(3)]));
  await until('both are logged', () => plane.access.length === 2);
  const [malformed, sound] = plane.access;
  assert.deepEqual([malformed?.status, malformed?.error], [0, 'bad_request']);
  assert.match(malformed?.reason ?? '', /field value/);
  assert.equal(sound?.status, 200);
  assert.equal(client.ending, 'open');
});

test('a body that is not as long as it says resets its stream, which the log explains', async (t) => {
  const plane = await start(t, hello);
  const client = await plane.client();
  const length = Buffer.from('\0\x0econtent-length\x015', 'latin1');
  const post = Buffer.concat([request(3), length]);
  client.send(
    Buffer.concat([
      preface,
      frame(HEADERS, END_HEADERS, 1, post),
      frame(DATA, END_STREAM, 1, Buffer.from('four')),
      whole(3),
    ]),
  );
  await until('both are logged', () => plane.access.length === 2);
  const short = plane.access.find(({ method }) => method === 'POST');
  assert.deepEqual([short?.status, short?.error], [0, 'bad_framing']);
  assert.match(short?.reason ?? '', /less than content-length/);
  assert.equal(client.ending, 'open');
});

test('a WebSocket of a length is a body, which is as long as it says', async (t) => {
  const plane = await start(t, hello);
  const client = await plane.client();
  const connect = Buffer.concat([
    Buffer.from('\0\x07:method\x07CONNECT\0\x09:protocol\x09websocket', 'latin1'),
    request(3).subarray(1),
    Buffer.from('\0\x0econtent-length\x015', 'latin1'),
  ]);
  client.send(
    Buffer.concat([
      preface,
      frame(HEADERS, END_HEADERS, 1, connect),
      frame(DATA, END_STREAM, 1, Buffer.from('four')),
    ]),
  );
  await until('it is logged', () => plane.access.length === 1);
  assert.deepEqual([plane.access[0]?.status, plane.access[0]?.error], [0, 'bad_framing']);
});

test('the last request of a connection is exact: what comes behind it is for another one', async (t) => {
  const plane = await start(t, hello, { maxRequestsPerConnection: 2 });
  const client = await plane.client();
  client.send(Buffer.concat([preface, whole(1), whole(3), whole(5)]));
  await client.closed();
  assert.equal(goodbye(client.inbox.bytes), 0);
  assert.equal(plane.access.length, 2);
  assert.match(await plane.metricsText(), /connections_ended_total\{reason="requests"\} 1/);
});

test('a connection with nothing under way ends in two steps', async (t) => {
  const plane = await start(t, hello, { idleTimeoutMs: 1 });
  const client = await plane.client();
  client.send(Buffer.concat([preface, whole(1)]));
  const lastOf = (payload: Buffer): number => payload.readUInt32BE(0);
  const goodbyes = (): number[] => framesOf(client.inbox.bytes, GOAWAY).map(lastOf);
  await until('the first step is there', () => goodbyes().length === 1);
  // On its way when the client hears of it: served.
  client.send(whole(3));
  const [ping] = framesOf(client.inbox.bytes, PING);
  client.send(frame(PING, ACK, 0, ping));
  await client.closed();
  assert.deepEqual(goodbyes(), [2 ** 31 - 1, 3]);
  assert.equal(plane.access.length, 2);
});

test('a connection of HTTP/2 without a request is told to go long before its idle time', async (t) => {
  const plane = await start(t, hello, { firstRequestTimeoutMs: 1, idleTimeoutMs: 3_600_000 });
  const client = await plane.client();
  client.send(preface);
  await client.closed();
  assert.equal(goodbye(client.inbox.bytes), 0);
  assert.match(await plane.metricsText(), /connections_ended_total\{reason="silent"\} 1/);
});

test('a head that never ends is not waited for', async (t) => {
  const plane = await start(t, hello, { headTimeoutMs: 1 });
  const client = await plane.client();
  client.send(Buffer.concat([preface, frame(HEADERS, END_STREAM, 1, request(2))]));
  assert.notEqual(await client.closed(), 'open');
});

test('a client that takes nothing of its answers loses its connection', async (t) => {
  const large = Buffer.alloc(30_000_000, 'a');
  const plane = await start(
    t,
    {
      onRequest: (_request, connection) => {
        connection.send(`HTTP/1.1 200 OK\r\ncontent-length: ${large.length}\r\n\r\n`);
        connection.socket.write(large);
      },
    },
    { bodyTimeoutMs: 300 },
  );
  const client = await plane.client();
  client.socket.pause();
  // Windows that hold all of it: what is left is the socket.
  const wide = Buffer.from([0, 4, 0x7f, 0xff, 0xff, 0xff]);
  const wider = Buffer.from([0x7f, 0, 0, 0]);
  client.send(Buffer.concat([preface, frame(4, 0, 0, wide), frame(8, 0, 0, wider), whole(1)]));
  await until('the stream is given up', () => plane.access.length === 1);
  assert.equal(plane.access[0]?.error, 'request_timeout');
  await until('and then the connection', () => plane.connections === 0);
});

test('frames that come a byte at a time are the same frames', async (t) => {
  const plane = await start(t, hello);
  const client = await plane.client();
  for (const byte of Buffer.concat([preface, whole(1), whole(3)])) {
    client.socket.write(Buffer.from([byte]));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await until('both are answered', () => plane.access.length === 2);
});

test('the rest of a request that was answered early is read briefly, then the stream is reset', async (t) => {
  const plane = await start(t, {
    onHead: (connection) => connection.send('HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno'),
  });
  const client = await plane.client();
  const resets = (): number[] =>
    framesOf(client.inbox.bytes, RST_STREAM).map((payload) => payload.readUInt32BE(0));
  client.send(Buffer.concat([preface, open, frame(HEADERS, END_HEADERS, 3, request(3))]));
  await until('both are answered', () => plane.access.length === 2);
  const piece = Buffer.alloc(16_000);
  client.send(Buffer.concat([frame(DATA, 0, 1, piece), frame(DATA, END_STREAM, 1, piece)]));
  // The other stream gets no more bytes and no end, so the test does not wait for it.
  await until('it is reset', () => resets().length > 0);
  assert.deepEqual(resets(), [0]);
  assert.equal(client.ending, 'open');
});

test('a slow client gets all of an answer that came before the end of its request', async (t) => {
  const plane = await start(
    t,
    { onHead: (connection) => connection.send('HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno') },
    { http2: { ...defaults.limits.http2, keepaliveIntervalMs: 1 } },
  );
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  const client = await plane.client();
  const none = frame(SETTINGS, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0]));
  client.send(Buffer.concat([preface, none, open]));
  await until('it is answered', () => plane.access.length === 1);
  t.mock.timers.tick(10_000);
  // A client that gets this PING was checked before.
  await client.find('a look', () => framesOf(client.inbox.bytes, PING)[0]);
  client.send(frame(WINDOW_UPDATE, 0, 1, Buffer.from([0, 0, 0, 9])));
  const body = await client.find('the body', () => framesOf(client.inbox.bytes, DATA)[0]);
  assert.equal(body.toString(), 'no');
  assert.deepEqual(framesOf(client.inbox.bytes, RST_STREAM), []);
});
