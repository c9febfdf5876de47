import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { TestPlane } from '../dataPlane.testing.ts';
import { until } from '../../until.testing.ts';
import { field, get, ok, RawBackend, status } from '../wire.testing.ts';

const hash = (data: Buffer): string => createHash('sha256').update(data).digest('hex');

/** Answers whatever head it gets with `answer`, as fast as it is taken. */
async function bulkBackend(answer: Buffer) {
  const written = { bytes: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', () => {
      let at = 0;
      const pump = (): void => {
        while (at < answer.length) {
          const to = Math.min(answer.length, at + 65_536);
          const more = socket.write(answer.subarray(at, to));
          written.bytes += to - at;
          at = to;
          if (!more) {
            socket.once('drain', pump);
            return;
          }
        }
      };
      pump();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { port: (server.address() as AddressInfo).port, written, sockets };
}

const big = randomBytes(20_000_000);
const framings: readonly (readonly [name: string, answer: Buffer])[] = [
  [
    'of known length',
    Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${big.length}\r\n\r\n`), big]),
  ],
  [
    'in chunks',
    Buffer.concat([
      Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'),
      ...Array.from({ length: 200 }, (_, i) => [
        Buffer.from('186a0\r\n'),
        big.subarray(i * 100_000, (i + 1) * 100_000),
        Buffer.from('\r\n'),
      ]).flat(),
      Buffer.from('0\r\n\r\n'),
    ]),
  ],
];

for (const [name, answer] of framings) {
  test(`a client that reads slowly holds the backend back: 20 MB ${name}`, async () => {
    const backend = await bulkBackend(answer);
    const plane = await TestPlane.start({ routes: [{ to: backend.port }] });
    const client = await plane.client();
    client.socket.pause();
    client.send(get());
    let before = -1;
    await until('the backend waits', () => {
      const waits = backend.written.bytes > 0 && backend.written.bytes === before;
      before = backend.written.bytes;
      return waits;
    });
    // Bytes on their way are in the kernel's buffers, not in ours.
    assert.ok(backend.written.bytes < answer.length, 'the backend was not held back');
    client.socket.resume();
    const reply = await client.answer();
    assert.equal(hash(reply.body), hash(big));
    assert.equal(plane.upstreamConnections, 1);
    // The connection to the backend is good for another one.
    client.send(get());
    assert.equal(hash((await client.answer()).body), hash(big));
    plane.close();
  });
}

test('a 20 MB answer crosses byte for byte for many clients at once', async () => {
  const backend = await bulkBackend((framings[0] as (typeof framings)[number])[1]);
  const plane = await TestPlane.start({ routes: [{ to: backend.port }] });
  const clients = await Promise.all(Array.from({ length: 6 }, () => plane.client()));
  // Some leave in the middle: their buffers must not come back under somebody else.
  const leaver = await plane.client();
  leaver.send(get());
  for (const client of clients) client.send(get());
  await leaver.find('a part', () => (leaver.inbox.length > 1_000_000 ? true : undefined));
  leaver.reset();
  const hashes = await Promise.all(clients.map(async (client) => hash((await client.answer()).body)));
  assert.deepEqual(new Set(hashes), new Set([hash(big)]));
  plane.close();
});

test('a 20 MB answer ends for an HTTP/1.0 client with the connection, chunks taken out', async () => {
  const backend = await bulkBackend((framings[1] as (typeof framings)[number])[1]);
  const plane = await TestPlane.start({ routes: [{ to: backend.port }] });
  const client = await plane.client();
  client.send('GET / HTTP/1.0\r\nhost: a\r\n\r\n');
  assert.equal(await client.closed(), 'fin');
  assert.equal(hash((await client.answer()).body), hash(big));
  plane.close();
});

test('chunks taken out for many HTTP/1.0 clients at once do not mix', async () => {
  // Several chunks in one read: each is written by itself, all lie in one buffer.
  const bodies = Array.from({ length: 8 }, () => randomBytes(6_000_000));
  const plane = await TestPlane.start({
    routes: await Promise.all(
      bodies.map(async (body, i) => {
        const pieces = [Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')];
        for (let at = 0; at < body.length; at += 20_000)
          pieces.push(Buffer.from('4e20\r\n'), body.subarray(at, at + 20_000), Buffer.from('\r\n'));
        const { port } = await bulkBackend(Buffer.concat([...pieces, Buffer.from('0\r\n\r\n')]));
        return { prefix: `/${i}`, to: port };
      }),
    ),
  });
  const read: string[] = [];
  // First as fast as can be, then with writes that have to wait while other connections read.
  for (const slowly of [false, true]) {
    const clients = await Promise.all(bodies.map(() => plane.client()));
    for (const [i, client] of clients.entries()) {
      if (slowly) client.socket.pause();
      client.send(`GET /${i} HTTP/1.0\r\nhost: a\r\n\r\n`);
    }
    if (slowly) await until('all answers are under way', () => plane.upstreamConnections === bodies.length);
    for (const client of clients) {
      client.socket.resume();
      read.push(hash((await client.answer()).body));
    }
  }
  assert.deepEqual(read, [...bodies, ...bodies].map(hash));
  plane.close();
});

test('5 MB cross in both directions at once, byte for byte', async () => {
  const body = randomBytes(5_000_000);
  const server = createServer((socket) => {
    // The body comes back as it comes in.
    let head = true;
    socket.on('error', () => undefined);
    socket.on('data', (bytes: Buffer) => {
      let rest = bytes;
      if (head) {
        head = false;
        const end = bytes.indexOf('\r\n\r\n');
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`);
        rest = bytes.subarray(end + 4);
      }
      if (rest.length > 0 && !socket.write(rest)) {
        socket.pause();
        socket.once('drain', () => socket.resume());
      }
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const plane = await TestPlane.start({ routes: [{ to: (server.address() as AddressInfo).port }] });
  const client = await plane.client();
  client.send(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n`);
  client.send(body);
  assert.equal(hash((await client.answer()).body), hash(body));
  plane.close();
  server.close();
});

test('a slow upload is held back to the pace of the backend, and arrives whole', async () => {
  const body = randomBytes(20_000_000);
  const backend = await RawBackend.start({
    onConnection: (connection) => connection.socket.pause(),
    onRequest: (request, connection) => connection.send(ok(hash(request.body))),
  });
  const plane = await TestPlane.start({ routes: [{ to: backend.port }] });
  const client = await plane.client();
  client.send(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${body.length}\r\n\r\n`);
  client.socket.write(body);
  await backend.until('it is connected', () => backend.connections.size === 1);
  let before = -1;
  const pending = (): number => client.socket.writableLength;
  await until('the client has to wait', () => {
    const waits = pending() > 0 && pending() === before;
    before = pending();
    return waits;
  });
  for (const connection of backend.connections) connection.socket.resume();
  assert.equal((await client.answer()).body.toString(), hash(body));
  plane.close();
  await backend.close();
});

test('a chunked upload of many sizes arrives with its payload untouched', async () => {
  const backend = await RawBackend.start({
    onRequest: (request, connection) => connection.send(ok(`${request.body.length} ${hash(request.body)}`)),
  });
  const plane = await TestPlane.start({ routes: [{ to: backend.port }] });
  const client = await plane.client();
  const pieces = [1, 10, 1_000, 2_047, 2_048, 2_049, 65_535, 65_536, 65_537, 300_000].map((size) =>
    randomBytes(size),
  );
  client.send('POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n');
  for (const piece of pieces) {
    client.send(`${piece.length.toString(16)}\r\n`);
    client.send(piece);
    client.send('\r\n');
  }
  client.send('0\r\n\r\n');
  const whole = Buffer.concat(pieces);
  const answer = await client.answer();
  assert.equal(status(answer), 200);
  assert.equal(answer.body.toString(), `${whole.length} ${hash(whole)}`);
  assert.equal(field(answer, 'connection'), undefined);
  plane.close();
  await backend.close();
});
