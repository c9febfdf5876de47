import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { get as getHttps } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import { defaults, type ServerTls } from '../../model/index.ts';
import { policySchemas } from '../../policies/index.ts';
import { authority, type Identity } from '../certificates.testing.ts';
import {
  TestPlane,
  type ListenerInShort,
  type LocalHandler,
  type ModelInShort,
} from '../dataPlane.testing.ts';
import { until } from '../../until.testing.ts';
import { field, get, ok, RawBackend, RawClient, status } from '../wire.testing.ts';

const ca = authority();
const folder = mkdtempSync(join(tmpdir(), 'portcullis-tls-'));
after(() => rmSync(folder, { recursive: true }));

let files = 0;
/** Settings for an identity that lies in files, and the files. */
function onDisk(identity: Identity, root?: string): { tls: ServerTls; cert: string; key: string } {
  const cert = join(folder, `${++files}.pem`);
  const key = join(folder, `${files}.key`);
  writeFileSync(cert, identity.cert);
  writeFileSync(key, identity.key);
  return { tls: serverTls({ cert: { file: cert }, key: { file: key } }, root), cert, key };
}

const serverTls = (pair: Pick<ServerTls, 'cert' | 'key'>, root?: string): ServerTls => ({
  ...pair,
  ...(root === undefined ? {} : { root: { inline: root } }),
  ciphers: [
    'TLS_AES_128_GCM_SHA256',
    'TLS_AES_256_GCM_SHA384',
    'ECDHE-ECDSA-AES128-GCM-SHA256',
    'ECDHE-ECDSA-AES256-GCM-SHA384',
  ],
  minVersion: 'TLSv1.2',
  maxVersion: 'TLSv1.3',
});

const identityOf = (...names: readonly string[]): ServerTls => {
  const { cert, key } = ca.issue({ names, name: names[0] ?? 'none' });
  return serverTls({ cert: { inline: cert }, key: { inline: key } });
};

/** Says which listener served, and what the request looked like from there. */
const saying =
  (who: string): LocalHandler =>
  (request, reply) =>
    reply.send({ status: 200, body: `${who} ${request.scheme} ${request.host}` });

const listener = (who: string, tls?: ServerTls, hostname?: string): ListenerInShort => ({
  routes: [{ handler: saying(who) }],
  ...(tls === undefined ? {} : { tls }),
  ...(hostname === undefined ? {} : { hostname }),
});

async function start(t: TestContext, model: ModelInShort): Promise<TestPlane> {
  const plane = await TestPlane.start(model);
  t.after(() => plane.close());
  return plane;
}

/** Sends a request on a connection of its own. Returns its status and body. */
async function ask(
  plane: TestPlane,
  host: string,
  options: ConnectionOptions = {},
): Promise<{ status: number; body: string; peer: string; socket: TLSSocket }> {
  const client = await RawClient.secure(plane.port, { servername: host, ...options });
  const socket = client.socket as TLSSocket;
  const peer = String(socket.getPeerCertificate().subject?.CN);
  const answer = await client.ask(get('/').replace('app.test', host));
  client.close();
  return { status: status(answer), body: answer.body.toString(), peer, socket };
}

const refused = (plane: TestPlane, options: ConnectionOptions): Promise<void> =>
  assert.rejects(async () => {
    const client = await RawClient.secure(plane.port, options);
    // TLS 1.3 lets a client finish before its certificate is judged.
    await client.ask(get('/'));
  });

