import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { TestPlane } from './dataPlane.testing.ts';

const CHUNK = 20_000;
const CHUNKS = 200;

/** Answers `GET /A` with chunks full of the letter A; several of them fit into one read. */
async function letterBackend(): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      const letter = /^GET \/(.)/.exec(bytes.toString('latin1'))?.[1] ?? '?';
      const chunk = Buffer.concat([
        Buffer.from(`${CHUNK.toString(16)}\r\n`),
        Buffer.alloc(CHUNK, letter),
        Buffer.from('\r\n'),
      ]);
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      for (let i = 0; i < CHUNKS; i++) socket.write(chunk);
      socket.write('0\r\n\r\n');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

// HTTP/1.0 knows no chunks: one read of the backend becomes several writes to the client.
test('large answers to HTTP/1.0 clients do not mix', async () => {
  const plane = await TestPlane.start({ routes: [{ to: await letterBackend() }] });
  after(() => plane.close());
  const ask = async (letter: string): Promise<void> => {
    const { body } = await plane.ask(`GET /${letter} HTTP/1.0\r\nHost: a\r\n\r\n`);
    assert.equal(body.length, CHUNK * CHUNKS);
    assert.ok(body.equals(Buffer.alloc(body.length, letter)), `bytes of other answers in that of ${letter}`);
  };
  for (let round = 0; round < 5; round++) await Promise.all(['A', 'B', 'C', 'D', 'E', 'F'].map(ask));
});
