/**
 * Peers that vanish without a word, as when their machine or the network is gone: not a packet of theirs comes any
 * more, and none reaches them. A network of our own can do that, where we may have one.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { describe, test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { defaults, type Limits } from '../../model/index.ts';
import { startApps } from '../apps.testing.ts';
import { TestPlane, type ModelInShort } from '../dataPlane.testing.ts';
import { startRaw, tcpBackend, tcpRoute } from '../rawServer.testing.ts';
import { until } from '../../until.testing.ts';
import { get, ok, RawBackend, status, type BackendConnection, type RawClient } from '../wire.testing.ts';

const marker = 'PORTCULLIS_TEST_NETWORK';

/** The reason why the test cannot make a network of its own; undefined if it can. */
function whyNot(): string | undefined {
  const tried = spawnSync('unshare', ['-n', 'sh', '-c', 'ip link set lo up && iptables -L INPUT -n']);
  if (tried.error !== undefined) return tried.error.message;
  return tried.status === 0 ? undefined : tried.stderr.toString().trim();
}

/** From now on no packet goes to, or comes from, this port. */
function cutOff(port: number, ...match: readonly string[]): void {
  for (const side of ['--sport', '--dport'])
    execFileSync('iptables', ['-A', 'INPUT', '-p', 'tcp', ...match, side, String(port), '-j', 'DROP']);
}

const vanish = (client: RawClient | BackendConnection, side: 'local' | 'remote' = 'local'): void =>
  cutOff((side === 'local' ? client.socket.localPort : client.socket.remotePort) ?? 0);

/** As fast as the system counts. */
const keepAlive = { enabled: true, timeMs: 1_000, intervalMs: 1_000, retries: 1 };
const limits: Partial<Limits> = { clientKeepAlive: keepAlive };

async function start(t: TestContext, model: ModelInShort): Promise<TestPlane> {
  const plane = await TestPlane.start({ limits, upstream: { keepAlive }, ...model });
  t.after(() => plane.close());
  return plane;
}

async function startBackend(
  t: TestContext,
  ...args: Parameters<typeof RawBackend.start>
): Promise<RawBackend> {
  const backend = await RawBackend.start(...args);
  t.after(() => backend.close());
  return backend;
}

if (process.env[marker] === undefined) {
  test('in a network of our own', { timeout: 60_000 }, (t) => {
    const reason = whyNot();
    if (reason !== undefined) {
      t.skip(`takes a network namespace and iptables: ${reason}`);
      return;
    }
    // Not a part of the run outside, but one of its own.
    const env: NodeJS.ProcessEnv = { ...process.env, [marker]: '1' };
    delete env['NODE_TEST_CONTEXT'];
    const command = [
      '-n',
      process.execPath,
      '--test',
      '--test-reporter=spec',
      fileURLToPath(import.meta.url),
    ];
    const inside = spawnSync('unshare', command, { env, encoding: 'utf8' });
    assert.equal(inside.status, 0, inside.stdout + inside.stderr);
    assert.match(inside.stdout, /pass [1-9]/);
  });
} else {
  execFileSync('ip', ['link', 'set', 'lo', 'up']);
  describe('a peer that vanishes', { concurrency: true }, inside);
}

