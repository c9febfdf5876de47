/** Ports behind a proxy that says whom its connections are from (the PROXY protocol of haproxy). */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { block, extension, ipv6Addresses, withChecksum } from '../../http/proxyHeader.testing.ts';
import type { Bind, HttpListener, Limits, Listener, PolicyUse, ProxyProtocol } from '../../model/index.ts';
import { policySchemas } from '../../policies/index.ts';
import { authority } from '../certificates.testing.ts';
import { TestPlane } from '../dataPlane.testing.ts';
import { freePorts } from '../ports.testing.ts';
import { place, startRaw, tcpBackend, tcpRoute } from '../rawServer.testing.ts';
import { until } from '../../until.testing.ts';
import { field, get, ok, RawBackend, RawClient, status } from '../wire.testing.ts';

const line = 'PROXY TCP4 192.0.2.7 198.51.100.1 40000 443\r\n';
const strict: ProxyProtocol = { version: 'all', mode: 'strict' };
const optional: ProxyProtocol = { version: 'all', mode: 'optional' };

const webListener = (port: number, more: Partial<HttpListener> = {}): HttpListener => ({
  name: 'web',
  protocol: 'HTTP',
  policies: [],
  routes: [
    {
      name: 'web',
      hostnames: [],
      matches: [{ path: { kind: 'prefix', value: '/' }, headers: [], query: [] }],
      policies: [],
      backends: [{ kind: 'http', weight: 1, key: 'web', place, host: '127.0.0.1', port }],
      place,
    },
  ],
  ...more,
});

async function start(
  t: TestContext,
  proxyProtocol: ProxyProtocol,
  listeners: readonly Listener[],
  limits: Partial<Limits> = {},
): Promise<TestPlane> {
  const binds: Bind[] = [{ port: 0, proxyProtocol, listeners }];
  const plane = await TestPlane.start({ binds, limits });
  t.after(() => plane.close());
  return plane;
}

async function startApp(t: TestContext): Promise<RawBackend> {
  const app = await RawBackend.start({ onRequest: (_request, connection) => connection.send(ok('app')) });
  t.after(() => app.close());
  return app;
}

const headers = async (plane: TestPlane, result: string): Promise<number> => {
  const found = new RegExp(`^portcullis_proxy_headers_total\\{result="${result}"\\} (\\d+)$`, 'm');
  return Number(found.exec(await plane.metricsText())?.[1] ?? 0);
};

const rule = (expression: string): PolicyUse => ({
  name: 'authorization',
  settings: policySchemas.authorization.parse({ rules: [expression] }),
  place,
});

for (const [version, header] of [
  ['a line', Buffer.from(line)],
  ['a block', block()],
  ['a block with extensions and a checksum', withChecksum({ extensions: extension(2, Buffer.from('a')) })],
] as const)
  test(`${version} tells backend, rules and log who the client is`, async (t) => {
    const app = await startApp(t);
    const everything =
      'source.address == "192.0.2.7" && source.port == 40000 && source.rawAddress == "127.0.0.1" && ' +
      'source.rawPort != 40000 && destination.address == "198.51.100.1" && destination.port == 443';
    const plane = await start(t, strict, [webListener(app.port, { policies: [rule(everything)] })]);
    const client = await plane.client();
    client.send(Buffer.concat([header, Buffer.from(get())]));
    assert.equal(status(await client.answer()), 200);
    // It holds for the whole connection.
    assert.equal(status(await client.ask(get('/again'))), 200);
    assert.deepEqual(
      app.requests.map((request) => field(request, 'x-forwarded-for')),
      ['192.0.2.7', '192.0.2.7'],
    );
    assert.deepEqual(
      plane.access.map((record) => record.client),
      ['192.0.2.7', '192.0.2.7'],
    );
    assert.equal(await headers(plane, 'told'), 1);
  });

test('limits by address go by that of the client', async (t) => {
  const app = await startApp(t);
  const limit: PolicyUse = {
    name: 'localRateLimit',
    settings: policySchemas.localRateLimit.parse([
      { maxTokens: 1, tokensPerFill: 1, fillInterval: '1h', key: 'source.address' },
    ]),
    place,
  };
  const [route] = webListener(app.port).routes;
  assert.ok(route !== undefined);
  const plane = await start(t, strict, [
    webListener(app.port, { routes: [{ ...route, policies: [limit] }] }),
  ]);
  const ask = async (address: string): Promise<number> => {
    const client = await plane.client();
    client.send(`PROXY TCP4 ${address} 198.51.100.1 1 2\r\n${get()}`);
    return status(await client.answer());
  };
  assert.deepEqual([await ask('192.0.2.1'), await ask('192.0.2.1'), await ask('192.0.2.2')], [200, 429, 200]);
});

