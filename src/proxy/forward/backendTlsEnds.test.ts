/** Answers that end with their connection, under TLS: whole only where TLS says so (RFC 9112 §9.8). */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { TLSSocket, type SecureVersion } from 'node:tls';
import { certificate } from '../certificates.testing.ts';
import { TestPlane } from '../dataPlane.testing.ts';
import { until } from '../../until.testing.ts';
import { get, ok, post, status, type RawClient } from '../wire.testing.ts';

const identity = certificate({ names: ['127.0.0.1'] });
const head = 'HTTP/1.1 200 OK\r\n\r\n';

interface Backend {
  readonly port: number;
  /** Start lines of the requests, in the order they came. */
  readonly asked: string[];
  /** Connections that are open. */
  readonly open: Set<Socket>;
}

type Answering = (socket: TLSSocket, below: Socket, target: string) => void;

const endInOrder: Answering = (socket) => void socket.end();
/** The end of TCP, with all that was written before it; nothing of TLS says that this is the end. */
const endBare: Answering = (socket, below) => {
  // Once this write completes, the bytes given to TLS before it are on their way.
  socket.write('', () => below.end());
};

async function start(
  t: TestContext,
  answering: Answering,
  maxVersion: SecureVersion = 'TLSv1.3',
): Promise<Backend> {
  const asked: string[] = [];
  const open = new Set<Socket>();
  const server = createServer((below) => {
    open.add(below);
    below.on('close', () => open.delete(below)).on('error', () => undefined);
    const socket = new TLSSocket(below, { isServer: true, maxVersion, ...identity });
    socket.on('error', () => undefined);
    socket.on('data', (bytes: Buffer) => {
      const [line = ''] = bytes.toString('latin1').split('\r\n');
      if (!line.endsWith('HTTP/1.1')) return;
      asked.push(line);
      answering(socket, below, line.split(' ')[1] ?? '');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  return { port: (server.address() as AddressInfo).port, asked, open };
}

async function planeFor(t: TestContext, { port }: Backend): Promise<TestPlane> {
  const tls = { insecure: true, insecureHost: false, subjectAltNames: [] };
  const plane = await TestPlane.start({ routes: [{ targets: [{ host: '127.0.0.1', port, tls }] }] });
  t.after(() => plane.close());
  return plane;
}

const noPart = (client: RawClient): Promise<void> =>
  assert.rejects(client.answer(), /the connection ended|waited in vain/);

for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
  test(`${version}: an answer that ends with TLS is whole, however late its client reads it`, async (t) => {
    const body = Buffer.alloc(3_000_000, 'abcdefgh');
    const backend = await start(
      t,
      (socket, below) => {
        socket.write(head);
        socket.write(body);
        endInOrder(socket, below, '');
      },
      version,
    );
    const plane = await planeFor(t, backend);
    const client = await plane.client();
    client.send(get());
    client.socket.pause();
    await until(
      'the backend is held back',
      () => plane.upstreamConnections === 1 && backend.asked.length === 1,
    );
    client.socket.resume();
    const answer = await client.answer();
    assert.ok(answer.body.equals(body));
    assert.equal((await plane.ask(get())).body.length, body.length);
    assert.deepEqual(
      plane.access.map(({ error }) => error),
      [undefined, undefined],
    );
  });

  test(`${version}: an answer that ends with TCP alone is cut off, and looks it`, async (t) => {
    const backend = await start(
      t,
      (socket, below) => {
        socket.write(`${head}half of the truth`);
        endBare(socket, below, '');
      },
      version,
    );
    const plane = await planeFor(t, backend);
    const client = await plane.client();
    client.send(get());
    await noPart(client);
    assert.match(client.text, /half of the truth/);
    const old = await plane.client();
    old.send('GET / HTTP/1.0\r\nhost: a\r\n\r\n');
    assert.equal(
      await old.closed(),
      'reset',
      'who knows only the end of the connection gets no end in order',
    );
    await until('both are logged', () => plane.access.length === 2);
    for (const { error, reason } of plane.access) {
      assert.equal(error, 'upstream_reset');
      assert.match(reason ?? '', /closed without an end of TLS/);
    }
    await until('nothing is left', () => plane.upstreamConnections === 0 && backend.open.size === 0);
  });
}

/** `/length` says its length; everything else ends with the connection, in order or not. */
const mixed =
  (end: Answering): Answering =>
  (socket, below, target) => {
    if (target === '/length') socket.write(ok('known'));
    else {
      socket.write(`${head}to the end`);
      end(socket, below, target);
    }
  };

test('a backend that says lengths and then does not is asked again where that does no harm', async (t) => {
  const backend = await start(t, mixed(endInOrder));
  const plane = await planeFor(t, backend);
  for (let i = 0; i < 3; i++) assert.equal((await plane.ask(get('/length'))).body.toString(), 'known');
  // Two connections at once, so that one opened after the first answer is in use, which is not watched.
  const pair = await Promise.all([plane.ask(get('/length')), plane.ask(get('/length'))]);
  assert.equal(pair.length, 2);
  const clients = await Promise.all([plane.client(), plane.client(), plane.client()]);
  for (const client of clients) client.send(get('/end'));
  for (const client of clients) assert.equal((await client.answer()).body.toString(), 'to the end');
  assert.ok(backend.asked.filter((line) => line.includes('/end')).length > clients.length);
  const before = backend.asked.length;
  // From now on it is known.
  assert.equal((await plane.ask(get('/end'))).body.toString(), 'to the end');
  const answer = await plane.ask(post('x'));
  assert.equal(answer.body.toString(), 'to the end');
  assert.equal(backend.asked.length, before + 2);
  assert.deepEqual([...new Set(plane.access.map(({ error }) => error))], [undefined]);
});

test('a request that cannot be repeated fails once, so that a truncated response is not taken as complete', async (t) => {
  const backend = await start(t, mixed(endInOrder));
  const plane = await planeFor(t, backend);
  await plane.ask(get('/length'));
  // The first connection is watched; one beside it is not.
  const held = await Promise.all(Array.from({ length: 4 }, () => plane.ask(get('/length'))));
  assert.equal(held.length, 4);
  const clients = await Promise.all(Array.from({ length: 4 }, () => plane.client()));
  for (const client of clients) client.send(post('x'));
  const answers = await Promise.all(clients.map((client) => client.answer()));
  const codes = answers.map(status);
  assert.ok(codes.includes(503), codes.join());
  assert.ok(codes.every((code) => code === 503 || code === 200));
  assert.equal(backend.asked.filter((line) => line.startsWith('POST')).length, 4, 'none was sent twice');
  assert.equal(status(await plane.ask(post('x'))), 200);
});

test('the truth is told also after lengths were', async (t) => {
  const backend = await start(t, mixed(endBare));
  const plane = await planeFor(t, backend);
  await plane.ask(get('/length'));
  for (let i = 0; i < 3; i++) {
    const client = await plane.client();
    client.send(get('/end'));
    await noPart(client);
  }
});

test('a watched connection is made, kept alive, resumed, timed out and refused like any other', async (t) => {
  const backend = await start(t, mixed(endInOrder));
  const plane = await planeFor(t, backend);
  assert.equal((await plane.ask(get('/length'))).body.toString(), 'known');
  assert.equal((await plane.ask(get('/length'))).body.toString(), 'known');
  assert.equal(backend.open.size, 1, 'it went back to the pool');
  plane.plane.close();
  await until('it is closed', () => backend.open.size === 0);
  const silent = createServer((socket) => void socket.resume().on('error', () => undefined)).listen(
    0,
    '127.0.0.1',
  );
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const tls = { insecure: true, insecureHost: false, subjectAltNames: [] };
  const routes = [{ targets: [{ host: '127.0.0.1', port, tls }] }];
  const other = await TestPlane.start({ routes, upstream: { connectTimeoutMs: 50 } });
  t.after(() => other.close());
  assert.equal(status(await other.ask(get())), 503);
  assert.match(other.access[0]?.reason ?? '', /connect timeout during the TLS handshake/);
  silent.close();
  await once(silent, 'close');
  assert.equal(status(await other.ask(get())), 503);
  assert.match(other.access[1]?.reason ?? '', /ECONNREFUSED/);
  assert.equal(other.upstreamConnections, 0);
});
