/** TLS listeners: connections told apart by server name, passed on as they came or decrypted first. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Bind, Limits, Listener, ServerTls, TcpListener, TcpRoute } from '../../model/index.ts';
import { authority, type Identity } from '../certificates.testing.ts';
import { TestPlane } from '../dataPlane.testing.ts';
import { invalidBackend, place, startRaw, tcpBackend, tcpRoute } from '../rawServer.testing.ts';
import { until } from '../../until.testing.ts';
import { get, ok, RawBackend, RawClient, status } from '../wire.testing.ts';

const ca = authority();

const passthrough = (tcpRoutes: readonly TcpRoute[], hostname?: string, name = 'through'): TcpListener => ({
  name,
  protocol: 'TLS',
  ...(hostname === undefined ? {} : { hostname }),
  tcpRoutes,
});

/** Settings of a listener; the key has to be a file. */
function serverTls(t: TestContext, { cert, key }: Identity, more: Partial<ServerTls> = {}): ServerTls {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'key.pem'), key);
  return {
    cert: { inline: cert },
    key: { file: join(folder, 'key.pem') },
    ciphers: ['TLS_AES_128_GCM_SHA256', 'ECDHE-ECDSA-AES128-GCM-SHA256'],
    minVersion: 'TLSv1.2',
    maxVersion: 'TLSv1.3',
    ...more,
  };
}

async function start(
  t: TestContext,
  listeners: readonly Listener[],
  limits: Partial<Limits> = {},
): Promise<TestPlane> {
  const binds: Bind[] = [{ port: 0, listeners }];
  const plane = await TestPlane.start({ binds, limits });
  t.after(() => plane.close());
  return plane;
}

const handshakes = async (plane: TestPlane, result: string): Promise<number> => {
  const line = new RegExp(`^portcullis_tls_handshakes_total\\{result="${result}"\\} (\\d+)$`, 'm');
  return Number(line.exec(await plane.metricsText())?.[1] ?? 0);
};

/** The first words of a server behind the gateway, as heard by a client that trusts our authority. */
async function greeting(t: TestContext, port: number, servername: string): Promise<string> {
  const client = await RawClient.secure(port, { servername, ca: ca.cert, rejectUnauthorized: true });
  t.after(() => client.close());
  return await client.find('a greeting', () => (client.text === '' ? undefined : client.text.trim()));
}

async function secureServer(t: TestContext, name: string, ...names: string[]): Promise<number> {
  return (await startRaw(t, { name, tls: ca.issue({ names }) })).port;
}

test('the client shakes hands with the backend that its server name chooses', async (t) => {
  const exact = await secureServer(t, 'exact', 'a.example.com');
  const wide = await secureServer(t, 'wide', '*.example.com', '*.b.example.com');
  const rest = await secureServer(t, 'rest', 'other.test');
  const plane = await start(t, [
    passthrough([
      tcpRoute([tcpBackend(rest)]),
      tcpRoute([tcpBackend(wide)], ['*.example.com']),
      tcpRoute([tcpBackend(exact)], ['a.example.com']),
    ]),
  ]);
  assert.equal(await greeting(t, plane.port, 'a.example.com'), 'exact');
  assert.equal(await greeting(t, plane.port, 'A.Example.com'), 'exact');
  assert.equal(await greeting(t, plane.port, 'c.example.com'), 'wide');
  assert.equal(await greeting(t, plane.port, 'c.b.example.com'), 'wide');
  assert.equal(await greeting(t, plane.port, 'other.test'), 'rest');
  assert.equal(await handshakes(plane, 'passed'), 5);
  assert.equal(await handshakes(plane, 'ok'), 0);
});

/** The first flight of a client for a server name. */
async function helloFor(servername: string): Promise<Buffer> {
  const taker = await RawBackend.start({});
  try {
    const client = RawClient.secure(taker.port, { servername, ALPNProtocols: ['h2', 'postgresql'] });
    client.catch(() => undefined);
    await taker.until('a client is there', () => taker.connections.size > 0);
    const [connection] = taker.connections;
    assert.ok(connection !== undefined);
    return await connection.find('the hello', () => {
      const { bytes } = connection.inbox;
      return bytes.length > 5 && bytes.length === 5 + bytes.readUInt16BE(3) ? Buffer.from(bytes) : undefined;
    });
  } finally {
    await taker.close();
  }
}