test('a LOCAL PROXY header leaves the address of the connection unchanged', async (t) => {
  const app = await startApp(t);
  const plane = await start(t, strict, [webListener(app.port)]);
  for (const header of [
    Buffer.from('PROXY UNKNOWN\r\n'),
    block({ command: 0x20, family: 0, addresses: Buffer.alloc(0) }),
  ]) {
    const client = await plane.client();
    client.send(Buffer.concat([header, Buffer.from(get())]));
    assert.equal(status(await client.answer()), 200);
  }
  assert.deepEqual(
    app.requests.map((request) => field(request, 'x-forwarded-for')),
    ['127.0.0.1', '127.0.0.1'],
  );
  assert.equal(await headers(plane, 'local'), 2);
});

test('the header may come a byte at a time, with the request on its heels', async (t) => {
  const app = await startApp(t);
  const plane = await start(t, strict, [webListener(app.port)]);
  for (const header of [Buffer.from(line), block()]) {
    const client = await plane.client();
    for (const byte of Buffer.concat([header, Buffer.from(get())]))
      await new Promise((resolve) => client.socket.write(Buffer.from([byte]), resolve));
    assert.equal(status(await client.answer()), 200);
  }
  assert.deepEqual(
    app.requests.map((request) => field(request, 'x-forwarded-for')),
    ['192.0.2.7', '192.0.2.7'],
  );
});

for (const [what, bytes] of [
  ['no header', Buffer.from(get())],
  ['a broken line', Buffer.from('PROXY TCP4 not an address\r\n')],
  ['a broken block', block({ family: 0x13 })],
  ['a block with a wrong checksum', block({ extensions: extension(3, Buffer.alloc(4, 1)) })],
] as const)
  test(`a connection with ${what} is closed without an answer, counted and named in the log`, async (t) => {
    const app = await startApp(t);
    const plane = await start(t, strict, [webListener(app.port)]);
    for (let i = 0; i < 2; i++) {
      const client = await plane.client();
      client.send(bytes);
      await client.closed();
      assert.equal(client.text, '');
    }
    assert.equal(app.requests.length, 0);
    assert.equal(await headers(plane, 'refused'), 2);
    // The log has a single line, however many connections there are.
    assert.equal(plane.log.filter(({ level }) => level === 'warn').length, 1);
    assert.match(
      String(plane.log.find(({ level }) => level === 'warn')?.fields?.['problem']),
      /^127\.0\.0\.1: /,
    );
    await until('none is left', () => plane.connections === 0);
  });

test('a header that does not come in time ends the connection', async (t) => {
  const app = await startApp(t);
  const plane = await start(t, strict, [webListener(app.port)], { handshakeTimeoutMs: 100 });
  const silent = await plane.client();
  const slow = await plane.client();
  slow.send('PROXY TCP4 192.0.');
  await silent.closed();
  await slow.closed();
  assert.equal(await headers(plane, 'timeout'), 2);
  await until('none is left', () => plane.connections === 0);
});

test('a second header is part of the request, and none of it', async (t) => {
  const app = await startApp(t);
  const plane = await start(t, strict, [webListener(app.port)]);
  const client = await plane.client();
  client.send(`${line}PROXY TCP4 203.0.113.9 198.51.100.1 1 2\r\n${get()}`);
  assert.equal(status(await client.answer()), 400);
  assert.equal(app.requests.length, 0);
});

test('with an optional header, connections without one keep their own address', async (t) => {
  const app = await startApp(t);
  const plane = await start(t, optional, [webListener(app.port)]);
  assert.equal(status(await plane.ask(get())), 200);
  // Empty lines before a request begin as a block does.
  assert.equal(status(await plane.ask(`\r\n\r\n${get()}`)), 200);
  assert.equal(status(await plane.ask(line + get())), 200);
  assert.deepEqual(
    app.requests.map((request) => field(request, 'x-forwarded-for')),
    ['127.0.0.1', '127.0.0.1', '192.0.2.7'],
  );
  assert.equal(await headers(plane, 'absent'), 2);
  const broken = await plane.client();
  broken.send('PROXY nonsense\r\n');
  await broken.closed();
  assert.equal(broken.text, '');
});

/** A connection on which the header has been sent. */
function announced(t: TestContext, port: number): Socket {
  const socket = connect({ port, host: '127.0.0.1' });
  t.after(() => socket.destroy());
  socket.write(line);
  return socket;
}

async function askHttp2(session: ClientHttp2Session): Promise<string> {
  const body = await text(session.request({ ':path': '/' }));
  session.close();
  return body;
}