function inside(): void {
  test('a client of a TCP connection that vanishes is noticed, and its backend let go', async (t) => {
    const server = await startRaw(t, { name: 'hello' });
    const listener = {
      name: 'tcp',
      protocol: 'TCP',
      tcpRoutes: [tcpRoute([tcpBackend(server.port)])],
    } as const;
    const plane = await start(t, { binds: [{ port: 0, listeners: [listener] }] });
    const client = await plane.client();
    await client.find('the greeting', () => client.text.includes('hello') || undefined);
    const there = await server.connection();
    vanish(client);
    assert.equal(await there.closed(), 'reset');
    await until('nothing is left', () => plane.connections + plane.upstreamConnections === 0);
  });

  test('a client that vanishes while it listens to a stream in which nothing happens is noticed', async (t) => {
    let ended = 0;
    const plane = await start(t, {
      routes: [
        {
          handler: (_request, reply) => {
            reply.open(200, [['content-type', 'text/event-stream']]).write(': hello\n\n');
            reply.onClose(() => ended++);
          },
        },
      ],
    });
    const client = await plane.client();
    client.send(get());
    await client.find('the stream', () => client.text.includes('hello') || undefined);
    vanish(client);
    await until('the stream is over', () => ended === 1 && plane.connections === 0);
  });

  test('a client that vanishes while it waits for its answer takes its backend connection along', async (t) => {
    const backend = await startBackend(t, {});
    const plane = await start(t, { routes: [{ to: backend.port }] });
    const client = await plane.client();
    client.send(get());
    await backend.until('the request is there', () => backend.requests.length === 1);
    vanish(client);
    await backend.until('the backend is let go', () => backend.connections.size === 0);
    assert.equal(plane.connections, 0);
  });

  test('a client that vanishes within a large answer is given up when it has taken nothing for long', async (t) => {
    const body = 'x'.repeat(30_000_000);
    const backend = await startBackend(t, {
      onRequest: (_request, connection) => connection.send(ok(body)),
    });
    const plane = await start(t, {
      routes: [{ to: backend.port }],
      limits: { bodyTimeoutMs: 700, clientKeepAlive: defaults.limits.clientKeepAlive },
    });
    const client = await plane.client();
    client.socket.pause();
    client.send(get());
    await until('the client is full', () => plane.upstreamConnections === 1);
    vanish(client);
    await until('it is given up', () => plane.connections + plane.upstreamConnections === 0);
    assert.equal(plane.access[0]?.error, 'request_timeout');
  });

  test('a backend that vanishes within its answer is noticed, and the answer looks cut short', async (t) => {
    const backend = await startBackend(t, {
      onRequest: (_request, connection) =>
        connection.send('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nthe beginning'),
    });
    const plane = await start(t, { routes: [{ to: backend.port }] });
    const client = await plane.client();
    client.send(get());
    await client.find('the beginning', () => client.text.includes('the beginning') || undefined);
    vanish([...backend.connections][0] as BackendConnection, 'remote');
    await assert.rejects(client.answer(), /the connection ended/);
    await until('it is logged', () => plane.access.length === 1);
    assert.equal(plane.access[0]?.error, 'upstream_reset');
    assert.match(plane.access[0]?.reason ?? '', /ETIMEDOUT/);
  });

  test('a kept connection whose backend has vanished is gone before a request could be lost on it', async (t) => {
    const backend = await startBackend(t, {
      onRequest: (_request, connection) => connection.send(ok('x')),
    });
    const plane = await start(t, { routes: [{ to: backend.port }] });
    assert.equal(status(await plane.ask(get())), 200);
    vanish([...backend.connections][0] as BackendConnection, 'remote');
    await until('it is dropped', () => plane.upstreamConnections === 0);
    assert.equal(status(await plane.ask(get())), 200);
    assert.equal(backend.accepted, 2);
  });

  test('an address that has vanished is given up in the time to connect, and another one serves', async (t) => {
    const [gone, here] = await startApps(t, '127.0.0.2', '127.0.0.3');
    assert.ok(gone !== undefined && here !== undefined);
    const plane = await start(t, {
      routes: [
        {
          targets: [
            {
              host: 'app.test',
              port: gone.port,
              addresses: [
                { host: gone.host, port: gone.port },
                { host: here.host, port: here.port },
              ],
            },
          ],
        },
      ],
      upstream: { keepAlive, connectTimeoutMs: 300 },
    });
    cutOff(gone.port, '-d', gone.host);
    for (let i = 0; i < 6; i++) assert.equal((await plane.ask(get())).body.toString(), here.host);
  });
}