test('the hello reaches the backend byte for byte, in however many pieces it came', async (t) => {
  const hello = await helloFor('a.example.com');
  const server = await startRaw(t);
  const plane = await start(t, [passthrough([tcpRoute([tcpBackend(server.port)], ['a.example.com'])])]);
  for (const [index, pieces] of [[hello], [...hello].map((byte) => Buffer.from([byte]))].entries()) {
    const client = await plane.client();
    for (const piece of pieces) {
      await new Promise((resolve) => client.socket.write(piece, resolve));
    }
    client.send('and what follows');
    const there = await server.connection(index);
    await there.find('all of it', () => (there.text.endsWith('and what follows') ? true : undefined));
    assert.deepEqual(there.inbox.bytes, Buffer.concat([hello, Buffer.from('and what follows')]));
    client.reset();
  }
});

test('a server name of no route, and of no listener, is closed before any handshake', async (t) => {
  const port = await secureServer(t, 'a', 'a.example.com');
  const plane = await start(t, [
    passthrough([tcpRoute([tcpBackend(port)], ['a.example.com', 'a.elsewhere.test'])], '*.example.com'),
  ]);
  assert.equal(await greeting(t, plane.port, 'a.example.com'), 'a');
  for (const name of ['b.example.com', 'a.elsewhere.test', 'example.com', '']) {
    const failed = await RawClient.secure(plane.port, { servername: name }).then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error.code,
    );
    assert.equal(failed, 'ECONNRESET', name);
  }
  assert.equal(await handshakes(plane, 'no_route'), 1);
  assert.equal(await handshakes(plane, 'no_listener'), 3);
});

test('the gateway closes a connection without a usable backend', async (t) => {
  const identity = serverTls(t, ca.issue({ names: ['t.example.com'] }));
  const plane = await start(t, [
    passthrough([tcpRoute([invalidBackend()])], 'p.example.com'),
    {
      name: 'ends',
      protocol: 'TLS',
      hostname: 't.example.com',
      tls: identity,
      tcpRoutes: [tcpRoute([invalidBackend()], [], 'nobody')],
    },
  ]);
  for (const servername of ['p.example.com', 't.example.com'])
    await assert.rejects(RawClient.secure(plane.port, { servername }), { code: 'ECONNRESET' });
  assert.equal(plane.access[0]?.error, 'no_backend');
  assert.equal(plane.access[0].host, 'p.example.com');
  assert.equal(plane.access[0].method, 'TLS');
  assert.equal(await handshakes(plane, 'no_route'), 1);
});

test('a listener with a certificate decrypts forwarded bytes, and offers no protocol', async (t) => {
  const server = await startRaw(t, { name: 'plain' });
  const plane = await start(t, [
    {
      name: 'ends',
      protocol: 'TLS',
      hostname: '*.example.com',
      tls: serverTls(t, ca.issue({ names: ['db.example.com'] })),
      tcpRoutes: [tcpRoute([tcpBackend(server.port)], ['db.example.com'])],
    },
  ]);
  const client = await RawClient.secure(plane.port, {
    servername: 'db.example.com',
    ca: ca.cert,
    rejectUnauthorized: true,
    ALPNProtocols: ['h2', 'http/1.1'],
  });
  assert.equal((client.socket as unknown as { alpnProtocol: unknown }).alpnProtocol, false);
  await client.find('the greeting', () => (client.text === 'plain\n' ? true : undefined));
  client.socket.end('select 1');
  const there = await server.connection();
  assert.equal(await there.closed(), 'fin');
  assert.equal(there.text, 'select 1');
  there.socket.end('one');
  assert.equal(await client.closed(), 'fin');
  assert.equal(client.text, 'plain\none');
  await until('it is over', () => plane.access.length === 1);
  const [line] = plane.access;
  assert.equal(line?.host, 'db.example.com');
  assert.equal(line.requestBytes, 8);
  assert.equal(await handshakes(plane, 'ok'), 1);
  await assert.rejects(RawClient.secure(plane.port, { servername: 'x.example.com' }), { code: 'ECONNRESET' });
});

