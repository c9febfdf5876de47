import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { frame, PREFACE } from '../../http/frame.testing.ts';
import { head, MemoryConnection, number } from '../../http/http2/memory.testing.ts';
import { defaults } from '../../model/index.ts';
import type { UpstreamConnection } from '../../upstream/index.ts';
import { Http2Tunnel } from '../http2/http2Tunnel.ts';
import { Tunnel, type TunnelEnd } from './tunnel.ts';
import { until } from '../../until.testing.ts';

/** A tunnel to a backend that lends what it reads, and counts what it has lent. */
function tunnelTo(socket: TunnelEnd) {
  const lent = { now: 0, ever: 0 };
  const lend = (): (() => void) => {
    lent.now++;
    lent.ever++;
    return () => lent.now--;
  };
  const upstream = { tunnel: () => undefined, lend } as unknown as UpstreamConnection;
  const client = { socket, touch: () => undefined, cut: assert.fail };
  return { tunnel: new Tunnel(client, upstream, defaults.limits.bodyTimeoutMs), lent };
}

async function connection(t: TestContext): Promise<{ client: Socket; gateway: Socket }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [gateway] = (await accepted) as [Socket];
  t.after(() => {
    client.destroy();
    gateway.destroy();
    server.close();
  });
  return { client, gateway };
}

/** As large as a read of a backend can be. */
const read = (): Buffer => Buffer.alloc(65_536, 'a');

test('a connection writes large reads of the backend where they lie, and gives them back', async (t) => {
  const { client, gateway } = await connection(t);
  const { tunnel, lent } = tunnelTo(gateway);
  let got = 0;
  const all = new Promise<void>((resolve) => {
    client.on('data', (bytes: Buffer) => {
      got += bytes.length;
      if (got === 3 * 65_536) resolve();
    });
  });
  for (let i = 0; i < 3; i++) tunnel.onBytes(read(), 0, 65_536);
  await all;
  assert.equal(lent.ever, 3);
  await until('all are given back', () => lent.now === 0);
});

test('an HTTP/2 stream returns lent buffers after the client has read them, or when the stream ends', () => {
  const connection = new MemoryConnection();
  // Windows of 16 KiB: most of what is lent has to wait. A small rest would be copied, and nothing kept lent.
  const settings = frame(4, 0, 0, Buffer.from([0, 4, 0, 0, 0x40, 0]));
  const get = (stream: number): Buffer => frame(1, 5, stream, head());
  connection.take(PREFACE, settings, get(1), get(3));
  const [first, second] = connection.streams;
  assert.ok(first !== undefined && second !== undefined);
  const { tunnel, lent } = tunnelTo(new Http2Tunnel(first.stream));
  // The window of the client ends in the middle of it.
  const bytes = Buffer.alloc(65_536, 'a');
  assert.equal(tunnel.onBytes(bytes, 0, bytes.length), false);
  assert.equal(lent.now, 1);
  connection.take(frame(8, 0, 0, number(100_000)), frame(8, 0, 1, number(100_000)));
  assert.equal(lent.now, 0);
  const other = tunnelTo(new Http2Tunnel(second.stream));
  other.tunnel.onBytes(read(), 0, 65_536);
  connection.take(frame(3, 0, 3, number(8)));
  assert.deepEqual(other.lent, { now: 0, ever: 1 });
  const sent = connection.said().filter(({ type, stream }) => type === 0 && stream === 1);
  assert.equal(Buffer.concat(sent.map(({ payload }) => payload)).toString(), 'a'.repeat(65_536));
});
