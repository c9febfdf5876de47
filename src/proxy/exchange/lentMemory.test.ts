import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { connect } from 'node:http2';
import { request as requestTls } from 'node:https';
import type { Readable } from 'node:stream';
import { test } from 'node:test';
import type { ServerTls } from '../../model/index.ts';
import { until } from '../../until.testing.ts';
import { authority, listenerTls } from '../certificates.testing.ts';
import { TestPlane } from '../dataPlane.testing.ts';
import { get } from '../wire.testing.ts';

const pieceBytes = 65_536;

/** A gateway whose handler overwrites each piece of its stream as soon as it gets the memory back. */
async function start(pieces: number, tls?: ServerTls) {
  const state = { released: 0, again: false };
  const plane = await TestPlane.start({
    listeners: [
      {
        ...(tls && { tls }),
        routes: [
          {
            handler: (_request, reply) => {
              const stream = reply.open(200, []);
              for (let n = 0; n < pieces; n++) {
                const piece = Buffer.alloc(pieceBytes, 1 + (n % 255));
                let isReleased = false;
                stream.write(piece, () => {
                  if (isReleased) state.again = true;
                  isReleased = true;
                  state.released++;
                  piece.fill(0);
                });
              }
              stream.end();
            },
          },
        ],
      },
    ],
  });
  return { plane, state };
}

const expected = (pieces: number): Buffer =>
  Buffer.concat(Array.from({ length: pieces }, (_, n) => Buffer.alloc(pieceBytes, 1 + (n % 255))));

async function bodyOf(stream: Readable): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

const ca = authority();

const clients: Readonly<Record<string, (port: number) => Promise<Buffer>>> = {
  'HTTP/1.1': async (port) => {
    const [answer] = (await once(request({ port }).end(), 'response')) as [IncomingMessage];
    return await bodyOf(answer);
  },
  'HTTP/1.1 over TLS': async (port) => {
    const sent = requestTls({ port, host: '127.0.0.1', servername: 'app.test', ca: ca.cert, agent: false });
    const [answer] = (await once(sent.end(), 'response')) as [IncomingMessage];
    return await bodyOf(answer);
  },
  'HTTP/2': async (port) => {
    const session = connect(`http://127.0.0.1:${port}`);
    const body = await bodyOf(session.request({ ':path': '/', ':authority': 'app.test' }));
    session.destroy();
    return body;
  },
};

for (const [protocol, ask] of Object.entries(clients))
  test(`a stream over ${protocol} gives the memory of a piece back once its bytes are written`, async (t) => {
    const pieces = 64;
    const tls = listenerTls(ca.issue({ names: ['app.test'] }), 'TLSv1.2');
    const { plane, state } = await start(pieces, protocol.endsWith('TLS') ? tls : undefined);
    t.after(() => plane.close());
    const body = await ask(plane.port);
    assert.ok(body.equals(expected(pieces)), 'the client got bytes of another owner');
    await until('all memory is back', () => state.released === pieces);
    assert.equal(state.again, false);
  });

test('a client that reads nothing keeps the memory of what it has yet to get', async (t) => {
  // More than the buffers of the system hold.
  const pieces = 512;
  const { plane, state } = await start(pieces);
  t.after(() => plane.close());
  const client = await plane.client();
  client.socket.pause();
  client.send(get());
  await until('the stream is written', () => state.released > 0);
  assert.ok(state.released < pieces);
  client.socket.resume();
  assert.ok((await client.answer()).body.equals(expected(pieces)));
  await until('all memory is back', () => state.released === pieces);
});

test('a stream whose answer has no body gives all memory back at once', async (t) => {
  const pieces = 2;
  const { plane, state } = await start(pieces);
  t.after(() => plane.close());
  const client = await plane.client();
  await client.ask('HEAD / HTTP/1.1\r\nhost: a\r\n\r\n', true);
  assert.equal(state.released, pieces);
});
