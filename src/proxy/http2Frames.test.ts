/** Frames out of order end the connection, and large bodies cross whole. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type ClientHttp2Stream } from 'node:http2';
import { test, type TestContext } from 'node:test';
import { TestPlane } from './dataPlane.testing.ts';
import { frame } from '../http/frame.testing.ts';
import { END_HEADERS, END_STREAM, HEADERS, PING, preface, request } from './http2Floods.testing.ts';
import { until } from './until.testing.ts';
import { get, ok, RawBackend, status, type BackendScript } from './wire.testing.ts';

const DATA = 0;
const PRIORITY = 2;
const RST_STREAM = 3;
const GOAWAY = 7;
const ACK = 1;
const PROTOCOL_ERROR = 1;
const STREAM_CLOSED = 5;

const hello: BackendScript = { onRequest: (_request, connection) => connection.send(ok('hello')) };

async function start(t: TestContext, script: BackendScript): Promise<TestPlane> {
  const backend = await RawBackend.start(script);
  const plane = await TestPlane.start({ routes: [{ to: backend.port }] });
  t.after(async () => {
    plane.close();
    await backend.close();
  });
  return plane;
}

/** The code of the GOAWAY among these frames. */
function goodbye(bytes: Buffer): number | undefined {
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3))
    if (bytes[at + 3] === GOAWAY) return bytes.readUInt32BE(at + 13);
  return undefined;
}

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
