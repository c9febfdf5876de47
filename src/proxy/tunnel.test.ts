import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { PassThrough, type Duplex } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { defaults } from '../model/index.ts';
import type { UpstreamConnection } from '../upstream/index.ts';
import { Tunnel } from './tunnel.ts';
import { until } from './until.testing.ts';

/** A tunnel to a backend that lends what it reads, and counts what it has lent. */
function tunnelTo(socket: Duplex) {
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

test('a stream of HTTP/2 gets a copy: it may end before its connection has written it', () => {
  const stream = new PassThrough();
  const { tunnel, lent } = tunnelTo(stream);
  const bytes = read();
  tunnel.onBytes(bytes, 0, bytes.length);
  // The backend's connection reads on into the same buffer.
  bytes.fill('b');
  assert.equal(lent.ever, 0);
  assert.equal(String(stream.read()), 'a'.repeat(65_536));
});
