import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { test, type TestContext } from 'node:test';
import type { TLSSocket } from 'node:tls';
import type { ServerTls } from '../../model/index.ts';
import { authority, type Identity } from '../certificates.testing.ts';
import { TestPlane } from '../dataPlane.testing.ts';
import { get, RawClient, status } from '../wire.testing.ts';

const ca = authority();
const clients = authority('clients');
const versions = ['TLSv1.2', 'TLSv1.3'] as const;

const tlsOf = ({ cert, key }: Identity, root?: string): ServerTls => ({
  cert: { inline: cert },
  key: { inline: key },
  ...(root === undefined ? {} : { root: { inline: root } }),
  ciphers: ['TLS_AES_128_GCM_SHA256', 'ECDHE-ECDSA-AES128-GCM-SHA256'],
  minVersion: 'TLSv1.2',
  maxVersion: 'TLSv1.3',
});

/** Stands for a process among several: a plane that shares the secret with the others. */
async function planeWith(t: TestContext, tls: ServerTls, secret: Buffer): Promise<TestPlane> {
  const plane = new TestPlane();
  t.after(() => plane.close());
  plane.plane.useTicketSecret(secret);
  await plane.apply({
    listeners: [{ tls, routes: [{ handler: (_request, reply) => reply.send({ status: 200 }) }] }],
  });
  return plane;
}

type Version = (typeof versions)[number];

async function sessionOf(plane: TestPlane, maxVersion: Version, identity?: Identity): Promise<Buffer> {
  const client = await RawClient.secure(plane.port, { servername: 'app.test', maxVersion, ...identity });
  const ticket = once(client.socket, 'session') as Promise<[Buffer]>;
  await client.ask(get('/'));
  const session = maxVersion === 'TLSv1.2' ? (client.socket as TLSSocket).getSession() : (await ticket)[0];
  client.close();
  assert.ok(session !== undefined);
  return session;
}

/** Whether the session was resumed there; served it must be in any case. */
async function resumes(
  plane: TestPlane,
  maxVersion: Version,
  session: Buffer,
  identity?: Identity,
): Promise<boolean> {
  const client = await RawClient.secure(plane.port, {
    servername: 'app.test',
    maxVersion,
    session,
    ...identity,
  });
  const reused = (client.socket as TLSSocket).isSessionReused();
  assert.equal(status(await client.ask(get('/'))), 200);
  client.close();
  return reused;
}

test('a session is resumed by another process that has the secret of the tickets, and by no other', async (t) => {
  const tls = tlsOf(ca.issue({ names: ['app.test'] }));
  const secret = randomBytes(32);
  const first = await planeWith(t, tls, secret);
  const second = await planeWith(t, tls, secret);
  const stranger = await planeWith(t, tls, randomBytes(32));
  for (const version of versions) {
    const session = await sessionOf(first, version);
    assert.equal(await resumes(second, version, session), true, version);
    assert.equal(await resumes(stranger, version, session), false, version);
  }
});

test('after a change of the secret old sessions make a full handshake, and new ones are resumed', async (t) => {
  const plane = await planeWith(t, tlsOf(ca.issue({ names: ['app.test'] })), randomBytes(32));
  for (const version of versions) {
    const old = await sessionOf(plane, version);
    plane.plane.useTicketSecret(randomBytes(32));
    assert.equal(await resumes(plane, version, old), false, version);
    assert.equal(await resumes(plane, version, await sessionOf(plane, version)), true, version);
  }
});

test('a session without a client certificate does not get in where one is asked for', async (t) => {
  const identity = ca.issue({ names: ['app.test'] });
  const secret = randomBytes(32);
  const open = await planeWith(t, tlsOf(identity), secret);
  const strict = await planeWith(t, tlsOf(identity, clients.cert), secret);
  const robot = clients.issue({ name: 'robot' });
  for (const version of versions) {
    const session = await sessionOf(open, version);
    assert.equal(await resumes(strict, version, session, robot), false, version);
    const known = await sessionOf(strict, version, robot);
    assert.equal(await resumes(strict, version, known, robot), true, version);
    assert.equal(await resumes(open, version, known), false, version);
  }
});
