/** TCP listeners: bytes as they come, between clients and backends that are sockets of this process. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test, type TestContext } from 'node:test';
import type { Limits, TcpRoute } from '../../model/index.ts';
import { authority, certificate } from '../certificates.testing.ts';
import { TestPlane, type ModelInShort } from '../dataPlane.testing.ts';
import { invalidBackend, startRaw, tcpBackend, tcpRoute } from '../rawServer.testing.ts';
import { until } from '../../until.testing.ts';

const model = (
  tcpRoutes: readonly TcpRoute[],
  more: Partial<ModelInShort> = {},
  name = 'db',
): ModelInShort => ({ binds: [{ port: 0, listeners: [{ name, protocol: 'TCP', tcpRoutes }] }], ...more });

async function start(
  t: TestContext,
  tcpRoutes: readonly TcpRoute[],
  limits: Partial<Limits> = {},
): Promise<TestPlane> {
  const plane = await TestPlane.start(model(tcpRoutes, { limits }));
  t.after(() => plane.close());
  return plane;
}

const metric = async (plane: TestPlane, line: RegExp): Promise<number | undefined> => {
  const found = line.exec(await plane.metricsText())?.[1];
  return found === undefined ? undefined : Number(found);
};

const ended = (plane: TestPlane, result: string): Promise<number | undefined> =>
  metric(
    plane,
    new RegExp(`^portcullis_tcp_connections_total\\{[^}]*route="route-",result="${result}"\\} (\\d+)$`, 'm'),
  );

test('bytes pass both ways, and a server that speaks first is heard first', async (t) => {
  const server = await startRaw(t, { name: '220 hello' });
  const plane = await start(t, [tcpRoute([tcpBackend(server.port)])]);
  const client = await plane.client();
  await client.find('the greeting', () => (client.text === '220 hello\n' ? true : undefined));
  client.send('EHLO me\n');
  const there = await server.connection();
  await there.find('what the client said', () => (there.text === 'EHLO me\n' ? true : undefined));
  there.send('250 fine\n');
  await client.find('the answer', () => (client.text.endsWith('250 fine\n') ? true : undefined));
  assert.equal(await metric(plane, /^portcullis_tcp_connections\{.*\} (\d+)$/m), 1);

  there.socket.end();
  client.socket.end();
  assert.equal(await client.closed(), 'fin');
  await until('the connection is over', () => plane.connections === 0);
  const [line] = plane.access;
  assert.equal(line?.method, 'TCP');
  assert.equal(line.route, 'route-');
  assert.equal(line.listener, 'db');
  assert.equal(line.client, '127.0.0.1');
  assert.equal(line.requestBytes, 8);
  assert.equal(line.responseBytes, 19);
  assert.equal(line.backend, `127.0.0.1:${server.port}`);
  assert.equal(line.error, undefined);
  assert.ok((line.upstreamMs ?? -1) >= 0);
  assert.equal(await ended(plane, 'ok'), 1);
  assert.equal(await metric(plane, /^portcullis_tcp_received_bytes_total\{.*\} (\d+)$/m), 8);
  assert.equal(await metric(plane, /^portcullis_tcp_sent_bytes_total\{.*\} (\d+)$/m), 19);
  assert.equal(await metric(plane, /^portcullis_tcp_connections\{.*\} (\d+)$/m), 0);
});

test('each side ends separately: after its own end it still receives bytes', async (t) => {
  const server = await startRaw(t);
  const plane = await start(t, [tcpRoute([tcpBackend(server.port)])]);
  const client = await plane.client();
  client.socket.end('the whole question');
  const there = await server.connection();
  assert.equal(await there.closed(), 'fin');
  assert.equal(there.text, 'the whole question');
  there.send('a late answer');
  await client.find('the answer', () => (client.text === 'a late answer' ? true : undefined));
  assert.equal(client.ending, 'open');
  there.socket.end();
  assert.equal(await client.closed(), 'fin');

  const other = await plane.client();
  const behind = await server.connection(1);
  behind.socket.end('bye');
  assert.equal(await other.closed(), 'fin');
  other.send('one more thing');
  await behind.find('it', () => (behind.text === 'one more thing' ? true : undefined));
  other.socket.end();
  assert.equal(await behind.closed(), 'fin');
  await until('no connection is left', () => plane.connections === 0);
  assert.equal(await ended(plane, 'ok'), 2);
});

test('a slow reader slows the other side down in both directions, and no byte is lost', async (t) => {
  const size = 24 * 1_048_576;
  const bytes = randomBytes(1_048_576);
  const whole = createHash('sha256');
  for (let sent = 0; sent < size; sent += bytes.length) whole.update(bytes);
  const expected = whole.digest('hex');
  const server = await startRaw(t, { onConnection: (socket) => socket.pause() });
  const plane = await start(t, [tcpRoute([tcpBackend(server.port)])]);

  // Up: the server does not read at first.
  const sink = await startRaw(t, {
    onConnection: (socket) => {
      const hash = createHash('sha256');
      socket.pause();
      socket.on('data', (piece: Buffer) => hash.update(piece));
      socket.on('end', () => socket.end(hash.digest('hex')));
      setImmediate(() => void released.then(() => socket.resume()));
    },
  });
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  await plane.apply(model([tcpRoute([tcpBackend(sink.port)])]));
  const client = await plane.client();
  let written = 0;
  const pump = (): void => {
    while (written < size) {
      written += bytes.length;
      if (!client.socket.write(bytes)) return void client.socket.once('drain', pump);
    }
    client.socket.end();
  };
  pump();
  // The buffers of four sockets hold far less than all of it.
  await until('the client is held back', () => client.socket.writableNeedDrain);
  assert.ok(written < size);
  release();
  await client.find('the checksum', () => (client.text === expected ? true : undefined));

  // Down: the client does not read at first.
  const source = await startRaw(t, {
    onConnection: (socket) => {
      let left = size;
      const fill = (): void => {
        while (left > 0) {
          left -= bytes.length;
          if (!socket.write(bytes)) return void socket.once('drain', fill);
        }
        socket.end();
      };
      fill();
      t.after(() => socket.destroy());
      sources.push({ left: () => left, held: () => socket.writableNeedDrain });
    },
  });
  const sources: { left: () => number; held: () => boolean }[] = [];
  await plane.apply(model([tcpRoute([tcpBackend(source.port)])]));
  const slow = connect({ port: plane.port, host: '127.0.0.1' });
  t.after(() => slow.destroy());
  slow.pause();
  await until('the server is held back', () => sources[0]?.held() === true);
  assert.ok((sources[0]?.left() ?? 0) > 0);
  const hash = createHash('sha256');
  slow.on('data', (piece: Buffer) => hash.update(piece));
  slow.resume();
  await once(slow, 'end');
  assert.equal(hash.digest('hex'), expected);
  await until('no connection is left', () => plane.connections === 0);
});

test('connections are drawn by weight; 0 takes none', async (t) => {
  const servers = [
    await startRaw(t, { name: 'a' }),
    await startRaw(t, { name: 'b' }),
    await startRaw(t, { name: 'c' }),
  ];
  const weights = [3, 1, 0];
  const plane = await start(t, [
    tcpRoute(servers.map(({ port }, index) => tcpBackend(port, { weight: weights[index] ?? 0 }))),
  ]);
  const counts = new Map<string, number>();
  for (let i = 0; i < 200; i++) {
    const client = await plane.client();
    const name = await client.find('a name', () => (client.text === '' ? undefined : client.text.trim()));
    counts.set(name, (counts.get(name) ?? 0) + 1);
    client.reset();
  }
  const { a = 0, b = 0 } = Object.fromEntries(counts) as { a?: number; b?: number };
  assert.equal(a + b, 200);
  // Both bounds are more than seven standard deviations away.
  assert.ok(a > 105 && a < 195, `a got ${a}`);
});

test('the share of a backend that does not exist is refused, and the rest is served', async (t) => {
  const server = await startRaw(t, { name: 'a' });
  const plane = await start(t, [tcpRoute([tcpBackend(server.port), invalidBackend()])]);
  let served = 0;
  let refused = 0;
  for (let i = 0; i < 60; i++) {
    const client = await plane.client();
    const got = await client.find('an outcome', () =>
      client.text === 'a\n' ? 'served' : client.ending === 'open' ? undefined : 'refused',
    );
    if (got === 'served') served++;
    else refused++;
    client.reset();
  }
  assert.ok(served > 5 && refused > 5, `${served} served, ${refused} refused`);
  assert.equal(await ended(plane, 'refused'), refused);
  assert.equal(plane.access.find(({ error }) => error === 'no_backend')?.reason, 'there is no such service');
  assert.equal(await metric(plane, /^portcullis_errors_total\{code="no_backend"\} (\d+)$/m), refused);
});

for (const [what, routes] of [
  ['a route without backends', [tcpRoute([])]],
  ['a route whose backends all have weight 0', [tcpRoute([tcpBackend(1, { weight: 0 })])]],
  ['a route whose only backend does not exist', [tcpRoute([invalidBackend()])]],
  ['a listener without routes', []],
] as const)
  test(`${what} closes its connections`, async (t) => {
    const plane = await start(t, routes);
    const client = await plane.client();
    assert.notEqual(await client.closed(), 'open');
    assert.equal(client.text, '');
    await until('it is gone', () => plane.connections === 0);
  });

test('the first of several routes takes every connection', async (t) => {
  const first = await startRaw(t, { name: 'first' });
  const second = await startRaw(t, { name: 'second' });
  const plane = await start(t, [
    tcpRoute([tcpBackend(first.port)], [], 'older'),
    tcpRoute([tcpBackend(second.port)], [], 'newer'),
  ]);
  for (let i = 0; i < 5; i++) {
    const client = await plane.client();
    await client.find('the greeting', () => (client.text === 'first\n' ? true : undefined));
  }
  assert.equal(second.connections.length, 0);
});

test('a connection goes to another address of the backend where the first takes none', async (t) => {
  const dead = await startRaw(t);
  const { port } = dead;
  await dead.stop();
  const server = await startRaw(t, { name: 'alive', host: '127.0.0.2', port });
  const plane = await start(t, [
    tcpRoute([
      tcpBackend(port, {
        addresses: [
          { host: '127.0.0.1', port },
          { host: '127.0.0.2', port },
        ],
      }),
    ]),
  ]);
  for (let i = 0; i < 8; i++) {
    const client = await plane.client();
    client.send('kept');
    await client.find('the greeting', () => (client.text === 'alive\n' ? true : undefined));
    const there = await server.connection(i);
    await there.find('what was sent meanwhile', () => (there.text === 'kept' ? true : undefined));
  }
});

test('a backend that cannot be connected to closes the connection and says so in the log', async (t) => {
  const dead = await startRaw(t);
  await dead.stop();
  const plane = await start(t, [tcpRoute([tcpBackend(dead.port)])]);
  const client = await plane.client();
  await client.closed();
  await until('it is logged', () => plane.access.length === 1);
  assert.equal(plane.access[0]?.error, 'upstream_connect_failed');
  assert.match(plane.access[0].reason ?? '', /ECONNREFUSED/);
  assert.equal(await ended(plane, 'refused'), 1);
});

test('a reset of one side reaches the other side', async (t) => {
  const server = await startRaw(t);
  const plane = await start(t, [tcpRoute([tcpBackend(server.port)])]);
  const leaving = await plane.client();
  const there = await server.connection();
  leaving.send('half a');
  await there.find('the start', () => (there.text === 'half a' ? true : undefined));
  leaving.reset();
  assert.equal(await there.closed(), 'reset');

  const left = await plane.client();
  const behind = await server.connection(1);
  behind.send('half an');
  await left.find('the start', () => (left.text === 'half an' ? true : undefined));
  behind.reset();
  assert.equal(await left.closed(), 'reset');
  await until('both are over', () => plane.connections === 0);
  assert.equal(await ended(plane, 'client_reset'), 1);
  assert.equal(await ended(plane, 'backend_reset'), 1);
  assert.equal(plane.access[1]?.error, 'upstream_reset');
});

test('a client that leaves while a backend is being connected to takes the attempt with it', async (t) => {
  const server = await startRaw(t);
  // The limit is a single connection, so the second client waits.
  const plane = await start(t, [
    tcpRoute([tcpBackend(server.port, { connections: { maxConnections: 1, maxPendingRequests: 4 } })]),
  ]);
  const first = await plane.client();
  await server.connection();
  const second = await plane.client();
  await until('the second waits', () => plane.connections === 2);
  second.reset();
  await until('it is gone', () => plane.connections === 1);
  const third = await plane.client();
  first.reset();
  await server.connection(1);
  third.send('mine');
  const there = await server.connection(1);
  await there.find('the third', () => (there.text === 'mine' ? true : undefined));
  assert.equal(server.connections.length, 2);
});

test('connections over the limit of a backend wait, and over the limit of those they are refused', async (t) => {
  const server = await startRaw(t, { name: 'hi' });
  const plane = await start(t, [
    tcpRoute([tcpBackend(server.port, { connections: { maxConnections: 1, maxPendingRequests: 0 } })]),
  ]);
  const first = await plane.client();
  await first.find('the greeting', () => (first.text === 'hi\n' ? true : undefined));
  const second = await plane.client();
  await second.closed();
  assert.equal(plane.access[0]?.error, 'upstream_overloaded');
});

test('a connection in which no byte moves ends, on both sides', async (t) => {
  const server = await startRaw(t);
  const plane = await start(t, [tcpRoute([tcpBackend(server.port)])], { tunnelIdleTimeoutMs: 100 });
  const client = await plane.client();
  const there = await server.connection();
  assert.equal(await client.closed(), 'reset');
  assert.equal(await there.closed(), 'reset');
  assert.equal(await ended(plane, 'idle'), 1);
  assert.equal(plane.access[0]?.reason, 'no byte moved');
});

for (const who of ['client', 'server'] as const)
  test(`a connection whose ${who} has ended its side, and whose other side never does, ends sooner`, async (t) => {
    const server = await startRaw(t);
    const plane = await start(t, [tcpRoute([tcpBackend(server.port)])], { tunnelHalfClosedTimeoutMs: 100 });
    const whole = await plane.client();
    const farWhole = await server.connection();
    const client = await plane.client();
    const there = await server.connection(1);
    const [one, other] = who === 'client' ? [client, there] : [there, client];
    one.socket.end('the last word');
    await other.find('the last word', () => (other.text === 'the last word' ? true : undefined));
    assert.equal(await other.closed(), 'fin');
    // The one that has ended may be gone without a word: only the time says so.
    await one.closed();
    assert.equal(await ended(plane, 'idle'), 1);
    assert.equal(plane.access[0]?.reason, 'no byte moved');
    assert.equal(plane.upstreamConnections, 1);
    // A connection with both sides open has an hour.
    whole.send('still here');
    await farWhole.find('the bytes', () => (farWhole.text === 'still here' ? true : undefined));
  });

test('over limits.maxConnections connections are closed without a word of HTTP', async (t) => {
  const server = await startRaw(t, { name: 'hi' });
  const plane = await start(t, [tcpRoute([tcpBackend(server.port)])], { maxConnections: 1 });
  const first = await plane.client();
  await first.find('the greeting', () => (first.text === 'hi\n' ? true : undefined));
  const second = await plane.client();
  await second.closed();
  assert.equal(second.text, '');
  assert.equal(await metric(plane, /^portcullis_downstream_connections_refused_total (\d+)$/m), 1);
});

test('while new work is shed, connections are closed, and those that are open go on', async (t) => {
  const server = await startRaw(t, { name: 'hi' });
  const plane = await start(t, [tcpRoute([tcpBackend(server.port)])]);
  const first = await plane.client();
  await first.find('the greeting', () => (first.text === 'hi\n' ? true : undefined));
  for (let look = 0; look < 3; look++) plane.overload.note({ lagMs: 5_000, memory: 0, outOfFiles: false });
  const second = await plane.client();
  await second.closed();
  assert.equal(plane.access[0]?.error, 'overloaded');
  first.send('still here');
  const there = await server.connection();
  await there.find('it', () => (there.text === 'still here' ? true : undefined));
  assert.equal(await metric(plane, /^portcullis_requests_shed_total\{reason="lag"\} (\d+)$/m), 1);
});

test('a new configuration leaves open connections alone, also those of routes and ports that are gone', async (t) => {
  const old = await startRaw(t, { name: 'old' });
  const next = await startRaw(t, { name: 'next' });
  const plane = await start(t, [tcpRoute([tcpBackend(old.port)])]);
  const { port } = plane;
  const client = await plane.client();
  await client.find('the greeting', () => (client.text === 'old\n' ? true : undefined));
  await plane.apply(model([tcpRoute([tcpBackend(next.port)])]));
  const second = await plane.client();
  await second.find('the greeting', () => (second.text === 'next\n' ? true : undefined));
  await plane.apply({ binds: [] });
  const there = await old.connection();
  client.send('on and on');
  await there.find('it', () => (there.text === 'on and on' ? true : undefined));
  await assert.rejects(plane.client(port));

  const drained = plane.plane.drain();
  for (const open of [client, second]) open.socket.end();
  for (const { connections } of [old, next]) for (const open of connections) open.socket.end();
  await drained;
  await client.closed();
});

test('a drain waits for open connections, and resets the rest at its end', async (t) => {
  const server = await startRaw(t, { name: 'hi' });
  const plane = await start(t, [tcpRoute([tcpBackend(server.port)])]);
  const client = await plane.client();
  await client.find('the greeting', () => (client.text === 'hi\n' ? true : undefined));
  let over = false;
  const drained = plane.plane.drain().then(() => (over = true));
  client.send('still');
  const there = await server.connection();
  await there.find('it', () => (there.text === 'still' ? true : undefined));
  assert.equal(over, false);
  plane.plane.close();
  assert.equal(await client.closed(), 'reset');
  assert.equal(await there.closed(), 'reset');
  await drained;
});

test('TLS to a backend is verified, and offers no protocol unless asked to', async (t) => {
  const ca = authority();
  const identity = ca.issue({ names: ['db.internal'] });
  const offered: (string | false | null)[] = [];
  const server = await startRaw(t, {
    tls: { ...identity, ALPNProtocols: ['postgresql', 'http/1.1'] },
    onConnection: (socket) => {
      offered.push((socket as unknown as { alpnProtocol: string | false | null }).alpnProtocol);
      socket.end('secret');
      socket.resume();
    },
  });
  const tls = {
    hostname: 'db.internal',
    root: { inline: ca.cert },
    insecure: false,
    insecureHost: false,
    subjectAltNames: [],
  };
  const plane = await start(t, [tcpRoute([tcpBackend(server.port, { tls })])]);
  const client = await plane.client();
  await client.closed();
  assert.equal(client.text, 'secret');
  await plane.apply(model([tcpRoute([tcpBackend(server.port, { tls: { ...tls, alpn: ['postgresql'] } })])]));
  await (await plane.client()).closed();
  assert.deepEqual(offered, [false, 'postgresql']);

  const stranger = { ...tls, root: { inline: certificate({ authority: true }).cert } };
  await plane.apply(model([tcpRoute([tcpBackend(server.port, { tls: stranger })])]));
  const refused = await plane.client();
  await refused.closed();
  assert.equal(refused.text, '');
  assert.equal(plane.access.at(-1)?.error, 'upstream_tls_failed');
});

test('a route whose files cannot be used is closed, is named, and leaves the others alone', async (t) => {
  const server = await startRaw(t, { name: 'hi' });
  const broken = tcpBackend(server.port, {
    tls: { root: { file: '/nowhere.pem' }, insecure: false, insecureHost: false, subjectAltNames: [] },
  });
  const listener = (name: string, route: TcpRoute) => ({
    port: 0,
    listeners: [{ name, protocol: 'TCP' as const, tcpRoutes: [route] }],
  });
  const plane = await TestPlane.start({
    binds: [
      listener('broken', tcpRoute([broken], [], 'broken')),
      listener('sound', tcpRoute([tcpBackend(server.port)])),
    ],
  });
  t.after(() => plane.close());
  const [first, second] = plane.plane.binds;
  const refused = await plane.client(first?.port);
  await refused.closed();
  assert.equal(plane.access[0]?.error, 'route_broken');
  assert.deepEqual(
    plane.plane.broken.map(({ route }) => route),
    ['broken'],
  );
  const client = await plane.client(second?.port);
  await client.find('the greeting', () => (client.text === 'hi\n' ? true : undefined));
});
