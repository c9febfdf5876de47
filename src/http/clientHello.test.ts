import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { readClientHello, type ClientHello } from './clientHello.ts';

/** The first bytes of a real client. */
async function helloOf(options: { servername?: string; ALPNProtocols?: string[] }): Promise<Buffer> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options });
  client.on('error', () => undefined);
  const [socket] = (await once(server, 'connection')) as [Socket];
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  client.destroy();
  server.close();
  return bytes;
}

const vector = (width: number, ...parts: readonly Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  const length = Buffer.alloc(width);
  length.writeUIntBE(body.length, 0, width);
  return Buffer.concat([length, body]);
};
const text = (value: string): Buffer => Buffer.from(value, 'latin1');
const extension = (type: number, ...parts: readonly Buffer[]): Buffer =>
  Buffer.concat([Buffer.from([type >> 8, type & 255]), vector(2, ...parts)]);
const serverName = (...names: readonly string[]): Buffer =>
  extension(0, vector(2, ...names.flatMap((name) => [Buffer.from([0]), vector(2, text(name))])));
const message = (...extensions: readonly Buffer[]): Buffer =>
  Buffer.concat([
    Buffer.from([1]),
    vector(
      3,
      Buffer.from([3, 3]),
      Buffer.alloc(32, 7),
      vector(1, Buffer.alloc(32)),
      vector(2, Buffer.from([0x13, 1])),
      vector(1, Buffer.from([0])),
      vector(2, ...extensions),
    ),
  ]);
const record = (bytes: Buffer): Buffer => Buffer.concat([Buffer.from([22, 3, 1]), vector(2, bytes)]);

test('the name and the protocols of a real client are read', async () => {
  assert.deepEqual(
    readClientHello(await helloOf({ servername: 'App.Example.com', ALPNProtocols: ['h2', 'http/1.1'] })),
    { serverName: 'app.example.com', protocols: ['h2', 'http/1.1'] } satisfies ClientHello,
  );
  assert.deepEqual(readClientHello(await helloOf({})), { serverName: undefined, protocols: [] });
});

test('a hello is read however it is cut, and never before it is whole', async () => {
  const hello = await helloOf({ servername: 'a.test' });
  for (let length = 0; length < hello.length; length++)
    assert.equal(readClientHello(hello.subarray(0, length)), 'incomplete', String(length));
  const body = hello.subarray(5);
  const records = Buffer.concat(
    Array.from({ length: Math.ceil(body.length / 50) }, (_, index) =>
      record(body.subarray(index * 50, index * 50 + 50)),
    ),
  );
  assert.deepEqual(readClientHello(records), { serverName: 'a.test', protocols: [] });
  for (const length of [1, 4, 6, 54, 60, 200])
    assert.equal(readClientHello(records.subarray(0, length)), 'incomplete', String(length));
});

test('an invalid ClientHello is rejected', () => {
  assert.deepEqual(readClientHello(record(message(serverName('a.test')))), {
    serverName: 'a.test',
    protocols: [],
  });
  const unsound: Record<string, Buffer> = {
    http: text('GET / HTTP/1.1\r\n\r\n'),
    alert: Buffer.from([21, 3, 1, 0, 2, 1, 0]),
    version: Buffer.from([22, 2, 0, 0, 2]),
    'empty record': Buffer.from([22, 3, 1, 0, 0]),
    'record too long': Buffer.from([22, 3, 1, 0x40, 1]),
    'another message': record(Buffer.from([2, 0, 0, 1, 0])),
    'huge message': record(Buffer.from([1, 1, 0, 0])),
    'two names': record(message(serverName('a.test', 'b.test'))),
    'name twice': record(message(serverName('a.test'), serverName('b.test'))),
    'no name': record(message(serverName())),
    'empty name': record(message(serverName(''))),
    'a name with a NUL': record(message(serverName('a.test\0.evil'))),
    'a name too long': record(message(serverName('a.'.repeat(130) + 'test'))),
    'cut short': record(Buffer.from([1, 0, 0, 2, 3, 3])),
  };
  for (const [what, bytes] of Object.entries(unsound)) assert.equal(readClientHello(bytes), undefined, what);
});

test('a hello in more records than any client makes is rejected', () => {
  const hello = message(serverName('a.test'), extension(21, Buffer.alloc(2_000)));
  const single = (bytes: Buffer): Buffer =>
    Buffer.concat(Array.from(bytes, (byte) => record(Buffer.from([byte]))));
  assert.equal(readClientHello(single(hello)), undefined);
  assert.equal(readClientHello(single(hello.subarray(0, 1_024))), 'incomplete');
  const short = single(message(serverName('a.test')));
  assert.deepEqual(readClientHello(short), { serverName: 'a.test', protocols: [] });
});

test('no bytes make the reader throw or read beyond their end', () => {
  const hello = record(message(serverName('a.test'), extension(16, vector(2, vector(1, text('h2'))))));
  for (let at = 0; at < hello.length; at++)
    for (const value of [0, 1, 127, 255]) {
      const changed = Buffer.from(hello);
      changed[at] = value;
      const read = readClientHello(changed);
      assert.ok(read === undefined || read === 'incomplete' || read.protocols.length < 3);
    }
});
