/** The codec and that of Node (nghttp2): what one of them writes the other one reads. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type ClientHttp2Session } from 'node:http2';
import { createServer, type AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import fc from 'fast-check';
import { MemoryConnection, type MemoryStream } from './memory.testing.ts';

type Fields = Record<string, string>;

interface Stage {
  readonly session: ClientHttp2Session;
  /** The requests, in the order in which they came. */
  readonly seen: MemoryStream[];
  /** The next answer. */
  answer: { text: string; body: Buffer; trailers: [string, string][] };
}

/** A server of ours, over pieces of so many bytes in both directions, and a client of Node's. */
async function start(t: TestContext, pieceBytes: number): Promise<Stage> {
  const stage = { seen: [] as MemoryStream[], answer: { text: '', body: Buffer.alloc(0), trailers: [] } };
  const server = createServer((socket) => {
    const connection = new MemoryConnection((one) => {
      stage.seen.push(one);
      one.stream.inbound.resume();
      const { text, body, trailers } = stage.answer;
      one.respond(text, false);
      one.stream.send(body, 0, body.length, false);
      one.stream.sendTrailers(trailers);
    });
    const flush = (): void => {
      for (let bytes = connection.bytes(); bytes.length > 0; bytes = connection.bytes())
        for (let at = 0; at < bytes.length; at += pieceBytes)
          socket.write(bytes.subarray(at, at + pieceBytes));
    };
    flush();
    socket.on('data', (bytes: Buffer) => {
      for (let at = 0; at < bytes.length; at += pieceBytes)
        connection.take(bytes.subarray(at, at + pieceBytes));
      flush();
    });
    socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  t.after(() => {
    session.destroy();
    server.close();
  });
  return Object.assign(stage, { session });
}

interface Answer {
  readonly head: Record<string, unknown>;
  readonly body: Buffer;
  readonly trailers: Record<string, unknown>;
}

async function ask(session: ClientHttp2Session, fields: Fields, body: Buffer): Promise<Answer> {
  const stream = session.request({ ':method': 'POST', ':path': '/', ':authority': 'app.test', ...fields });
  let head: Answer['head'] = {};
  let trailers: Answer['trailers'] = {};
  const chunks: Buffer[] = [];
  stream.on('response', (headers) => (head = Object.fromEntries(Object.entries(headers))));
  stream.on('trailers', (headers) => (trailers = Object.fromEntries(Object.entries(headers))));
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.end(body);
  await once(stream, 'close');
  assert.equal(stream.rstCode, 0);
  return { head, body: Buffer.concat(chunks), trailers };
}

const letter = fc.constantFrom(...'abcxyz0189-_');
const name = fc.array(letter, { minLength: 1, maxLength: 12 }).map((letters) => `x-${letters.join('')}`);
const value = fc
  .array(fc.integer({ min: 33, max: 126 }), { maxLength: 80 })
  .map((codes) => String.fromCharCode(...codes));
const long = fc.nat(1_900).map((length) => 'long '.repeat(length / 5).trim());
// A few names and values again and again: that is what tables are for.
const fields = fc.dictionary(
  fc.oneof(fc.constantFrom('accept', 'user-agent', 'x-known', 'authorization'), name),
  fc.oneof(fc.constantFrom('*/*', 'the same as ever', ''), value, long),
  { maxKeys: 8, noNullPrototype: true },
);

const linesOf = (given: Fields): string =>
  Object.entries(given)
    .map(([key, text]) => `${key}: ${text}\r\n`)
    .join('');

for (const [pieceBytes, runs] of [
  [65_536, 300],
  [1, 40],
] as const)
  test(`heads, bodies and trailers cross as they are, in pieces of ${pieceBytes}`, async (t) => {
    const stage = await start(t, pieceBytes);
    await fc.assert(
      fc.asyncProperty(
        fields,
        fields,
        fields,
        fc.nat(40_000),
        fc.integer({ min: 200, max: 599 }).filter((status) => status !== 204 && status !== 304),
        async (request, response, trailers, length, status) => {
          const body = Buffer.alloc(length, 'abcdefg');
          const own = Object.fromEntries(Object.entries(trailers).map(([key, text]) => [`${key}-t`, text]));
          stage.answer = {
            text: `HTTP/1.1 ${status} X\r\n${linesOf(response)}\r\n`,
            body,
            trailers: Object.entries(own),
          };
          const got = await ask(stage.session, request, body);
          const { ':status': said, ...head } = got.head;
          assert.equal(said, status);
          assert.deepEqual(head, response);
          assert.deepEqual(got.trailers, own);
          assert.ok(got.body.equals(body));
          const seen = stage.seen.at(-1);
          assert.ok(seen !== undefined);
          assert.equal(seen.body, body.toString());
          assert.deepEqual(
            seen.request?.text.split('\r\n').slice(2, -3).toSorted(),
            linesOf(request).split('\r\n').slice(0, -1).toSorted(),
          );
        },
      ),
      { numRuns: runs },
    );
  });
