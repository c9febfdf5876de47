import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { createServer, type Server, type TlsOptions, type TLSSocket } from 'node:tls';
import { authority, certificate, type Identity } from '../certificates.testing.ts';
import type { BackendTls } from '../../model/index.ts';
import { TestPlane } from '../dataPlane.testing.ts';
import { until } from '../../until.testing.ts';
import { get, ok, post, status, type Message } from '../wire.testing.ts';

const ca = authority();
const folder = mkdtempSync(join(tmpdir(), 'portcullis-tls-'));
after(() => rmSync(folder, { recursive: true }));

interface TlsBackend {
  readonly port: number;
  readonly server: Server;
  /** The sockets of completed handshakes. */
  readonly sockets: TLSSocket[];
}

/** Answers every read with the server name that was asked for and the name of the client's certificate. */
async function backend(
  t: TestContext,
  identity: Identity,
  options: TlsOptions = {},
  body?: string,
): Promise<TlsBackend> {
  const sockets: TLSSocket[] = [];
  const server = createServer({ ...identity, ALPNProtocols: ['http/1.1'], ...options }, (socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', () => {
      const peer = socket.getPeerCertificate();
      const seen = [socket.servername || '-', socket.alpnProtocol, peer?.subject?.CN ?? '-'].join(' ');
      socket.write(ok(body ?? seen));
    });
  });
  // Clients that refuse the certificate are what some tests are about.
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, server, sockets };
}

const strict: BackendTls = { insecure: false, insecureHost: false, subjectAltNames: [] };

async function plane(t: TestContext, port: number, tls: BackendTls): Promise<TestPlane> {
  const gateway = await TestPlane.start({ routes: [{ targets: [{ host: '127.0.0.1', port, tls }] }] });
  t.after(() => gateway.close());
  return gateway;
}

/** The answer to one request, and why it failed where it did. */
async function asked(gateway: TestPlane): Promise<{ answer: Message; error?: string; reason?: string }> {
  const before = gateway.access.length;
  const answer = await gateway.ask(get());
  await until('the access log', () => gateway.access.length > before);
  const { error, reason } = gateway.access.at(-1) ?? {};
  return { answer, ...(error && { error }), ...(reason && { reason }) };
}

async function refusal(gateway: TestPlane, reason: RegExp): Promise<void> {
  const seen = await asked(gateway);
  assert.equal(status(seen.answer), 503);
  assert.equal(seen.answer.body.toString(), 'upstream connect failed\n');
  assert.equal(seen.error, 'upstream_tls_failed');
  assert.match(seen.reason ?? '', reason);
}

test('a backend with a certificate of the authority is served, asked for by its name', async (t) => {
  const { port } = await backend(t, ca.issue({ names: ['shop.test'] }));
  const gateway = await plane(t, port, { ...strict, root: { inline: ca.cert }, hostname: 'shop.test' });
  const { answer } = await asked(gateway);
  assert.equal(status(answer), 200);
  assert.equal(answer.body.toString(), 'shop.test http/1.1 -');
});

test('an address is no server name, and the certificate must hold it', async (t) => {
  const { port } = await backend(t, ca.issue({ names: ['127.0.0.1'] }));
  const gateway = await plane(t, port, { ...strict, root: { inline: ca.cert } });
  assert.equal((await asked(gateway)).answer.body.toString(), '- http/1.1 -');
  const other = await backend(t, ca.issue({ names: ['127.0.0.2'] }));
  await refusal(
    await plane(t, other.port, { ...strict, root: { inline: ca.cert } }),
    /ERR_TLS_CERT_ALTNAME_INVALID/,
  );
});

test('a certificate that nobody trusts, for another name or past its time is refused, with the reason in the log', async (t) => {
  const root = { inline: ca.cert };
  const self = await backend(t, certificate({ names: ['shop.test'] }));
  await refusal(
    await plane(t, self.port, { ...strict, root, hostname: 'shop.test' }),
    /DEPTH_ZERO_SELF_SIGNED_CERT/,
  );
  const named = await backend(t, ca.issue({ names: ['other.test'] }));
  await refusal(
    await plane(t, named.port, { ...strict, root, hostname: 'shop.test' }),
    /ERR_TLS_CERT_ALTNAME_INVALID.*other\.test/,
  );
  const old = await backend(t, ca.issue({ names: ['shop.test'], to: new Date(Date.now() - 1_000) }));
  await refusal(await plane(t, old.port, { ...strict, root, hostname: 'shop.test' }), /CERT_HAS_EXPIRED/);
  // Without a root of its own, what the platform trusts counts.
  const good = await backend(t, ca.issue({ names: ['shop.test'] }));
  await refusal(
    await plane(t, good.port, { ...strict, hostname: 'shop.test' }),
    /UNABLE_TO_VERIFY_LEAF_SIGNATURE/,
  );
});

