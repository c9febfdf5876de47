/** A single address cannot keep all others out: above 80 % of the limit it loses its longest idle connections first. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { test, type TestContext } from 'node:test';
import type { Limits } from '../../model/index.ts';
import { certificate, listenerTls } from '../certificates.testing.ts';
import { TestPlane, type ModelInShort } from '../dataPlane.testing.ts';
import { preface } from '../http2/http2Floods.testing.ts';
import { startRaw, tcpBackend, tcpRoute } from '../rawServer.testing.ts';
import { until } from '../../until.testing.ts';
import { get, ok, RawBackend, status, type BackendScript, type RawClient } from '../wire.testing.ts';

const ATTACKER = '127.0.0.2';

const tls = listenerTls(certificate());

const hello: BackendScript = { onRequest: (_request, connection) => connection.send(ok('hello')) };

async function start(
  t: TestContext,
  limits: Partial<Limits>,
  model: (port: number) => ModelInShort = (to) => ({ routes: [{ to }] }),
  script: BackendScript = hello,
): Promise<{ plane: TestPlane; backend: RawBackend }> {
  const backend = await RawBackend.start(script);
  const plane = await TestPlane.start({ ...model(backend.port), limits });
  t.after(async () => {
    plane.close();
    await backend.close();
  });
  return { plane, backend };
}

async function hold(plane: TestPlane, count: number, greeting: string | Buffer = ''): Promise<RawClient[]> {
  const clients: RawClient[] = [];
  for (let i = 0; i < count; i++) {
    const client = await plane.client(undefined, ATTACKER);
    if (greeting.length > 0) client.send(greeting);
    clients.push(client);
    await until('the connection has come in', () => plane.connections >= Math.min(clients.length, 7));
  }
  return clients;
}

for (const [what, greeting] of [
  ['silent connections', ''],
  ['connections with half a head', 'GET / HTTP/1.1\r\nx: '],
  ['connections of HTTP/2 without a request', preface],
] as const)
  test(`${what} of one address keep no other one out`, async (t) => {
    const { plane } = await start(t, { maxConnections: 10 });
    const flood = await hold(plane, 30, greeting);
    for (let i = 0; i < 5; i++) {
      const client = await plane.client();
      assert.equal(status(await client.ask(get())), 200);
    }
    assert.ok(plane.connections <= 10);
    await until('the oldest of the flood are gone', () => flood[0]?.ending !== 'open');
    const text = await plane.metricsText();
    assert.match(text, /connections_ended_total\{reason="crowded"\} \d+/);
    assert.match(text, /portcullis_downstream_connections_refused_total 0\b/);
    const warning = plane.log.find(({ message }) => message.includes('limits.maxConnections'));
    assert.equal(warning?.fields?.['holder'], ATTACKER);
  });

test('connections that have said nothing of TLS keep no other one out', async (t) => {
  const { plane } = await start(t, { maxConnections: 10 }, (to) => ({
    listeners: [{ tls, routes: [{ to }] }],
  }));
  await hold(plane, 30);
  const session = connect(`https://127.0.0.1:${plane.port}`, { rejectUnauthorized: false });
  t.after(() => session.destroy());
  const stream = session.request({ ':path': '/' });
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
  assert.equal(headers[':status'], 200);
});

test('idle tunnels of one address on a TCP listener keep no other one out', async (t) => {
  const server = await startRaw(t, {
    onConnection: (socket) => {
      socket.on('error', () => undefined);
      socket.write('hello');
    },
  });
  const plane = await TestPlane.start({
    limits: { maxConnections: 10 },
    binds: [
      {
        port: 0,
        listeners: [{ name: 'raw', protocol: 'TCP', tcpRoutes: [tcpRoute([tcpBackend(server.port)])] }],
      },
    ],
  });
  t.after(() => plane.close());
  const flood: RawClient[] = [];
  for (let i = 0; i < 30; i++) {
    const client = await plane.client(undefined, ATTACKER);
    flood.push(client);
    await client.find('the greeting', () => (client.text === 'hello' ? true : undefined));
  }
  const other = await plane.client();
  await other.find('the greeting', () => (other.text === 'hello' ? true : undefined));
  assert.ok(flood.filter(({ ending }) => ending !== 'open').length >= 20);
  assert.equal(other.ending, 'open');
});

test('requests in progress are not cut, and smaller holders keep their connections', async (t) => {
  const { plane, backend } = await start(t, { maxConnections: 10 }, undefined, {});
  const busy = await plane.client(undefined, ATTACKER);
  busy.send(get('/busy'));
  await backend.until('the request is under way', () => backend.requests.length === 1);
  const small = await plane.client(undefined, '127.0.0.3');
  await hold(plane, 30);
  for (const connection of backend.connections) connection.send(ok('late'));
  assert.equal(status(await busy.answer()), 200);
  assert.equal(small.ending, 'open');
});

test('below 80 % of the limit no connection is ended', async (t) => {
  const { plane } = await start(t, { maxConnections: 100 });
  const clients: RawClient[] = [];
  for (let i = 0; i < 80; i++) clients.push(await plane.client(undefined, ATTACKER));
  await until('all are in', () => plane.connections === 80);
  assert.ok(clients.every(({ ending }) => ending === 'open'));
  const one = await plane.client();
  assert.equal(status(await one.ask(get())), 200);
  assert.equal(plane.connections, 80);
});