test('a client verifies the certificate and is served over HTTPS', async (t) => {
  const backend = await RawBackend.start({
    onRequest: (request, connection) => connection.send(ok(field(request, 'x-forwarded-proto') ?? '')),
  });
  t.after(() => backend.close());
  const plane = await start(t, {
    listeners: [{ tls: identityOf('app.test'), routes: [{ to: backend.port }] }],
  });
  const request = getHttps({
    port: plane.port,
    host: '127.0.0.1',
    servername: 'app.test',
    headers: { host: 'app.test' },
    ca: ca.cert,
  });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  assert.equal(response.statusCode, 200);
  const [body] = (await once(response, 'data')) as [Buffer];
  assert.equal(body.toString(), 'https');
  request.destroy();
  assert.match(await plane.metricsText(), /^portcullis_tls_handshakes_total\{result="ok"\} 1$/m);
  assert.match(await plane.metricsText(), /^portcullis_tls_certificate_expiry_timestamp_seconds\{/m);
});

test('the server name chooses the certificate and the listener: exact, wildcard, the one for every host', async (t) => {
  const plane = await start(t, {
    listeners: [
      listener('exact', identityOf('a.example.com'), 'a.example.com'),
      listener('wild', identityOf('*.example.com'), '*.example.com'),
      listener('rest', identityOf('rest.test')),
    ],
  });
  for (const [host, who, name] of [
    ['a.example.com', 'exact', 'a.example.com'],
    ['b.example.com', 'wild', '*.example.com'],
    ['c.b.example.com', 'wild', '*.example.com'],
    ['other.test', 'rest', 'rest.test'],
  ] as const) {
    const answer = await ask(plane, host);
    assert.equal(answer.body, `${who} https ${host}`);
    assert.equal(answer.peer, name);
  }
  // Without a server name, which an address never is.
  assert.equal((await ask(plane, '127.0.0.1', { servername: '' })).body, 'rest https 127.0.0.1');
});

test('a name that no listener has ends before any certificate is shown', async (t) => {
  const plane = await start(t, { listeners: [listener('a', identityOf('a.test'), 'a.test')] });
  await refused(plane, { servername: 'b.test' });
  await refused(plane, {});
  assert.equal((await ask(plane, 'a.test')).status, 200);
  await until('it is counted', () => plane.connections === 0);
  assert.match(await plane.metricsText(), /^portcullis_tls_handshakes_total\{result="no_listener"\} 2$/m);
});

test('a request for the host of another listener is 421, for a host of none 404', async (t) => {
  const plane = await start(t, {
    listeners: [listener('a', identityOf('a.test'), 'a.test'), listener('b', identityOf('b.test'), 'b.test')],
  });
  const client = await RawClient.secure(plane.port, { servername: 'a.test' });
  for (const [host, code] of [
    ['a.test', 200],
    ['b.test', 421],
    ['c.test', 404],
    ['a.test', 200],
  ] as const)
    assert.equal(status(await client.ask(get('/').replace('app.test', host))), code, host);
  client.close();
});

test('plain HTTP and TLS may share a port, each with its own listeners', async (t) => {
  const plane = await start(t, { listeners: [listener('plain'), listener('tls', identityOf('app.test'))] });
  assert.equal((await plane.ask(get('/'))).body.toString(), 'plain http app.test');
  assert.equal((await ask(plane, 'app.test')).body, 'tls https app.test');
  const slow = await plane.client();
  for (const character of get('/')) {
    slow.send(character);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal((await slow.answer()).body.toString(), 'plain http app.test');
});

test('plain HTTP on a TLS port is told so, anything else is closed', async (t) => {
  const plane = await start(t, { listeners: [listener('tls', identityOf('app.test'))] });
  const http = await plane.client();
  const answer = await http.ask(get('/'));
  assert.equal(status(answer), 400);
  assert.equal(answer.body.toString(), 'this port speaks HTTPS\n');
  assert.equal(field(answer, 'connection'), 'close');
  http.socket.end();
  assert.equal(await http.closed(), 'fin');
  for (const bytes of ['SSH-2.0-x\r\n', '\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00', '\x80\x2e\x01\x00\x02']) {
    const other = await plane.client();
    other.send(bytes);
    assert.notEqual(await other.closed(), 'open');
    assert.equal(other.text, '');
  }
  await until('all are gone', () => plane.connections === 0);
});

test('a plain HTTP client of a TLS port is cut off, whatever it sends', async (t) => {
  const plane = await start(t, { listeners: [listener('tls', identityOf('app.test'))] });
  const client = await plane.client();
  const talking = setInterval(() => client.send('x-more: of it\r\n'), 20);
  t.after(() => clearInterval(talking));
  const answer = await client.ask('GET / HTTP/1.1\r\nhost: app.test\r\n');
  assert.equal(answer.body.toString(), 'this port speaks HTTPS\n');
  await until('the connection is gone', () => client.socket.destroyed);
});

test('a hello in small pieces is read; one that never ends is given up in time', async (t) => {
  const plane = await start(t, {
    listeners: [listener('tls', identityOf('app.test'))],
    limits: { handshakeTimeoutMs: 2_000 },
  });
  assert.equal((await ask(plane, 'app.test')).status, 200);
  const silent = await plane.client();
  const half = await plane.client();
  half.send('\x16\x03\x01\x02\x00\x01');
  assert.notEqual(await silent.closed(), 'open');
  assert.notEqual(await half.closed(), 'open');
  assert.match(await plane.metricsText(), /^portcullis_tls_handshakes_total\{result="timeout"\} 2$/m);
});

test('with authorities for clients, only those with a certificate of theirs come in', async (t) => {
  const clients = authority('clients');
  const { cert, key } = ca.issue({ names: ['app.test'] });
  const seen: (string | undefined)[] = [];
  const plane = await start(t, {
    listeners: [
      {
        tls: serverTls({ cert: { inline: cert }, key: { inline: key } }, clients.cert),
        routes: [
          {
            handler: (request, reply) => {
              const { subjectCn, subject, issuer, subjectAltNames, pem } = request.clientCertificate ?? {};
              seen.push(subjectCn, subject, issuer, subjectAltNames?.join(' '), pem?.slice(0, 27));
              reply.send({ status: 200 });
            },
          },
        ],
      },
    ],
  });
  const good = clients.issue({ name: 'robot', names: ['robot.test', 'spiffe://test/ns/a/sa/b', '10.0.0.1'] });
  assert.equal((await ask(plane, 'app.test', good)).status, 200);
  assert.deepEqual(seen, [
    'robot',
    'CN=robot',
    'CN=clients',
    'robot.test spiffe://test/ns/a/sa/b 10.0.0.1',
    '-----BEGIN CERTIFICATE-----',
  ]);
  const day = 86_400_000;
  await refused(plane, { servername: 'app.test' });
  await refused(plane, { servername: 'app.test', ...ca.issue({ name: 'stranger' }) });
  await refused(plane, {
    servername: 'app.test',
    ...clients.issue({ from: new Date(Date.now() - 2 * day), to: new Date(Date.now() - day) }),
  });
  await refused(plane, { servername: 'app.test', maxVersion: 'TLSv1.2' });
  assert.equal(seen.length, 5);
});

test('a host under stricter rules cannot be reached on a connection that was opened for another one', async (t) => {
  const clients = authority('clients');
  const { cert, key } = ca.issue({ names: ['strict.test'] });
  const plane = await start(t, {
    listeners: [
      listener('open', identityOf('open.test'), 'open.test'),
      listener(
        'strict',
        serverTls({ cert: { inline: cert }, key: { inline: key } }, clients.cert),
        'strict.test',
      ),
    ],
  });
  const client = await RawClient.secure(plane.port, { servername: 'open.test' });
  assert.equal(status(await client.ask(get('/').replace('app.test', 'strict.test'))), 421);
  // A session of one listener means nothing to the other.
  const session = await new Promise<Buffer>((resolve, reject) => {
    void RawClient.secure(plane.port, { servername: 'open.test', maxVersion: 'TLSv1.2' }).then((other) => {
      resolve((other.socket as TLSSocket).getSession() as Buffer);
      other.close();
    }, reject);
  });
  await refused(plane, { servername: 'strict.test', maxVersion: 'TLSv1.2', session });
  client.close();
});

test('sessions are resumed', async (t) => {
  const plane = await start(t, { listeners: [listener('tls', identityOf('app.test'))] });
  const first = await RawClient.secure(plane.port, { servername: 'app.test' });
  const [session] = (await Promise.all([once(first.socket, 'session'), first.ask(get('/'))]))[0] as [Buffer];
  first.close();
  const second = await RawClient.secure(plane.port, { servername: 'app.test', session });
  assert.equal((second.socket as TLSSocket).isSessionReused(), true);
  assert.equal(status(await second.ask(get('/'))), 200);
  second.close();
});

test('rules may ask who the client is by its certificate', async (t) => {
  const clients = authority('clients');
  const { cert, key } = ca.issue({ names: ['app.test'] });
  const rules = [
    'source.subjectCn == "robot" && source.subject == "CN=robot" && source.issuer == "CN=clients"',
    'source.spiffeId == "spiffe://test/b" && "robot.test" in source.subjectAltNames',
    'source.certificate.startsWith("-----BEGIN CERTIFICATE-----")',
  ];
  const plane = await start(t, {
    listeners: [
      {
        tls: serverTls({ cert: { inline: cert }, key: { inline: key } }, clients.cert),
        routes: rules.map((rule, index) => ({
          name: `rule${index}`,
          prefix: `/${index}`,
          policies: { authorization: policySchemas.authorization.parse({ rules: [rule] }) },
          handler: saying('in'),
        })),
      },
    ],
  });
  const enter = async (identity: Identity): Promise<number[]> => {
    const client = await RawClient.secure(plane.port, { servername: 'app.test', ...identity });
    const codes: number[] = [];
    for (const index of rules.keys()) codes.push(status(await client.ask(get(`/${index}`))));
    client.close();
    return codes;
  };
  assert.deepEqual(
    await enter(clients.issue({ name: 'robot', names: ['robot.test', 'spiffe://test/b'] })),
    [200, 200, 200],
  );
  assert.deepEqual(await enter(clients.issue({ name: 'other' })), [403, 403, 200]);
});

test('a resumed session still says who the client is', async (t) => {
  const clients = authority('clients');
  const { cert, key } = ca.issue({ names: ['app.test'] });
  const names: (string | undefined)[] = [];
  const plane = await start(t, {
    listeners: [
      {
        tls: serverTls({ cert: { inline: cert }, key: { inline: key } }, clients.cert),
        routes: [
          {
            handler: (request, reply) => {
              names.push(request.clientCertificate?.subjectCn);
              reply.send({ status: 200 });
            },
          },
        ],
      },
    ],
  });
  const robot = clients.issue({ name: 'robot' });
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const options = { servername: 'app.test', maxVersion };
    const first = await RawClient.secure(plane.port, { ...options, ...robot });
    const kept = once(first.socket, 'session') as Promise<[Buffer]>;
    await first.ask(get('/'));
    const session = maxVersion === 'TLSv1.2' ? (first.socket as TLSSocket).getSession() : (await kept)[0];
    first.close();
    assert.ok(session !== undefined);
    const second = await RawClient.secure(plane.port, { ...options, ...robot, session });
    assert.equal((second.socket as TLSSocket).isSessionReused(), true, maxVersion);
    assert.equal(status(await second.ask(get('/'))), 200);
    second.close();
  }
  assert.deepEqual(names, ['robot', 'robot', 'robot', 'robot']);
});

test('TLS below 1.2 and suites that were not chosen are refused; HTTP/1.1 is negotiated', async (t) => {
  const tls = { ...identityOf('app.test'), ciphers: ['ECDHE-ECDSA-AES256-GCM-SHA384'] };
  const plane = await start(t, { listeners: [listener('tls', tls)] });
  const { socket } = await ask(plane, 'app.test', { ALPNProtocols: ['http/1.1'] });
  assert.equal(socket.alpnProtocol, 'http/1.1');
  const { socket: other } = await ask(plane, 'app.test', { ALPNProtocols: ['http/1.1'] });
  assert.equal(other.getCipher === undefined, false);
  await refused(plane, {
    servername: 'app.test',
    maxVersion: 'TLSv1.1',
    minVersion: 'TLSv1',
    ciphers: 'ALL@SECLEVEL=0',
  });
  await refused(plane, {
    servername: 'app.test',
    maxVersion: 'TLSv1.2',
    ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  });
  await refused(plane, { servername: 'app.test', minVersion: 'TLSv1.3' });
  await refused(plane, { servername: 'app.test', ALPNProtocols: ['acme-tls/1'] });
});

test('renewed files serve new connections and leave open ones alone; broken ones change nothing', async (t) => {
  const { tls, cert, key } = onDisk(ca.issue({ names: ['app.test'], name: 'first' }));
  const plane = await start(t, { listeners: [listener('tls', tls)] });
  const open = await RawClient.secure(plane.port, { servername: 'app.test' });
  assert.equal((await ask(plane, 'app.test')).peer, 'first');

  const second = ca.issue({ names: ['app.test'], name: 'second' });
  // A file is always replaced before the other: until then they do not belong together.
  writeFileSync(`${cert}.new`, second.cert);
  renameSync(`${cert}.new`, cert);
  await until('that is noticed', () => plane.plane.certificates[0]?.state === 'stale');
  assert.match(plane.plane.certificates[0]?.problem ?? '', /another certificate/);
  assert.equal((await ask(plane, 'app.test')).peer, 'first');
  writeFileSync(key, second.key);
  await until('both are there', () => plane.plane.certificates[0]?.state === 'ready');
  assert.equal((await ask(plane, 'app.test')).peer, 'second');

  rmSync(cert);
  await until('that is noticed', () => plane.plane.certificates[0]?.state === 'stale');
  assert.equal((await ask(plane, 'app.test')).peer, 'second');
  assert.equal(status(await open.ask(get('/'))), 200);
  assert.ok(
    plane.log.some(({ level, message }) => level === 'error' && /previous certificate/.test(message)),
  );
  open.close();
});

test('a listener without valid files refuses connections, and opens when the files are valid', async (t) => {
  const identity = ca.issue({ names: ['app.test'] });
  const { tls, cert } = onDisk({ ...identity, cert: 'nothing' });
  const plane = await start(t, { listeners: [listener('plain'), listener('tls', tls)] });
  assert.equal(plane.plane.certificates[0]?.state, 'broken');
  assert.match(plane.plane.certificates[0]?.problem ?? '', /holds no certificate/);
  await refused(plane, { servername: 'app.test' });
  assert.equal(status(await plane.ask(get('/'))), 200);
  writeFileSync(cert, identity.cert);
  await until('the file is good', () => plane.plane.certificates[0]?.state === 'ready');
  assert.equal((await ask(plane, 'app.test')).status, 200);
});

test('a new configuration changes listeners and certificates under open connections', async (t) => {
  const first = { listeners: [listener('a', identityOf('a.test'), 'a.test')] };
  const plane = await start(t, first);
  const open = await RawClient.secure(plane.port, { servername: 'a.test' });
  assert.equal(status(await open.ask(get('/').replace('app.test', 'a.test'))), 200);
  await plane.apply({
    listeners: [...first.listeners, listener('b', identityOf('b.test'), 'b.test')],
  });
  assert.equal(status(await open.ask(get('/').replace('app.test', 'a.test'))), 200);
  assert.equal((await ask(plane, 'b.test')).body, 'b https b.test');
  assert.equal(plane.plane.certificates.length, 2);
  await plane.apply(first);
  assert.equal(plane.plane.certificates.length, 1);
  open.close();
});

/** Sends a request with this host on a connection that is open. */
const askOn = async (client: RawClient, host: string): Promise<string> => {
  const answer = await client.ask(get('/').replace('app.test', host));
  return `${status(answer)} ${answer.body.toString()}`;
};

/** A listener that demands client certificates of this authority. */
const strict = (who: string, tls: ServerTls, root: string, hostname?: string): ListenerInShort =>
  listener(who, { ...tls, root: { inline: root } }, hostname);

test('a connection without a client certificate ends when its listener begins to demand one', async (t) => {
  const clients = authority('clients');
  const tls = identityOf('shop.test');
  const plane = await start(t, { listeners: [listener('open', tls, 'shop.test')] });
  const idle = await RawClient.secure(plane.port, { servername: 'shop.test' });
  assert.equal(await askOn(idle, 'shop.test'), '200 open https shop.test');
  const busy = await RawClient.secure(plane.port, { servername: 'shop.test' });
  // The client writes a single record of TLS, so the answer shows that the gateway has the start of the next request.
  assert.equal(status(await busy.ask(`${get('/').replace('app.test', 'shop.test')}GET / HTTP/1.1\r\n`)), 200);
  await plane.apply({ listeners: [strict('partners only', tls, clients.cert, 'shop.test')] });
  assert.equal(await idle.closed(), 'fin');
  // The rest of a request that had begun comes to the listener of now.
  busy.send('host: shop.test\r\n\r\n');
  const answer = await busy.answer();
  assert.deepEqual([status(answer), field(answer, 'connection')], [421, 'close']);
  assert.equal(await busy.closed(), 'fin');
  assert.match(plane.access.at(-1)?.reason ?? '', /TLS settings of .* have changed/);
});

test('a connection does not cross to a strict listener that took the place of its own', async (t) => {
  const clients = authority('clients');
  const [shop, partners] = [identityOf('shop.test'), identityOf('partners.test')];
  const first = listener('shop', shop, 'shop.test');
  const plane = await start(t, { listeners: [first] });
  const client = await RawClient.secure(plane.port, { servername: 'shop.test' });
  const request = get('/').replace('app.test', 'shop.test');
  assert.equal(status(await client.ask(`${request}GET / HTTP/1.1\r\n`)), 200);
  await plane.apply({ listeners: [strict('secrets', partners, clients.cert, 'partners.test'), first] });
  client.send('host: partners.test\r\n\r\n');
  assert.equal(status(await client.answer()), 421);
  assert.equal(await client.closed(), 'fin');
});

test('a connection ends when an authority of client certificates is replaced, in the settings or in the file', async (t) => {
  const [old, next] = [authority('old'), authority('new')];
  const root = join(folder, 'root.pem');
  writeFileSync(root, old.cert);
  const tls: ServerTls = { ...identityOf('app.test'), root: { file: root } };
  const plane = await start(t, { listeners: [listener('in', tls)] });
  const client = await RawClient.secure(plane.port, {
    servername: 'app.test',
    ...old.issue({ name: 'client' }),
  });
  assert.equal(await askOn(client, 'app.test'), '200 in https app.test');
  writeFileSync(root, next.cert);
  assert.equal(await client.closed(), 'fin');
  const second = await RawClient.secure(plane.port, {
    servername: 'app.test',
    ...next.issue({ name: 'client' }),
  });
  assert.equal(await askOn(second, 'app.test'), '200 in https app.test');
  await plane.apply({ listeners: [listener('in', { ...tls, root: { inline: old.cert } })] });
  assert.equal(await second.closed(), 'fin');
});

test('an HTTP/2 connection is told to go when its listener begins to demand a client certificate', async (t) => {
  const clients = authority('clients');
  const tls = identityOf('app.test');
  const plane = await start(t, { listeners: [listener('open', tls)] });
  const session = connectHttp2(`https://app.test:${plane.port}`, {
    lookup: (_name, _options, found) => found(null, [{ address: '127.0.0.1', family: 4 }]),
    ca: ca.cert,
  });
  t.after(() => session.destroy());
  const [headers] = (await once(session.request({ ':path': '/' }).resume(), 'response')) as [
    Record<string, unknown>,
  ];
  assert.equal(headers[':status'], 200);
  const gone = Promise.all([once(session, 'goaway'), once(session, 'close')]);
  await plane.apply({ listeners: [strict('partners only', tls, clients.cert)] });
  await gone;
});

test('connections stay open while their listener changes no more than its certificate', async (t) => {
  const clients = authority('clients');
  const root = { inline: clients.cert };
  const plane = await start(t, { listeners: [listener('in', { ...identityOf('app.test'), root })] });
  const client = await RawClient.secure(plane.port, {
    servername: 'app.test',
    ...clients.issue({ name: 'client' }),
  });
  assert.equal(await askOn(client, 'app.test'), '200 in https app.test');
  await plane.apply({ listeners: [listener('in', { ...identityOf('app.test'), root })] });
  assert.equal(await askOn(client, 'app.test'), '200 in https app.test');
  client.close();
});

test('large bodies cross under TLS, and a client that does not read holds them back', async (t) => {
  const size = 30_000_000;
  const backend = await RawBackend.start({
    onRequest: (request, connection) => {
      connection.send(`HTTP/1.1 200 OK\r\ncontent-length: ${size + request.body.length}\r\n\r\n`);
      connection.socket.write(request.body);
      connection.socket.write(Buffer.alloc(size, 'z'));
    },
  });
  t.after(() => backend.close());
  const plane = await start(t, {
    listeners: [{ tls: identityOf('app.test'), routes: [{ to: backend.port }] }],
    limits: { ...defaults.limits },
  });
  const client = await RawClient.secure(plane.port, { servername: 'app.test' });
  client.socket.pause();
  client.send(`POST / HTTP/1.1\r\nhost: app.test\r\ncontent-length: 300000\r\n\r\n${'b'.repeat(300_000)}`);
  await backend.until('the backend is held back', () =>
    [...backend.connections].some(({ socket }) => socket.writableLength > 10_000_000),
  );
  client.socket.resume();
  const answer = await client.answer();
  assert.equal(answer.body.length, size + 300_000);
  assert.equal(answer.body.toString('latin1', 0, 300_000), 'b'.repeat(300_000));
  client.close();
});

test('an answer that is cut short reaches a client of TLS as an error, not as an end', async (t) => {
  const backend = await RawBackend.start({
    onRequest: (_request, connection) => {
      connection.send('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nhalf');
      connection.socket.end();
    },
  });
  t.after(() => backend.close());
  const plane = await start(t, {
    listeners: [{ tls: identityOf('app.test'), routes: [{ to: backend.port }] }],
  });
  await assert.rejects(ask(plane, 'app.test'), /ended \((?:reset|fin)\)/);
  await until('it is gone', () => plane.connections === 0);
});

test('a drain lets connections under TLS end in order', async (t) => {
  const plane = await start(t, { listeners: [listener('tls', identityOf('app.test'))] });
  const idle = await RawClient.secure(plane.port, { servername: 'app.test' });
  await plane.plane.drain();
  assert.equal(await idle.closed(), 'fin');
});

test('a listener with several certificates shows the one that fits the name best', async (t) => {
  const pair = (...names: string[]) => {
    const { cert, key } = ca.issue({ names, name: names[0] ?? '' });
    return { cert: { inline: cert }, key: { inline: key } };
  };
  const more = [pair('*.example.com'), pair('a.example.com', 'b.test')];
  const plane = await start(t, { listeners: [listener('all', { ...identityOf('first.test'), more })] });
  for (const [name, shown] of [
    ['first.test', 'first.test'],
    ['a.example.com', 'a.example.com'],
    ['b.test', 'a.example.com'],
    ['other.example.com', '*.example.com'],
    ['unknown.test', 'first.test'],
  ] as const)
    assert.equal((await ask(plane, name, { rejectUnauthorized: false })).peer, shown, name);
});

test('further certificates do not weaken client authentication', async (t) => {
  const { cert, key } = ca.issue({ names: ['b.test'], name: 'b.test' });
  const tls: ServerTls = {
    ...identityOf('a.test'),
    more: [{ cert: { inline: cert }, key: { inline: key } }],
    root: { inline: ca.cert },
  };
  const plane = await start(t, { listeners: [listener('mtls', tls)] });
  await refused(plane, { servername: 'b.test', ca: ca.cert });
  const client = ca.issue({ name: 'me' });
  assert.equal((await ask(plane, 'b.test', { ca: ca.cert, ...client })).status, 200);
});

test('with optional client certificates every client is served, and only a signed certificate identifies one', async (t) => {
  const tls: ServerTls = { ...identityOf('app.test'), root: { inline: ca.cert }, rootOptional: true };
  const who: LocalHandler = (request, reply) =>
    reply.send({ status: 200, body: request.clientCertificate?.subjectCn ?? 'nobody' });
  const plane = await start(t, { listeners: [{ tls, routes: [{ handler: who }] }] });
  const stranger = authority('others').issue({ name: 'stranger' });
  const known = ca.issue({ name: 'known' });
  assert.equal((await ask(plane, 'app.test', { ca: ca.cert })).body, 'nobody');
  assert.equal((await ask(plane, 'app.test', { ca: ca.cert, ...stranger })).body, 'nobody');
  assert.equal((await ask(plane, 'app.test', { ca: ca.cert, ...known })).body, 'known');
});

test('a client certificate that another authority of the same name has signed does not end the connection', async (t) => {
  const tls: ServerTls = { ...identityOf('app.test'), root: { inline: ca.cert }, rootOptional: true };
  // The answer comes after whatever reading on does to the connection.
  const late: LocalHandler = (request, reply) =>
    void setImmediate(() => {
      reply.send({ status: 200, body: request.clientCertificate?.subjectCn ?? 'nobody' });
    });
  const plane = await start(t, { listeners: [{ tls, routes: [{ handler: late }] }] });
  const forged = authority().issue({ name: 'known' });
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const)
    assert.equal((await ask(plane, 'app.test', { ca: ca.cert, ...forged, maxVersion })).body, 'nobody');
});