test('insecure takes any certificate, insecureHost a trusted one for any name', async (t) => {
  const self = await backend(t, certificate({ names: ['other.test'] }));
  const named = await backend(t, ca.issue({ names: ['other.test'] }));
  assert.equal(status((await asked(await plane(t, self.port, { ...strict, insecure: true }))).answer), 200);
  const lenient = { ...strict, insecureHost: true, root: { inline: ca.cert } };
  assert.equal(status((await asked(await plane(t, named.port, lenient))).answer), 200);
  await refusal(await plane(t, self.port, lenient), /DEPTH_ZERO_SELF_SIGNED_CERT/);
});

test('another name or URI of the certificate counts where the settings name it', async (t) => {
  const root = { inline: ca.cert };
  const { port } = await backend(t, ca.issue({ names: ['pod.test', 'spiffe://cluster/ns/a/sa/b'] }));
  for (const [name, expected] of [
    ['pod.test', 200],
    ['spiffe://cluster/ns/a/sa/b', 200],
    ['spiffe://cluster/ns/a/sa/bad', 503],
    ['other.test', 503],
  ] as const) {
    const gateway = await plane(t, port, { ...strict, root, hostname: 'svc.test', subjectAltNames: [name] });
    assert.equal(status((await asked(gateway)).answer), expected, name);
  }
});

test('the certificate of the gateway is shown, and a backend that wants one and gets none is a failure of TLS', async (t) => {
  const root = { inline: ca.cert };
  const { port } = await backend(t, ca.issue({ names: ['shop.test'] }), {
    requestCert: true,
    rejectUnauthorized: true,
    ca: ca.cert,
  });
  const mine = ca.issue({ name: 'the gateway' });
  const client = { cert: { inline: mine.cert }, key: { inline: mine.key } };
  const gateway = await plane(t, port, { ...strict, root, hostname: 'shop.test', client });
  assert.equal((await asked(gateway)).answer.body.toString(), 'shop.test http/1.1 the gateway');
  await refusal(await plane(t, port, { ...strict, root, hostname: 'shop.test' }), /CERTIFICATE_REQUIRED/);
});

test('TLS to a plain port, or no answer to the handshake, is a failure of TLS', async (t) => {
  const plain = await TestPlane.start({ routes: [] });
  t.after(() => plain.close());
  await refusal(await plane(t, plain.port, { ...strict, insecure: true }), /ERR_SSL/);
  const { createServer: listen } = await import('node:net');
  const silent = listen((socket) => socket.on('error', () => undefined).end()).listen(0, '127.0.0.1');
  t.after(() => silent.close());
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  await refusal(await plane(t, port, { ...strict, insecure: true }), /TLS/);
});

test('connections are pooled, and a new one resumes the session of an earlier one', async (t) => {
  const { port, sockets } = await backend(t, ca.issue({ names: ['shop.test'] }));
  const gateway = await plane(t, port, { ...strict, root: { inline: ca.cert }, hostname: 'shop.test' });
  const client = await gateway.client();
  await client.ask(get());
  await client.ask(get());
  assert.equal(sockets.length, 1);
  assert.equal(sockets[0]?.isSessionReused(), false);
  sockets[0]?.destroy();
  await until('the end of the connection', () => gateway.upstreamConnections === 0);
  await client.ask(get());
  assert.equal(sockets.length, 2);
  assert.equal(sockets[1]?.isSessionReused(), true);
});

