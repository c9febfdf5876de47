/** Frames of WebSocket (RFC 6455 §5) are bytes to the gateway: whatever they are, they arrive as they were sent. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { test, type TestContext } from 'node:test';
import { WebSocket, WebSocketServer, type RawData } from 'ws';
import { TestPlane } from '../dataPlane.testing.ts';
import { get, RawBackend, status, type BackendConnection, type RawClient } from '../wire.testing.ts';

const CONTINUATION = 0;
const TEXT = 1;
const BINARY = 2;
const CLOSE = 8;
const PING = 9;
const PONG = 10;

interface Frame {
  readonly opcode: number;
  readonly payload: Buffer;
  /** The last of its message; yes unless given. */
  readonly fin?: boolean;
  /** The reserved bits, for extensions. */
  readonly rsv?: number;
}

/** RFC 6455 §5.2. */
function encode({ opcode, payload, fin = true, rsv = 0 }: Frame, masked: boolean): Buffer {
  const { length } = payload;
  const size = length < 126 ? length : length < 65_536 ? 126 : 127;
  const head = Buffer.alloc(size === 126 ? 4 : size === 127 ? 10 : 2);
  head[0] = (fin ? 0x80 : 0) | (rsv << 4) | opcode;
  head[1] = (masked ? 0x80 : 0) | size;
  if (size === 126) head.writeUInt16BE(length, 2);
  if (size === 127) head.writeBigUInt64BE(BigInt(length), 2);
  if (!masked) return Buffer.concat([head, payload]);
  const mask = randomBytes(4);
  const bytes = Buffer.from(payload.map((byte, i) => byte ^ (mask[i % 4] as number)));
  return Buffer.concat([head, mask, bytes]);
}

const closing = (code: number, reason = ''): Buffer => {
  const payload = Buffer.alloc(2 + Buffer.byteLength(reason));
  payload.writeUInt16BE(code);
  payload.write(reason, 2);
  return payload;
};

const frames: readonly Frame[] = [
  ...[0, 1, 125, 126, 127, 65_535, 65_536, 200_000].flatMap((length): Frame[] => [
    { opcode: TEXT, payload: Buffer.alloc(length, 'a') },
    { opcode: BINARY, payload: randomBytes(length) },
  ]),
  // A message in fragments, with control frames in between.
  { opcode: TEXT, payload: Buffer.from('he'), fin: false },
  { opcode: PING, payload: Buffer.from('ping') },
  { opcode: CONTINUATION, payload: Buffer.alloc(0), fin: false },
  { opcode: PONG, payload: randomBytes(125) },
  { opcode: CONTINUATION, payload: Buffer.from('llo') },
  // Frames that no endpoint may send are for the endpoints to refuse.
  { opcode: 3, payload: Buffer.from('reserved') },
  { opcode: 15, payload: Buffer.from('reserved') },
  { opcode: TEXT, payload: Buffer.from([0xc3, 0x28]) },
  { opcode: BINARY, payload: Buffer.from('compressed'), rsv: 4 },
  { opcode: BINARY, payload: Buffer.from('odd'), rsv: 7 },
  { opcode: CONTINUATION, payload: Buffer.from('of nothing') },
  { opcode: PING, payload: randomBytes(126) },
  { opcode: PING, payload: Buffer.from('a control frame in fragments'), fin: false },
  { opcode: CLOSE, payload: closing(1000, 'done') },
  { opcode: CLOSE, payload: closing(4_999, 'ü'.repeat(60)) },
  { opcode: CLOSE, payload: closing(1005) },
  { opcode: CLOSE, payload: closing(0) },
  { opcode: CLOSE, payload: Buffer.from([3]) },
  { opcode: CLOSE, payload: Buffer.alloc(0) },
  { opcode: TEXT, payload: Buffer.from('behind a close') },
];

const stop = (t: TestContext, plane: TestPlane, close: () => Promise<void>): void =>
  t.after(async () => {
    plane.close();
    await close();
  });