test('HTTP/2 with prior knowledge and HTTPS know the client as well', async (t) => {
  const ca = authority();
  const identity = ca.issue({ names: ['app.test'] });
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'key.pem'), identity.key);
  const app = await startApp(t);
  const plane = await start(t, strict, [
    webListener(app.port),
    webListener(app.port, {
      name: 'secure',
      protocol: 'HTTPS',
      tls: {
        cert: { inline: identity.cert },
        key: { file: join(folder, 'key.pem') },
        ciphers: ['TLS_AES_128_GCM_SHA256'],
        minVersion: 'TLSv1.3',
        maxVersion: 'TLSv1.3',
      },
    }),
  ]);
  const secured = (socket: Socket, ALPNProtocols: string[]): TLSSocket =>
    connectTls({ socket, servername: 'app.test', ca: ca.cert, ALPNProtocols });
  const prior = connectHttp2('http://app.test', { createConnection: () => announced(t, plane.port) });
  assert.equal(await askHttp2(prior), 'app');
  const byAlpn = connectHttp2('https://app.test', {
    createConnection: () => secured(announced(t, plane.port), ['h2']),
  });
  assert.equal(await askHttp2(byAlpn), 'app');
  const one = secured(announced(t, plane.port), ['http/1.1']);
  one.write(get('/', 'connection: close'));
  assert.match(await text(one), /^HTTP\/1\.1 200 [^]*app$/);
  assert.deepEqual(
    app.requests.map((request) => field(request, 'x-forwarded-for')),
    ['192.0.2.7', '192.0.2.7', '192.0.2.7'],
  );
});

test('a TCP route logs the client, and gets nothing of the header', async (t) => {
  const server = await startRaw(t, { name: 'hi' });
  const plane = await start(t, strict, [
    { name: 'db', protocol: 'TCP', tcpRoutes: [tcpRoute([tcpBackend(server.port)])] },
  ]);
  const from = '20010db8000000000000000000000007';
  for (const [index, rest] of ['select 1', ''].entries()) {
    const client = await plane.client();
    const header = block({ family: 0x21, addresses: ipv6Addresses(from, from, 1, 2) });
    client.send(Buffer.concat([header, Buffer.from(rest)]));
    // If the server speaks first, the header alone has to be enough.
    await client.find('the greeting', () => (client.text === 'hi\n' ? true : undefined));
    client.socket.end();
    const there = await server.connection(index);
    await there.closed();
    assert.equal(there.text, rest);
    there.socket.end();
  }
  await until('both are logged', () => plane.access.length === 2);
  assert.deepEqual(
    plane.access.map(({ client }) => client),
    ['2001:db8::7', '2001:db8::7'],
  );
});

test('a TLS connection that is passed on goes by its own hello, behind the header', async (t) => {
  const ca = authority();
  const server = await startRaw(t, { name: 'through', tls: ca.issue({ names: ['a.example.com'] }) });
  const plane = await start(t, strict, [
    {
      name: 'tls',
      protocol: 'TLS',
      tcpRoutes: [tcpRoute([tcpBackend(server.port)], ['a.example.com'])],
    },
  ]);
  const client = await RawClient.secure(plane.port, {
    socket: announced(t, plane.port),
    servername: 'a.example.com',
    ca: ca.cert,
    rejectUnauthorized: true,
  });
  await client.find('the greeting', () => (client.text === 'through\n' ? true : undefined));
  client.close();
  (await server.connection()).close();
  await until('it is logged', () => plane.access.length === 1);
  assert.equal(plane.access[0]?.client, '192.0.2.7');
});

const haproxy = spawnSync('haproxy', ['-v']).error === undefined;

test(
  'haproxy is understood in both versions',
  { skip: haproxy ? false : 'haproxy is not installed' },
  async (t) => {
    const app = await startApp(t);
    const plane = await start(t, strict, [webListener(app.port)]);
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-haproxy-'));
    t.after(() => rmSync(folder, { recursive: true }));
    for (const how of ['send-proxy', 'send-proxy-v2', 'send-proxy-v2 proxy-v2-options crc32c,unique-id']) {
      const [port = 0] = await freePorts(1);
      const file = join(folder, 'haproxy.cfg');
      writeFileSync(
        file,
        [
          'defaults',
          '  mode tcp',
          '  timeout connect 5s',
          '  timeout client 30s',
          '  timeout server 30s',
          'frontend in',
          `  bind 127.0.0.1:${port}`,
          '  default_backend gateway',
          'backend gateway',
          `  server gateway 127.0.0.1:${plane.port} ${how}`,
          '',
        ].join('\n'),
      );
      const proxy = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' });
      const over = once(proxy, 'close');
      try {
        const client = await connected(port);
        assert.equal(status(await client.ask(get())), 200, how);
        client.close();
      } finally {
        proxy.kill('SIGKILL');
        await over;
      }
    }
    assert.equal(await headers(plane, 'told'), 3);
    assert.equal(await headers(plane, 'refused'), 0);
  },
);

/** A connection to a program that is only just starting. */
async function connected(port: number): Promise<RawClient> {
  let client: RawClient | undefined;
  const trying = async (): Promise<void> => {
    while (client === undefined) client = await RawClient.connect(port).catch(() => undefined);
  };
  await trying();
  return client as unknown as RawClient;
}