test('large bodies cross both ways', async (t) => {
  const body = 'x'.repeat(3_000_000);
  const received: number[] = [];
  const identity = ca.issue({ names: ['shop.test'] });
  const server = createServer({ ...identity }, (socket) => {
    let bytes = 0;
    socket.on('data', (chunk) => {
      bytes += chunk.length;
      if (bytes > body.length) {
        received.push(bytes);
        socket.write(ok(body));
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const gateway = await plane(t, port, { ...strict, root: { inline: ca.cert }, hostname: 'shop.test' });
  const answer = await gateway.ask(post(body));
  assert.equal(status(answer), 200);
  assert.equal(answer.body.toString(), body);
  assert.equal(received.length, 1);
});

test('files are reloaded when they change; unreadable ones leave the previous files in use', async (t) => {
  const file = join(folder, 'root.pem');
  const renew = (text: string): void => {
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
  };
  const next = authority('the next one');
  const old = await backend(t, ca.issue({ names: ['shop.test'] }), {}, 'old');
  renew(ca.cert);
  const gateway = await plane(t, old.port, { ...strict, root: { file }, hostname: 'shop.test' });
  assert.equal((await asked(gateway)).answer.body.toString(), 'old');

  renew('rubbish');
  await until('the complaint', () => gateway.log.some(({ message }) => message.includes('files rejected')));
  assert.equal((await asked(gateway)).answer.body.toString(), 'old');

  renew(next.cert);
  await until('the new files', () => gateway.log.some(({ message }) => message.includes('files reloaded')));
  // The idle connection that was checked against the old authority is gone, and its session is not resumed.
  await refusal(gateway, /UNABLE_TO_VERIFY|SELF_SIGNED/);
  old.server.setSecureContext(next.issue({ names: ['shop.test'] }));
  assert.equal((await asked(gateway)).answer.body.toString(), 'old');
});

test('a route with unreadable files is closed and reported; other routes are served', async (t) => {
  const { port } = await backend(t, certificate());
  const file = join(folder, 'absent.pem');
  const gateway = await TestPlane.start({
    routes: [
      { prefix: '/closed', targets: [{ host: '127.0.0.1', port, tls: { ...strict, root: { file } } }] },
      { prefix: '/', targets: [{ host: '127.0.0.1', port, tls: { ...strict, insecure: true } }] },
    ],
  });
  t.after(() => gateway.close());
  assert.equal(status(await gateway.ask(get('/closed'))), 500);
  assert.match(gateway.plane.broken[0]?.problem ?? '', /backendTLS\.root: .*absent\.pem: ENOENT/);
  assert.equal(status(await gateway.ask(get('/'))), 200);
  const client = { cert: { inline: ca.issue({}).cert }, key: { inline: ca.issue({}).key } };
  const mismatched = await plane(t, port, { ...strict, client });
  assert.match(
    mismatched.plane.broken[0]?.problem ?? '',
    /^backendTLS\.key: .*belongs to another certificate/,
  );
});

test('a connection that was not verified is never used by a route that verifies', async (t) => {
  const { port } = await backend(t, certificate({ names: ['shop.test'] }));
  const target = { host: '127.0.0.1', port };
  const gateway = await TestPlane.start({
    routes: [
      { prefix: '/insecure', targets: [{ ...target, tls: { ...strict, insecure: true } }] },
      { prefix: '/', targets: [{ ...target, tls: { ...strict, root: { inline: ca.cert } } }] },
    ],
  });
  t.after(() => gateway.close());
  const client = await gateway.client();
  assert.equal(status(await client.ask(get('/insecure'))), 200);
  assert.equal(status(await client.ask(get('/'))), 503);
});

test('with subjectAltNames, the host name selects the certificate and proves nothing', async (t) => {
  const root = { inline: ca.cert };
  const { port } = await backend(t, ca.issue({ names: ['shop.test', 'spiffe://cluster/ns/shop'] }));
  const only = (...subjectAltNames: string[]): BackendTls => ({
    ...strict,
    root,
    hostname: 'shop.test',
    subjectAltNames,
    subjectAltNamesOnly: true,
  });
  await refusal(await plane(t, port, only('other.test')), /none of the names other\.test/);
  await refusal(await plane(t, port, only('spiffe://cluster/ns/other')), /none of the names/);
  for (const name of ['shop.test', 'spiffe://cluster/ns/shop']) {
    const { answer } = await asked(await plane(t, port, only('other.test', name)));
    assert.equal(answer.body.toString(), 'shop.test http/1.1 -', name);
  }
});
