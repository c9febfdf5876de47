import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { certificate } from '../proxy/certificates.testing.ts';
import { startRaw } from '../proxy/rawServer.testing.ts';
import { closedPort } from './endpoint.testing.ts';
import { tlsProblem } from './open.ts';

/** The complaint about a server, as the platform words it. */
async function problemWith(port: number, options: ConnectionOptions = {}): Promise<string | undefined> {
  const socket = connectTls({ port, host: '127.0.0.1', ...options });
  const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
  socket.destroy();
  return tlsProblem(error);
}

test('a certificate that cannot be trusted is a problem of TLS, with its code', async (t) => {
  const { port } = await startRaw(t, { tls: certificate() });
  assert.match((await problemWith(port)) ?? '', /^DEPTH_ZERO_SELF_SIGNED_CERT: self-signed certificate/);
});

test('a server that speaks no TLS is a problem of TLS, in the words of OpenSSL', async (t) => {
  const { port } = await startRaw(t, { name: 'SSH-2.0-OpenSSH_9.9' });
  assert.match((await problemWith(port)) ?? '', /^ERR_SSL.*wrong version number/i);
});

test('a server without a version in common is a problem of TLS', async (t) => {
  const { port } = await startRaw(t, { tls: { ...certificate(), maxVersion: 'TLSv1.2' } });
  assert.match((await problemWith(port, { minVersion: 'TLSv1.3' })) ?? '', /protocol version/i);
});

test('a failure of the network is no problem of TLS', async (t) => {
  assert.equal(await problemWith(await closedPort()), undefined);
  const server = await startRaw(t);
  const socket = connect(server.port, '127.0.0.1');
  const there = await server.connection();
  there.reset();
  const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
  assert.equal(tlsProblem(error), undefined);
});

test('an alert that comes while the gateway writes is told by the reason in it', () => {
  const text =
    'write EPROTO 80B1:error:0A000410:SSL routines:ssl3_read_bytes:sslv3 alert handshake failure:../deps/x.c:1:';
  const error = Object.assign(new Error(text), { code: 'EPROTO', syscall: 'write' });
  assert.equal(tlsProblem(error), 'ERR_SSL: sslv3 alert handshake failure');
});
