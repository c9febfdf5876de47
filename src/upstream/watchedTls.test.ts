import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { TLSSocket, type SecureVersion } from 'node:tls';
import { recordingLog } from '../mcp/harness.testing.ts';
import { certificate } from '../proxy/certificates.testing.ts';
import { until } from '../until.testing.ts';
import { closedPort, still } from './endpoint.testing.ts';
import { TlsMaterial } from './tls.ts';
import { openWatchedTls } from './watchedTls.ts';

const identity = certificate();
const trusting = { insecure: true, insecureHost: false, subjectAltNames: [] };
const tls = new TlsMaterial(trusting, '127.0.0.1', recordingLog().log).options();

/** A watched connection, with both layers of its other end. */
async function watched(t: TestContext, maxVersion: SecureVersion = 'TLSv1.3') {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  const { port } = server.address() as AddressInfo;
  const watch = openWatchedTls({ host: '127.0.0.1', port }, tls, undefined);
  const [below] = (await accepted) as [Socket];
  const there = new TLSSocket(below, { isServer: true, maxVersion, ...identity });
  for (const socket of [watch.socket, there, below]) socket.on('error', () => undefined);
  t.after(() => {
    server.close();
    watch.socket.destroy();
    below.destroy();
  });
  await Promise.all([once(watch.socket, 'secureConnect'), once(there, 'secure')]);
  let text = '';
  watch.socket.on('data', (bytes: Buffer) => (text += bytes.toString()));
  return { watch, there, below, text: () => text };
}

for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
  test(`${version}: an end that TLS tells is in order`, async (t) => {
    const { watch, there, text } = await watched(t, version);
    there.end('all of it');
    await once(watch.socket, 'end');
    assert.equal(watch.inOrder, true);
    assert.equal(text(), 'all of it');
  });

  test(`${version}: an end of TCP alone is not in order, though every byte has come`, async (t) => {
    const { watch, there, below, text } = await watched(t, version);
    there.write('half', () => below.end());
    await once(watch.socket, 'end');
    assert.equal(watch.inOrder, false);
    assert.equal(text(), 'half');
  });
}

test('an end that a late reader finds is told by the way it came, and not by the state of the connection then', async (t) => {
  const { watch, there, below, text } = await watched(t);
  watch.socket.pause();
  there.end(Buffer.alloc(200_000, 'x'));
  await until('the connection below has ended', () => watch.below.readableEnded || below.destroyed);
  const ended = once(watch.socket, 'end');
  watch.socket.resume();
  await ended;
  assert.equal(watch.inOrder, true);
  assert.equal(text().length, 200_000);
});

test('a reset of the connection below is an error of the connection above, and no end', async (t) => {
  const { watch, below } = await watched(t);
  let ended = false;
  watch.socket.on('end', () => (ended = true));
  below.resetAndDestroy();
  const [error] = (await once(watch.socket, 'error')) as [NodeJS.ErrnoException];
  assert.equal(error.code, 'ECONNRESET');
  await until('both layers are closed', () => watch.socket.closed && watch.below.closed);
  assert.deepEqual([ended, watch.inOrder], [false, false]);
});

test('the end of the connection above closes the one below', async (t) => {
  const { watch, below } = await watched(t);
  watch.socket.destroy();
  await once(below, 'close');
  await until('the own end is closed, too', () => watch.below.closed);
});

test('bytes go both ways, and a reader that pauses holds the other side back', async (t) => {
  const { watch, there, text } = await watched(t);
  let received = '';
  there.on('data', (bytes: Buffer) => (received += bytes.toString()));
  watch.socket.write('a request');
  await until('the request is there', () => received === 'a request');
  watch.socket.pause();
  there.write(Buffer.alloc(20_000_000, 'x'));
  await still('the bytes that were read', () => watch.below.bytesRead);
  assert.ok(watch.below.bytesRead < 15_000_000, `${watch.below.bytesRead} bytes were read ahead`);
  watch.socket.resume();
  await until('everything is there', () => text().length === 20_000_000);
});

test('a port that is closed is an error of the connection above', async () => {
  const watch = openWatchedTls({ host: '127.0.0.1', port: await closedPort() }, tls, undefined);
  let connected = false;
  watch.socket.on('connect', () => (connected = true));
  const [error] = (await once(watch.socket, 'error')) as [NodeJS.ErrnoException];
  assert.equal(error.code, 'ECONNREFUSED');
  assert.equal(connected, false);
});
