/** UDP listeners: datagrams as they come, those of one client to one backend. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import type { InvalidBackend, Limits, UdpBackend, UdpRoute } from '../../model/index.ts';
import { TestPlane, type ModelInShort } from '../dataPlane.testing.ts';
import { invalidBackend, place, startRaw, tcpBackend, tcpRoute } from '../rawServer.testing.ts';
import { until } from '../../until.testing.ts';

interface Server {
  readonly port: number;
  readonly socket: Socket;
  /** The received datagrams, as `text from address:port`. */
  readonly got: string[];
  stop(): Promise<void>;
}

/** Answers each datagram with its own name and what was sent. */
async function startServer(t: TestContext, name: string, host = '127.0.0.1', port = 0): Promise<Server> {
  const socket = createSocket('udp4');
  const got: string[] = [];
  socket.on('message', (bytes: Buffer, from: RemoteInfo) => {
    got.push(bytes.toString());
    socket.send(`${name}:${bytes.toString()}`, from.port, from.address);
  });
  socket.bind(port, host);
  await once(socket, 'listening');
  let open = true;
  const stop = async (): Promise<void> => {
    if (!open) return;
    open = false;
    socket.close();
    await once(socket, 'close');
  };
  t.after(stop);
  return { port: socket.address().port, socket, got, stop };
}

class Client {
  readonly socket = createSocket('udp4');
  readonly got: string[] = [];

  static async start(t: TestContext, port: number, from = '127.0.0.1'): Promise<Client> {
    const client = new Client();
    client.socket.bind(0, from);
    await once(client.socket, 'listening');
    client.socket.on('message', (bytes: Buffer) => void client.got.push(bytes.toString()));
    client.socket.on('error', () => undefined);
    client.socket.connect(port, '127.0.0.1');
    await once(client.socket, 'connect');
    t.after(() => client.socket.close());
    return client;
  }

  send(text: string | Buffer): void {
    this.socket.send(text);
  }

  /** The answer to one more datagram. */
  async ask(text: string): Promise<string> {
    const before = this.got.length;
    this.send(text);
    await until(`there is an answer to ${text}`, () => this.got.length > before);
    return this.got[before] ?? '';
  }
}

const backend = (port: number, more: Partial<UdpBackend> = {}): UdpBackend => ({
  kind: 'udp',
  weight: 1,
  key: `udp/${port}`,
  place,
  host: '127.0.0.1',
  port,
  ...more,
});

const route = (backends: readonly (UdpBackend | InvalidBackend)[], name = 'dns'): UdpRoute => ({
  name,
  backends,
  place,
});

const model = (udpRoutes: readonly UdpRoute[], limits: Partial<Limits> = {}): ModelInShort => ({
  binds: [{ port: 0, listeners: [{ name: 'dns', protocol: 'UDP', udpRoutes }] }],
  limits,
});

async function start(
  t: TestContext,
  udpRoutes: readonly UdpRoute[],
  limits: Partial<Limits> = {},
): Promise<TestPlane> {
  const plane = await TestPlane.start(model(udpRoutes, limits));
  t.after(() => plane.close());
  return plane;
}

const metric = async (plane: TestPlane, name: string, labels = ''): Promise<number> => {
  const line = new RegExp(`^portcullis_${name}\\{[^}]*${labels}[^}]*\\} (\\d+)$`, 'm');
  return Number(line.exec(await plane.metricsText())?.[1] ?? 0);
};

test('datagrams go to a backend and its answers come back, each to its client', async (t) => {
  const server = await startServer(t, 'a');
  const plane = await start(t, [route([backend(server.port)])], { udpIdleTimeoutMs: 1_500 });
  const one = await Client.start(t, plane.port);
  const two = await Client.start(t, plane.port);
  assert.equal(await one.ask('1'), 'a:1');
  assert.equal(await two.ask('2'), 'a:2');
  assert.equal(await one.ask('3'), 'a:3');
  assert.deepEqual(one.got, ['a:1', 'a:3']);
  assert.equal(await metric(plane, 'udp_received_datagrams_total'), 3);
  assert.equal(await metric(plane, 'udp_sent_bytes_total'), 9);
  // Then they are silent, and forgotten.
  await until('both are logged', () => plane.access.length === 2);
  const [line] = plane.access;
  assert.equal(line?.method, 'UDP');
  assert.equal(line.client, '127.0.0.1');
  assert.equal(line.route, 'dns');
  assert.equal(line.backend, `127.0.0.1:${server.port}`);
  assert.deepEqual(
    new Set(plane.access.map(({ requestBytes, responseBytes }) => `${requestBytes}, ${responseBytes}`)),
    new Set(['1, 3', '2, 6']),
  );
  assert.equal(await metric(plane, 'udp_flows_total', 'result="idle"'), 2);
  assert.equal(await metric(plane, 'udp_flows'), 0);
  assert.equal(await one.ask('4'), 'a:4');
});