test('clients without a certificate stay out where the listener asks for one', async (t) => {
  const clients = authority('clients');
  const server = await startRaw(t, { name: 'in' });
  const plane = await start(t, [
    {
      name: 'ends',
      protocol: 'TLS',
      tls: serverTls(t, ca.issue({ names: ['db.example.com'] }), { root: { inline: clients.cert } }),
      tcpRoutes: [tcpRoute([tcpBackend(server.port)])],
    },
  ]);
  const options = { servername: 'db.example.com', ca: ca.cert, rejectUnauthorized: true };
  const known = await RawClient.secure(plane.port, { ...options, ...clients.issue({ name: 'me' }) });
  await known.find('the greeting', () => (known.text === 'in\n' ? true : undefined));
  known.close();
  // In TLS 1.3 the client learns of its refusal behind the handshake.
  const stranger = await RawClient.secure(plane.port, { ...options, ...ca.issue({ name: 'you' }) });
  await stranger.closed();
  assert.equal(stranger.text, '');
  assert.equal(server.connections.length, 1);
});

test('HTTPS, TLS passed on, TLS that ends here and plain HTTP share a port', async (t) => {
  const app = await RawBackend.start({ onRequest: (_request, connection) => connection.send(ok('app')) });
  t.after(() => app.close());
  const through = await secureServer(t, 'through', 'b.example');
  const ends = await startRaw(t, { name: 'ends' });
  const route = {
    name: 'web',
    hostnames: [],
    matches: [{ path: { kind: 'prefix', value: '/' }, headers: [], query: [] }],
    policies: [],
    backends: [{ kind: 'http', weight: 1, key: 'web', place, host: '127.0.0.1', port: app.port }],
    place,
  } as const;
  const plane = await start(t, [
    {
      name: 'web',
      protocol: 'HTTPS',
      hostname: '*.example',
      tls: serverTls(t, ca.issue({ names: ['a.example', 'b.example'] })),
      policies: [],
      routes: [route],
    },
    passthrough([tcpRoute([tcpBackend(through)])], 'b.example'),
    {
      name: 'ends',
      protocol: 'TLS',
      hostname: 'c.example',
      tls: serverTls(t, ca.issue({ names: ['c.example'] })),
      tcpRoutes: [tcpRoute([tcpBackend(ends.port)], [], 'ends')],
    },
    { name: 'plain', protocol: 'HTTP', policies: [], routes: [route] },
  ]);
  assert.equal(await greeting(t, plane.port, 'b.example'), 'through');
  assert.equal(await greeting(t, plane.port, 'c.example'), 'ends');
  assert.equal(status(await plane.ask(get())), 200);
  const browser = await RawClient.secure(plane.port, { servername: 'a.example', ca: ca.cert });
  t.after(() => browser.close());
  const request = (host: string): string => `GET / HTTP/1.1\r\nhost: ${host}\r\n\r\n`;
  assert.equal(status(await browser.ask(request('a.example'))), 200);
  // The certificate is good for it, but behind that name there is no HTTP of ours.
  assert.equal(status(await browser.ask(request('b.example'))), 421);
  assert.equal(status(await browser.ask(request('c.example'))), 421);
  assert.equal(status(await browser.ask(request('a.example'))), 200);
});

test('the gateway closes a connection that is not TLS or sends no complete hello', async (t) => {
  const port = await secureServer(t, 'a', 'a.example.com');
  const plane = await start(t, [passthrough([tcpRoute([tcpBackend(port)])])], { handshakeTimeoutMs: 100 });
  const stranger = await plane.client();
  stranger.send('\0\0\0\x08\x04\xd2\x16\x2f');
  await stranger.closed();
  const silent = await plane.client();
  await silent.closed();
  const half = await plane.client();
  half.send((await helloFor('a.example.com')).subarray(0, 60));
  await half.closed();
  const garbled = await plane.client();
  garbled.send(Buffer.from([22, 3, 1, 0, 5, 1, 0, 0, 1, 0]));
  await garbled.closed();
  assert.equal(await handshakes(plane, 'timeout'), 2);
  assert.equal(await handshakes(plane, 'not_tls'), 1);
  assert.equal(await handshakes(plane, 'failed'), 1);
  await until('none is left', () => plane.connections === 0);
});

test('a client that leaves during the handshake leaves nothing behind', async (t) => {
  const port = await secureServer(t, 'a', 'a.example.com');
  const plane = await start(t, [passthrough([tcpRoute([tcpBackend(port)])])]);
  const socket = connect({ port: plane.port, host: '127.0.0.1' });
  socket.write(Buffer.from([22, 3, 1]));
  await until('it is there', () => plane.connections === 1);
  socket.destroy();
  await until('it is gone', () => plane.connections === 0);
});