test('frames of every kind, length and fault cross byte by byte in both directions', async (t) => {
  const backend = await RawBackend.start({
    onRequest: (_request, connection) =>
      connection.send(
        'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
      ),
  });
  const plane = await TestPlane.start({ routes: [{ to: backend.port }] });
  stop(t, plane, () => backend.close());
  const client = await plane.client();
  const asked = get('/ws', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13');
  assert.equal(status(await client.ask(asked, true)), 101);
  const [far] = backend.connections;
  assert.ok(far !== undefined);
  const crosses = async (from: RawClient | BackendConnection, to: Wire, masked: boolean): Promise<void> => {
    const sent = Buffer.concat(frames.map((frame) => encode(frame, masked)));
    from.send(sent);
    await to.find('all frames', () => (to.inbox.length >= sent.length ? true : undefined));
    assert.ok(to.inbox.bytes.equals(sent));
  };
  await Promise.all([crosses(client, far, true), crosses(far, client, false)]);
  assert.deepEqual([client.ending, far.ending], ['open', 'open']);
});

type Wire = RawClient | BackendConnection;

interface Talk {
  readonly client: WebSocket;
  readonly server: WebSocket;
}

/** A client and a server of the package `ws`, with the gateway in between. */
async function talk(t: TestContext, perMessageDeflate: boolean): Promise<Talk> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate });
  await once(server, 'listening');
  const plane = await TestPlane.start({ routes: [{ to: (server.address() as { port: number }).port }] });
  stop(t, plane, async () => {
    for (const socket of server.clients) socket.terminate();
    await new Promise((resolve) => server.close(resolve));
  });
  const accepted = once(server, 'connection') as Promise<[WebSocket]>;
  const client = new WebSocket(`ws://127.0.0.1:${plane.port}/ws`, { perMessageDeflate });
  await once(client, 'open');
  const [far] = await accepted;
  return { client, server: far };
}

for (const perMessageDeflate of [false, true])
  test(`client and server of a library understand each other${perMessageDeflate ? ', compressed' : ''}`, async (t) => {
    const { client, server } = await talk(t, perMessageDeflate);
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      for (const length of [0, 125, 126, 65_535, 65_536, 1_000_000]) {
        const payload = randomBytes(length);
        const arrived = once(to, 'message') as Promise<[RawData, boolean]>;
        from.send(payload);
        const [data, binary] = await arrived;
        assert.ok(binary && payload.equals(data as Buffer), `${length} bytes`);
      }
      const whole = once(to, 'message') as Promise<[RawData, boolean]>;
      const pinged = once(to, 'ping') as Promise<[Buffer]>;
      const ponged = once(from, 'pong') as Promise<[Buffer]>;
      from.send('one ', { fin: false });
      from.ping('still there?');
      from.send('', { fin: false });
      from.send('messäge', { fin: true });
      const [[text, binary], [ping], [pong]] = await Promise.all([whole, pinged, ponged]);
      assert.deepEqual([(text as Buffer).toString(), binary], ['one messäge', false]);
      assert.deepEqual([ping.toString(), pong.toString()], ['still there?', 'still there?']);
    }
  });

for (const [code, reason] of [
  [1000, 'done'],
  [1001, ''],
  [1011, 'ü'],
  [4_999, 'a'.repeat(123)],
] as const)
  test(`a close with ${code} arrives at both ends`, async (t) => {
    const { client, server } = await talk(t, false);
    const closed = [once(client, 'close'), once(server, 'close')] as Promise<[number, Buffer]>[];
    server.close(code, reason);
    for (const [found, text] of await Promise.all(closed))
      assert.deepEqual([found, text.toString()], [code, reason]);
  });

test('a client that vanishes is gone for the server, too', async (t) => {
  const { client, server } = await talk(t, false);
  const closed = once(server, 'close') as Promise<[number]>;
  client.terminate();
  assert.equal((await closed)[0], 1006);
});