test('a large datagram is passed whole, an empty one, too', async (t) => {
  const server = await startServer(t, '');
  const plane = await start(t, [route([backend(server.port)])]);
  const client = await Client.start(t, plane.port);
  const large = 'x'.repeat(60_000);
  assert.equal(await client.ask(large), `:${large}`);
  assert.equal(await client.ask(''), ':');
});

test('the gateway ignores datagrams of other senders than the backend', async (t) => {
  const server = await startServer(t, 'a');
  const plane = await start(t, [route([backend(server.port)])]);
  const client = await Client.start(t, plane.port);
  let seen: RemoteInfo | undefined;
  server.socket.prependListener('message', (_bytes: Buffer, from: RemoteInfo) => (seen = from));
  await client.ask('1');
  assert.ok(seen !== undefined);
  const stranger = createSocket('udp4');
  t.after(() => stranger.close());
  const { port } = seen;
  await new Promise((resolve) => stranger.send('forged', port, '127.0.0.1', resolve));
  assert.equal(await client.ask('2'), 'a:2');
  assert.deepEqual(client.got, ['a:1', 'a:2']);
});

test('clients are drawn by weight and stay where they are; 0 takes none', async (t) => {
  const servers = [await startServer(t, 'a'), await startServer(t, 'b'), await startServer(t, 'c')];
  const weights = [3, 1, 0];
  const plane = await start(t, [
    route(servers.map(({ port }, index) => backend(port, { weight: weights[index] ?? 0 }))),
  ]);
  const counts: Record<string, number> = {};
  for (let i = 0; i < 120; i++) {
    const client = await Client.start(t, plane.port);
    const [name = ''] = await client.ask('1');
    counts[name] = (counts[name] ?? 0) + 1;
    assert.equal(await client.ask('2'), `${name}:2`);
  }
  const { a = 0, b = 0 } = counts;
  assert.equal(a + b, 120);
  // Both bounds are more than five standard deviations away.
  assert.ok(a > 60 && a < 117, `a got ${a}`);
});

test('datagrams without a usable backend are dropped and counted', async (t) => {
  const server = await startServer(t, 'a');
  const plane = await start(t, [route([invalidBackend()])]);
  const { port } = plane;
  const client = await Client.start(t, port);
  client.send('lost');
  const dropped = async (): Promise<number> => metric(plane, 'udp_dropped_datagrams_total', 'no_backend');
  while ((await dropped()) === 0) await new Promise(setImmediate);
  await plane.apply({
    ...model([route([backend(server.port)])]),
    binds: [
      { port: 0, listeners: [{ name: 'dns', protocol: 'UDP', udpRoutes: [route([backend(server.port)])] }] },
    ],
  });
  assert.equal(await client.ask('found'), 'a:found');
  assert.deepEqual(client.got, ['a:found']);
});

/** A datagram from port 0, which only a raw socket can send. Says why it could not, where the right lacks. */
function sendFromPortZero(to: number): string | undefined {
  const program = [
    'import socket, struct, sys',
    's = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)',
    's.sendto(struct.pack("!HHHH", 0, int(sys.argv[1]), 12, 0) + b"zero", ("127.0.0.1", 0))',
  ];
  const { status, stderr, error } = spawnSync('python3', ['-c', program.join('\n'), String(to)]);
  if (status === 0) return undefined;
  return error?.message ?? stderr.toString().trim().split('\n').at(-1);
}

test('a datagram from port 0 is dropped', async (t) => {
  const server = await startServer(t, 'a');
  const plane = await start(t, [route([backend(server.port)])]);
  const client = await Client.start(t, plane.port);
  const problem = sendFromPortZero(plane.port);
  if (problem !== undefined) {
    t.skip(`no raw socket: ${problem}`);
    return;
  }
  const dropped = async (): Promise<number> =>
    metric(plane, 'udp_dropped_datagrams_total', 'reason="unanswerable"');
  while ((await dropped()) === 0) await new Promise(setImmediate);
  assert.equal(await client.ask('1'), 'a:1');
  assert.deepEqual(server.got, ['1']);
});

