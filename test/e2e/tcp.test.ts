/** TCP and UDP with the real program: the configurations under examples/tcp run as they stand there. */
import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { authority, type Identity } from '../../src/proxy/certificates.testing.ts';
import { freePorts } from '../support/loopback.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { startEchoApp } from './stage.testing.ts';
import { until } from '../../src/until.testing.ts';

const folder = fileURLToPath(new URL('../../examples/tcp/', import.meta.url));

const example = (file: string, env: Record<string, string>): Promise<GatewayProcess> =>
  startGateway('', { args: ['-f', folder + file], env: { GATEWAY_PORT: '0', ...env } });

/** A server that says its name and hangs up. */
async function naming(t: TestContext, name: string, identity?: Identity): Promise<string> {
  const server: Server =
    identity === undefined
      ? createServer((socket) => void socket.on('error', () => undefined).end(name))
      : createTlsServer(identity, (socket) => void socket.on('error', () => undefined).end(name));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const heard = (port: number, first = ''): Promise<string> => {
  const socket = connect(port, '127.0.0.1');
  if (first !== '') socket.write(first);
  return text(socket);
};

async function heardSecurely(port: number, servername: string, ca: string): Promise<string> {
  const socket = connectTls({ port, host: '127.0.0.1', servername, ca });
  const said = text(socket);
  await once(socket, 'secureConnect');
  return await said;
}

function temporary(t: TestContext): (name: string, content: string) => string {
  const made = mkdtempSync(join(tmpdir(), 'portcullis-'));
  t.after(() => rmSync(made, { recursive: true }));
  return (name, content) => {
    writeFileSync(join(made, name), content);
    return made;
  };
}

/** A server that answers datagrams with its name and them. */
async function answering(t: TestContext, name: string): Promise<string> {
  const socket = createSocket('udp4');
  socket.on('message', (bytes, from) => socket.send(`${name}:${String(bytes)}`, from.port, from.address));
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  t.after(() => socket.close());
  return `127.0.0.1:${socket.address().port}`;
}

async function askUdp(port: number, what: string): Promise<string> {
  const socket = createSocket('udp4');
  try {
    return await askBy(socket, port, what);
  } finally {
    socket.close();
  }
}

async function askBy(socket: Socket, port: number, what: string): Promise<string> {
  socket.send(what, port, '127.0.0.1');
  const [bytes] = (await once(socket, 'message', { signal: AbortSignal.timeout(10_000) })) as [Buffer];
  return String(bytes);
}

const walks: Readonly<Record<string, (t: TestContext) => Promise<void>>> = {
  'databases.yaml': async (t) => {
    const ca = authority();
    const TLS_FOLDER = temporary(t)('ca.pem', ca.cert);
    const OLD_HOST = await naming(t, 'old');
    const NEW_HOST = await naming(t, 'new', ca.issue({ names: ['db-new.internal'] }));
    await using gateway = await example('databases.yaml', { TLS_FOLDER, OLD_HOST, NEW_HOST });
    const [port = 0] = gateway.ports;
    const names = new Map<string, number>();
    // The chance to miss the new one 150 times is one in seven million.
    for (let i = 0; i < 150; i++) {
      const name = await heard(port);
      names.set(name, (names.get(name) ?? 0) + 1);
    }
    assert.deepEqual([...names.keys()].sort(), ['new', 'old']);
    assert.ok((names.get('old') ?? 0) > (names.get('new') ?? 0));
    // Clients hear of the end before it is counted.
    await until('all to be counted', async () => {
      const labels = { route: 'orders', result: 'ok' };
      return (await gateway.metric('portcullis_tcp_connections_total', labels)) === 150;
    });
    await until('the access log is written', () =>
      / 0 TCP - [0-9.]+ms client=127\.0\.0\.1 route=orders backend=/.test(gateway.accessLog()),
    );
  },
  'sharedPort.yaml': async (t) => {
    const ca = authority();
    const put = temporary(t);
    let TLS_FOLDER = '';
    for (const [file, name] of [
      ['shop', 'shop.example.com'],
      ['mq', 'mq.example.com'],
    ] as const) {
      const { cert, key } = ca.issue({ names: [name] });
      put(`${file}.pem`, cert);
      TLS_FOLDER = put(`${file}.key`, key);
    }
    await using echo = await startEchoApp();
    await using gateway = await example('sharedPort.yaml', {
      TLS_FOLDER,
      SHOP_HOST: `127.0.0.1:${echo.port}`,
      EU_VAULT_HOST: await naming(t, 'eu', ca.issue({ names: ['eu.vault.example.com'] })),
      VAULT_HOST: await naming(t, 'world', ca.issue({ names: ['*.vault.example.com'] })),
      BROKER_HOST: await naming(t, 'broker'),
    });
    const [port = 0] = gateway.ports;
    assert.equal(await heardSecurely(port, 'eu.vault.example.com', ca.cert), 'eu');
    assert.equal(await heardSecurely(port, 'us.vault.example.com', ca.cert), 'world');
    assert.equal(await heardSecurely(port, 'mq.example.com', ca.cert), 'broker');
    await assert.rejects(heardSecurely(port, 'other.example.com', ca.cert));
    const shop = connectTls({ port, host: '127.0.0.1', servername: 'shop.example.com', ca: ca.cert });
    shop.write('GET /get HTTP/1.1\r\nhost: shop.example.com\r\nconnection: close\r\n\r\n');
    assert.match(await text(shop), /^HTTP\/1\.1 200 /);
    assert.equal(await gateway.metric('portcullis_tls_handshakes_total', { result: 'passed' }), 2);
    assert.equal(await gateway.metric('portcullis_tls_handshakes_total', { result: 'ok' }), 2);
  },
  'proxyProtocol.yaml': async (t) => {
    await using echo = await startEchoApp();
    await using gateway = await example('proxyProtocol.yaml', {
      DB_PORT: '0',
      ECHO_HOST: `127.0.0.1:${echo.port}`,
      DB_HOST: await naming(t, 'db'),
    });
    const [web = 0, db = 0] = gateway.ports;
    const line = 'PROXY TCP4 192.0.2.7 127.0.0.1 40000 8080\r\n';
    const request = 'GET /headers HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n\r\n';
    assert.match(await heard(web, line + request), /"X-Forwarded-For":\s*\[\s*"192\.0\.2\.7"/);
    // Without a header nobody is served, nor with one of the version that is not accepted.
    const closed = (answer: Promise<string>): Promise<string> =>
      answer.catch((error: NodeJS.ErrnoException) => error.code ?? '');
    assert.match(await closed(heard(web, request)), /^(?:ECONNRESET)?$/);
    assert.match(await closed(heard(db, line)), /^(?:ECONNRESET)?$/);
    const block = Buffer.from('0d0a0d0a000d0a515549540a2111000cc00002077f0000019c401538', 'hex');
    const socket = connect(db, '127.0.0.1');
    socket.write(block);
    assert.equal(await text(socket), 'db');
    await until('the line', () =>
      gateway.log().includes('Connections closed: missing or invalid PROXY header'),
    );
  },
  'udp.yaml': async (t) => {
    const [port = 0] = await freePorts(1);
    await using gateway = await example('udp.yaml', {
      GATEWAY_PORT: String(port),
      FIRST_HOST: await answering(t, 'first'),
      SECOND_HOST: await answering(t, 'second'),
    });
    assert.deepEqual(gateway.ports, [port, port]);
    const names = new Set<string>();
    // The chance to miss the second one 60 times is one in thirty million.
    for (let i = 0; i < 60; i++) {
      // Open to the end: a port that is given out twice would be one flow.
      const socket = createSocket('udp4');
      t.after(() => socket.close());
      names.add(await askBy(socket, port, 'a'));
    }
    assert.deepEqual([...names].sort(), ['first:a', 'second:a']);
    assert.equal(await gateway.metric('portcullis_udp_flows', { route: 'route0' }), 60);
  },
};

test('every example has its walk', () => {
  assert.deepEqual(globSync('*.yaml', { cwd: folder }).sort(), Object.keys(walks).sort());
});

for (const [file, walk] of Object.entries(walks)) test(`examples/tcp/${file}`, walk);

test('several workers share the ports of TCP and UDP listeners', async (t) => {
  const [port = 0] = await freePorts(1);
  const server = await naming(t, 'hello');
  const datagrams = await answering(t, 'hello');
  await using gateway = await startGateway(`
config: { workers: 2 }
binds:
- port: ${port}
  address: 127.0.0.1
  listeners:
  - { name: tcp, protocol: TCP, tcpRoutes: [{ backends: [{ host: '${server}' }] }] }
  - { name: udp, protocol: UDP, udpRoutes: [{ backends: [{ host: '${datagrams}' }] }] }
`);
  for (let i = 0; i < 20; i++) {
    assert.equal(await heard(port), 'hello');
    assert.equal(await askUdp(port, String(i)), `hello:${i}`);
  }
  const labels = { bind: `127.0.0.1:${port}`, route: 'route0' };
  await until('all to be counted', async () => {
    const ok = { ...labels, result: 'ok' };
    return (await gateway.metric('portcullis_tcp_connections_total', ok)) === 20;
  });
  assert.equal(
    await gateway.metric('portcullis_udp_received_datagrams_total', {
      ...labels,
      bind: `udp/${labels.bind}`,
    }),
    20,
  );
});

test('a TCP route with host names gets no connection, since none without TLS has a name; * is no such name', async (t) => {
  const [named, any] = [await naming(t, 'named'), await naming(t, 'any')];
  await using gateway = await startGateway(`
binds:
- port: 0
  listeners: [{ protocol: TCP, tcpRoutes: [{ hostnames: [db.example.com], backends: [{ host: '${named}' }] }] }]
- port: 0
  listeners:
  - protocol: TCP
    hostname: '*'
    tcpRoutes:
    - { hostnames: [db.example.com], backends: [{ host: '${named}' }] }
    - { hostnames: ['*'], backends: [{ host: '${any}' }] }
`);
  assert.deepEqual(await Promise.all(gateway.ports.map((port) => heard(port))), ['', 'any']);
});
