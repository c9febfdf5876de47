import assert from 'node:assert/strict';
import { createHash, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { connect, createServer } from 'node:tls';
import { isFor, isSignedBy, lifetimeOf, newAuthority, newServer, type Identity } from './certificate.ts';
import { maintained, trustOf, type Material } from './material.ts';

const day = 86_400_000;
const at = (ms: number): Date => new Date(Date.UTC(2030, 0, 1) + ms);
const lifetime = { notBefore: at(0), notAfter: at(10 * day) };
const names = ['controller.ns.svc', 'controller', '127.0.0.1', '::1'];

/** Whether a client that trusts `ca` takes what a server shows. */
async function believed(t: TestContext, server: Identity, ca: string, servername: string): Promise<boolean> {
  const listener = createServer({ ...server, minVersion: 'TLSv1.3' }, (socket) => socket.end());
  listener.on('tlsClientError', () => undefined);
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  t.after(() => listener.close());
  const { port } = listener.address() as AddressInfo;
  const socket = connect({ port, host: '127.0.0.1', ca, servername });
  return await new Promise((resolve) => {
    socket.once('secureConnect', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('close', () => listener.close());
    socket.resume();
  });
}

test('a certificate has the requested properties', () => {
  const authority = newAuthority('an authority', lifetime);
  const server = newServer(names, authority, lifetime);
  const [of, by] = [new X509Certificate(server.cert), new X509Certificate(authority.cert)];
  assert.equal(of.issuer, by.subject);
  assert.equal(by.subject, 'CN=an authority');
  assert.deepEqual([of.ca, by.ca], [false, true]);
  assert.ok(of.checkIssued(by));
  assert.deepEqual(lifetimeOf(server.cert), lifetime);
  assert.deepEqual(of.keyUsage, ['1.3.6.1.5.5.7.3.1']);
  assert.ok(isFor(server.cert, names));
  assert.ok(isFor(server.cert, names.toReversed()));
  assert.equal(isFor(server.cert, names.slice(1)), false);
  assert.equal(isFor(server.cert, [...names.slice(1), 'other']), false);
  assert.ok(isSignedBy(server, authority.cert));
  assert.equal(isSignedBy(server, newAuthority('an authority', lifetime).cert), false);
  assert.equal(isSignedBy({ ...server, key: authority.key }, authority.cert), false);
  assert.equal(isSignedBy({ cert: 'nonsense', key: server.key }, authority.cert), false);
});

test('no two have one serial number, or one key', () => {
  const made = Array.from({ length: 20 }, () => new X509Certificate(newAuthority('a', lifetime).cert));
  assert.equal(new Set(made.map(({ serialNumber }) => serialNumber)).size, 20);
  assert.equal(
    new Set(
      made.map(({ publicKey }) =>
        createHash('sha256')
          .update(publicKey.export({ type: 'spki', format: 'der' }))
          .digest('hex'),
      ),
    ).size,
    20,
  );
});

test('clients that trust the authority accept the certificate for its names only', async (t) => {
  const material = maintained(undefined, names, new Date());
  const trust = trustOf(material);
  assert.equal(await believed(t, material.server, trust, 'controller.ns.svc'), true);
  assert.equal(await believed(t, material.server, trust, 'other.ns.svc'), false);
  const other = maintained(undefined, names, new Date());
  assert.equal(await believed(t, material.server, trustOf(other), 'controller.ns.svc'), false);
});

test('no certificate is renewed before its time', () => {
  const first = maintained(undefined, names, at(0));
  for (const ms of [0, day, 59 * day]) assert.equal(maintained(first, names, at(ms)), first);
});

test('a certificate is renewed after two thirds of its life, and where names are others', () => {
  const first = maintained(undefined, names, at(0));
  const renewed = maintained(first, names, at(61 * day));
  assert.equal(renewed.authority, first.authority);
  assert.notEqual(renewed.server.cert, first.server.cert);
  assert.ok(isSignedBy(renewed.server, first.authority.cert));
  const renamed = maintained(first, ['elsewhere'], at(0));
  assert.equal(renamed.authority, first.authority);
  assert.ok(isFor(renamed.server.cert, ['elsewhere']));
});

test('over many years, each certificate is signed by an authority trusted a day before, and none expires', () => {
  let material = maintained(undefined, names, at(0));
  let authorities = 1;
  /** The authorities that proxies trusted, by day. */
  const trusted: string[] = [];
  for (let today = 0; today < 20 * 365; today += 10) {
    const before: Material = material;
    material = maintained(material, names, at(today * day));
    trusted.push(trustOf(material));
    if (material.authority !== before.authority) authorities++;
    const signer = material.authority.cert;
    assert.ok(isSignedBy(material.server, signer));
    for (const earlier of trusted.slice(-2)) assert.ok(earlier.includes(signer.trim()), `day ${today}`);
    for (const cert of [material.server.cert, signer]) {
      assert.ok(lifetimeOf(cert).notBefore < at(today * day));
      assert.ok(lifetimeOf(cert).notAfter > at((today + 20) * day), `day ${today}`);
    }
    assert.ok(material.former.length <= 2);
  }
  assert.ok(authorities >= 5 && authorities <= 7, String(authorities));
});

test('the trust bundle of a proxy stays valid across a change of the authority', async (t) => {
  const now = new Date();
  const ago = (days: number): Date => new Date(now.getTime() - days * day);
  const first = maintained(undefined, names, ago(4 * 365));
  const announced = maintained(first, names, ago(2));
  assert.ok(announced.next !== undefined);
  assert.ok(isSignedBy(announced.server, first.authority.cert));
  const changed = maintained(announced, names, now);
  assert.equal(changed.authority, announced.next);
  assert.deepEqual(changed.former, [first.authority.cert]);
  assert.equal(await believed(t, changed.server, trustOf(announced), 'controller.ns.svc'), true);
  assert.equal(await believed(t, announced.server, trustOf(changed), 'controller.ns.svc'), true);
  assert.equal(await believed(t, changed.server, trustOf(first), 'controller.ns.svc'), false);
});

test('unusable material is replaced', () => {
  const good = maintained(undefined, names, at(0));
  const other = maintained(undefined, names, at(0));
  const broken: readonly Material[] = [
    { ...good, authority: { ...good.authority, key: 'nonsense' } },
    { ...good, authority: { ...good.authority, key: other.authority.key } },
    { ...good, authority: { ...good.authority, cert: '' } },
    { ...good, next: { ...other.authority, key: good.authority.key } },
    { ...good, former: ['nonsense'] },
  ];
  for (const material of broken) {
    const made = maintained(material, names, at(0));
    assert.notEqual(made.authority.cert, good.authority.cert);
    assert.ok(isSignedBy(made.server, made.authority.cert));
    assert.equal(maintained(made, names, at(0)), made);
  }
  // A certificate alone is not worth another authority.
  const damaged = { ...good, server: { ...good.server, key: other.server.key } };
  const mended = maintained(damaged, names, at(0));
  assert.equal(mended.authority, good.authority);
  assert.ok(isSignedBy(mended.server, good.authority.cert));
  const late = maintained(good, names, at(6 * 365 * day));
  assert.notEqual(late.authority.cert, good.authority.cert);
});