test('the first of several routes takes every datagram', async (t) => {
  const first = await startServer(t, 'first');
  const second = await startServer(t, 'second');
  const plane = await start(t, [
    route([backend(first.port)], 'older'),
    route([backend(second.port)], 'newer'),
  ]);
  for (let i = 0; i < 5; i++) assert.equal(await (await Client.start(t, plane.port)).ask('1'), 'first:1');
});

test('a client whose backend is gone goes to another address with its next datagram', async (t) => {
  const dead = await startServer(t, 'dead', '127.0.0.1');
  const alive = await startServer(t, 'alive', '127.0.0.2', dead.port);
  const plane = await start(t, [
    route([
      backend(dead.port, {
        addresses: [
          { host: '127.0.0.1', port: dead.port },
          { host: '127.0.0.2', port: dead.port },
        ],
      }),
    ]),
  ]);
  const clients: Client[] = [];
  // The chance that one address gets none of them is one in eight million.
  for (let i = 0; i < 24; i++) clients.push(await Client.start(t, plane.port));
  for (const client of clients) await client.ask('1');
  assert.ok(dead.got.length > 0 && alive.got.length > 0);
  await dead.stop();
  for (const client of clients) {
    // The system says that nobody listens when something is sent there: that datagram is lost.
    const before = client.got.length;
    for (let tries = 0; client.got.length === before && tries < 100; tries++) {
      client.send('2');
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.equal(client.got.at(-1), 'alive:2');
  }
  assert.ok((await metric(plane, 'udp_flows_total', 'result="refused"')) > 0);
  assert.equal(plane.access[0]?.error, 'upstream_connect_failed');
});

test('clients over limits.maxUdpFlows get nothing, and those that are known go on', async (t) => {
  const server = await startServer(t, 'a');
  const plane = await start(t, [route([backend(server.port)])], { maxUdpFlows: 2 });
  const known = [await Client.start(t, plane.port), await Client.start(t, plane.port, '127.0.0.2')];
  for (const client of known) await client.ask('1');
  const third = await Client.start(t, plane.port, '127.0.0.3');
  third.send('lost');
  while ((await metric(plane, 'udp_dropped_datagrams_total', 'too_many')) === 0)
    await new Promise(setImmediate);
  for (const client of known) assert.equal(await client.ask('2'), 'a:2');
  assert.deepEqual(third.got, []);
  assert.equal(await metric(plane, 'udp_flows'), 2);
});

test('an address cannot use up limits.maxUdpFlows: its longest idle clients are forgotten', async (t) => {
  const server = await startServer(t, 'a');
  const plane = await start(t, [route([backend(server.port)])], { maxUdpFlows: 5 });
  const flood: Client[] = [];
  for (let i = 0; i < 8; i++) {
    const client = await Client.start(t, plane.port, '127.0.0.2');
    assert.equal(await client.ask('1'), 'a:1');
    flood.push(client);
  }
  const others = [await Client.start(t, plane.port), await Client.start(t, plane.port, '127.0.0.3')];
  for (const client of others) assert.equal(await client.ask('1'), 'a:1');
  assert.equal(await flood.at(-1)?.ask('2'), 'a:2', 'the newest one of the flood is still known');
  for (const client of others) assert.equal(await client.ask('2'), 'a:2');
  assert.equal(await metric(plane, 'udp_dropped_datagrams_total', 'too_many'), 0);
  assert.ok((await metric(plane, 'udp_flows_total', 'result="crowded"')) >= 5);
  const warning = plane.log.find(({ message }) => message.includes('limits.maxUdpFlows'));
  assert.equal(warning?.fields?.['holder'], '127.0.0.2');
});

test('while new work is shed, new clients get nothing', async (t) => {
  const server = await startServer(t, 'a');
  const plane = await start(t, [route([backend(server.port)])]);
  const known = await Client.start(t, plane.port);
  await known.ask('1');
  for (let look = 0; look < 3; look++) plane.overload.note({ lagMs: 5_000, memory: 0, outOfFiles: false });
  const second = await Client.start(t, plane.port);
  second.send('lost');
  while ((await metric(plane, 'udp_dropped_datagrams_total', 'overload')) === 0)
    await new Promise(setImmediate);
  assert.equal(await known.ask('2'), 'a:2');
});

test('a new configuration moves clients only where their backend is none any more', async (t) => {
  const old = await startServer(t, 'old');
  const kept = await startServer(t, 'kept');
  const plane = await start(t, [route([backend(kept.port)])]);
  const { port } = plane;
  const client = await Client.start(t, port);
  await client.ask('1');
  await plane.apply(model([route([backend(old.port), backend(kept.port)])]));
  assert.equal(plane.port, port);
  assert.equal(await client.ask('2'), 'kept:2');
  await plane.apply(model([route([backend(old.port)])]));
  assert.equal(await client.ask('3'), 'old:3');
  assert.equal(await metric(plane, 'udp_flows_total', 'result="moved"'), 1);
  await plane.apply({ binds: [] });
  assert.deepEqual(plane.plane.binds, []);
});

test('a port may have connections and datagrams under one number', async (t) => {
  const datagrams = await startServer(t, 'udp');
  const connections = await startRaw(t, { name: 'tcp' });
  const plane = await TestPlane.start({
    binds: [
      {
        port: 0,
        listeners: [{ name: 'tcp', protocol: 'TCP', tcpRoutes: [tcpRoute([tcpBackend(connections.port)])] }],
      },
    ],
  });
  t.after(() => plane.close());
  const { port } = plane;
  const shared: ModelInShort = {
    binds: [
      {
        port,
        address: '127.0.0.1',
        listeners: [
          { name: 'dns', protocol: 'UDP', udpRoutes: [route([backend(datagrams.port)])] },
          { name: 'dns-tcp', protocol: 'TCP', tcpRoutes: [tcpRoute([tcpBackend(connections.port)])] },
        ],
      },
    ],
  };
  await plane.apply({ binds: [] });
  await plane.apply(shared);
  assert.deepEqual(
    plane.plane.binds.map((bind) => [bind.key, bind.port]),
    [
      [`127.0.0.1:${port}`, port],
      [`udp/127.0.0.1:${port}`, port],
    ],
  );
  assert.equal(await (await Client.start(t, port)).ask('1'), 'udp:1');
  const client = await plane.client(port);
  await client.find('the greeting', () => (client.text === 'tcp\n' ? true : undefined));
});

test('a port that is taken keeps the old configuration', async (t) => {
  const server = await startServer(t, 'a');
  const taken = await startServer(t, 'other');
  const plane = await start(t, [route([backend(server.port)])]);
  const client = await Client.start(t, plane.port);
  await assert.rejects(
    plane.apply({
      binds: [
        { port: 0, listeners: [{ name: 'dns', protocol: 'UDP', udpRoutes: [] }] },
        {
          port: taken.port,
          address: '127.0.0.1',
          listeners: [{ name: 'b', protocol: 'UDP', udpRoutes: [] }],
        },
      ],
    }),
    /port \d+ on 127\.0\.0\.1 cannot be bound: EADDRINUSE/,
  );
  assert.equal(await client.ask('1'), 'a:1');
});

test('an optional port that is taken stays closed, and the others come into use', async (t) => {
  const taken = await startServer(t, 'other');
  const tcp = createServer().listen(0, '127.0.0.1');
  t.after(() => tcp.close());
  await once(tcp, 'listening');
  const { port } = tcp.address() as AddressInfo;
  const server = await startServer(t, 'a');
  const plane = await start(t, [route([backend(server.port)])]);
  const [known] = plane.plane.binds;
  assert.ok(known !== undefined);
  const optional = { address: '127.0.0.1', optional: true } as const;
  await plane.apply({
    binds: [
      { port, ...optional, listeners: [{ name: 'tcp', protocol: 'TCP', tcpRoutes: [] }] },
      { port: taken.port, ...optional, listeners: [{ name: 'udp', protocol: 'UDP', udpRoutes: [] }] },
      { port: 0, listeners: [{ name: 'dns', protocol: 'UDP', udpRoutes: [route([backend(server.port)])] }] },
    ],
  });
  assert.deepEqual(
    plane.plane.closedPorts.map(({ port: number, protocol, problem }) => [
      number,
      protocol,
      /EADDRINUSE/.test(problem),
    ]),
    [
      [port, 'TCP', true],
      [taken.port, 'UDP', true],
    ],
  );
  const client = await Client.start(t, plane.plane.binds[0]?.port ?? 0);
  assert.equal(await client.ask('1'), 'a:1');
});

test('a drain waits for answers, then ends', async (t) => {
  const server = await startServer(t, 'a');
  const plane = await start(t, [route([backend(server.port)])]);
  const client = await Client.start(t, plane.port);
  await client.ask('1');
  const drained = plane.plane.drain();
  // Known clients are served to the end, new ones are not.
  assert.equal(await client.ask('2'), 'a:2');
  const late = await Client.start(t, plane.port);
  late.send('lost');
  while ((await metric(plane, 'udp_dropped_datagrams_total', 'draining')) === 0)
    await new Promise(setImmediate);
  await drained;
});
