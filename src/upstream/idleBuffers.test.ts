import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { defaults } from '../model/index.ts';
import { shared } from './buffers.ts';
import { Endpoint, type UpstreamConnection } from './upstreamConnection.ts';
import { Health } from './health.ts';
import type { ExchangeHandler } from './handlers.ts';

/** Several reads, and no whole number of them. */
const BURST = 1_000_001;

/** A connection to a backend, and its socket there. */
async function connected(t: TestContext): Promise<{ connection: UpstreamConnection; backend: Socket }> {
  const server = createServer({ noDelay: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const health = new Health(
    undefined,
    () => false,
    () => undefined,
  );
  const share = { tls: undefined, limits: undefined, http2: false, onFree: undefined };
  const address = { host: '127.0.0.1', port, tier: 0 };
  const endpoint = new Endpoint(address, share, health, false, defaults.upstream, defaults.limits);
  const accepted = once(server, 'connection');
  const connection = endpoint.take();
  const [backend] = (await accepted) as [Socket];
  t.after(() => {
    endpoint.close();
    backend.destroy();
    server.close();
  });
  return { connection, backend };
}

/** Counts bytes, and notes which of the reads went into a buffer of their own. */
class Reads {
  total = 0;
  own: boolean[] = [];
  private waiting: { readonly bytes: number; readonly tell: () => void } | undefined;

  note(bytes: Buffer, length: number): true {
    this.total += length;
    this.own.push(bytes !== shared);
    if (this.waiting !== undefined && this.total >= this.waiting.bytes) this.waiting.tell();
    return true;
  }

  /** Resolves when so many bytes came in all. */
  until(bytes: number): Promise<void> {
    if (this.total >= bytes) return Promise.resolve();
    return new Promise((tell) => (this.waiting = { bytes, tell }));
  }
}

/** Sends a burst and then two small messages: the first finds what the burst has left, the second what is kept. */
async function burstAndCalm(backend: Socket, reads: Reads, frame: (bytes: Buffer) => Buffer): Promise<void> {
  const before = reads.total;
  let sent = 0;
  for (const size of [BURST, 3, 3]) {
    const framed = frame(Buffer.alloc(size, 'x'));
    sent += framed.length;
    if (size === 3) reads.own = [];
    backend.write(framed);
    await reads.until(before + sent);
    if (size === BURST) assert.ok(reads.own.includes(true), 'the burst was read into buffers of its own');
  }
  assert.deepEqual(reads.own, [false], 'nothing is kept for a connection that has become quiet');
}

test('a tunnel keeps no buffer of its own when a burst is over, and gets one again for the next', async (t) => {
  const { connection, backend } = await connected(t);
  const reads = new Reads();
  const unused = (): void => undefined;
  connection.tunnel({
    onBytes: (bytes, from, to) => reads.note(bytes, to - from),
    onEnd: unused,
    onFailure: unused,
    onWritable: unused,
  });
  await burstAndCalm(backend, reads, (bytes) => bytes);
  await burstAndCalm(backend, reads, (bytes) => bytes);
});

test('an answer without an end in sight keeps no buffer of its own when a burst is over', async (t) => {
  const { connection, backend } = await connected(t);
  const reads = new Reads();
  const user: ExchangeHandler = {
    onInformational: () => undefined,
    onAnswer: (_head, bytes, from, to) => reads.note(bytes, to - from),
    onBody: (bytes, from, to) => reads.note(bytes, to - from),
    onFailure: (code, detail) => assert.fail(`${code} ${detail}`),
    onWritable: () => undefined,
  };
  connection.begin(user, false, false);
  connection.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
  connection.sent();
  backend.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
  const chunk = (bytes: Buffer): Buffer =>
    Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
  await burstAndCalm(backend, reads, chunk);
  await burstAndCalm(backend, reads, chunk);
  connection.abandon();
});
