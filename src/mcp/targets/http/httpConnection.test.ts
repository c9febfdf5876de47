import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { until } from '../../../until.testing.ts';
import { remoteTarget } from '../../harness.testing.ts';
import { startRemote, type Incoming } from '../../remoteServer.testing.ts';
import type { Outgoing } from '../../messages/outgoing.ts';
import { message, Waits } from '../kind/waiter.testing.ts';
import { HttpConnection, type HttpOptions } from './httpConnection.ts';
import { reachOf, recordedOptions, startServer } from '../conversation/server.testing.ts';

const initialize = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};
const initialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}';

const outgoing = (value: object): Outgoing => ({ envelope: message(value), token: undefined, edits: [] });
const tool = (name: string, args: object = {}) =>
  outgoing({ jsonrpc: '2.0', id: 'c', method: 'tools/call', params: { name, arguments: args } });
const echo = (text: string) => tool('echo', { text });

/** A server, and a connection whose session is not begun yet. */
async function start(t: TestContext, options: Partial<HttpOptions> = {}) {
  const { server, reach, log, lines, connections } = await startServer(t);
  const { heard, origins, options: recorded } = recordedOptions();
  const connection = new HttpConnection(remoteTarget(server.url), {
    reach,
    log,
    ...recorded,
    shared: () => false,
    ...options,
  });
  t.after(() => connection.close(0));
  const begin = async (): Promise<void> => {
    const waits = new Waits();
    connection.open(outgoing(initialize), waits);
    assert.match(await waits.settled, /"result"/);
    connection.send(initialized, 'notifications/initialized');
    await connection.settling;
  };
  const call = (out = echo('hello')): Waits => {
    const waits = new Waits();
    connection.call(out, waits);
    return waits;
  };
  return { server, reach, lines, connections, connection, heard, origins, begin, call };
}

test('a session is begun, used and ended at the server', async (t) => {
  const { server, connection, connections, begin, call } = await start(t);
  assert.equal(connection.state, 'starting');
  await begin();
  assert.equal(connection.state, 'ready');
  assert.match(await call().settled, /hello/);
  assert.deepEqual(connection.place, {
    serverSession: 'session-1',
    version: '2025-06-18',
    address: `127.0.0.1:${server.port}`,
  });
  await connection.close(1_000);
  assert.deepEqual(server.deleted, ['session-1']);
  assert.equal(connection.place, undefined);
  assert.match(await call().settled, /has been stopped/);
  await until('every stream is closed', () => connections() <= 1);
});

test('calls wait until the server has taken note of initialized, and at most 64 of them', async (t) => {
  const { server, connection, begin, call } = await start(t);
  let held: Incoming | undefined;
  server.methods['notifications/initialized'] = (x) => void (held = x);
  const beginning = begin();
  await until('the server is told', () => held !== undefined);
  const waiting = Array.from({ length: 64 }, () => call());
  assert.match(await call().settled, /too many calls waiting/);
  assert.equal(server.of('tools/call').length, 0);
  assert.equal(connection.place?.serverSession, 'session-1');
  held?.status(202);
  await beginning;
  for (const waits of waiting) assert.match(await waits.settled, /hello/);
});

test('a server that refuses initialize leaves a connection that is closed', async (t) => {
  const { server, connection } = await start(t);
  server.methods['initialize'] = (x) =>
    x.json({ jsonrpc: '2.0', id: x.id, error: { code: -32602, message: 'no' } });
  const waits = new Waits();
  connection.open(outgoing(initialize), waits);
  assert.match(await waits.settled, /"error"/);
  assert.equal(connection.state, 'closed');
});

test('messages of the server come with the call on whose stream they stand, or aside', async (t) => {
  const { server, heard, origins, begin, call } = await start(t);
  server.tools['progress'] = (x) => {
    x.stream().event({ jsonrpc: '2.0', method: 'notifications/progress' });
    x.event(x.result('done'));
    x.end();
  };
  await begin();
  const waits = call(tool('progress'));
  await waits.settled;
  await until('the stream of news is open', () => server.news.size === 1);
  for (const news of server.news) news.event({ jsonrpc: '2.0', id: 9, method: 'ping' });
  await until('both messages are there', () => heard.length === 2);
  assert.deepEqual(heard, ['notifications/progress', 'ping']);
  assert.deepEqual(origins, [waits, 'aside']);
});

test('a server that forgot the session is told everything again, and the call that met that is carried out', async (t) => {
  const { server, connection, heard, begin, call } = await start(t);
  await begin();
  for (const [method, params] of [
    ['logging/setLevel', { level: 'error' }],
    ['resources/subscribe', { uri: 'a://1' }],
  ] as const)
    await call(outgoing({ jsonrpc: '2.0', id: 1, method, params })).settled;
  server.sessions.clear();
  const before = server.seen.length;
  assert.match(await call().settled, /hello/);
  assert.deepEqual(heard, ['down', 'again']);
  assert.equal(connection.generation, 1);
  assert.deepEqual(
    server.seen
      .slice(before)
      .map(({ message: said }) => said.method)
      .filter((method) => method !== undefined),
    [
      'tools/call',
      'initialize',
      'notifications/initialized',
      'logging/setLevel',
      'resources/subscribe',
      'tools/call',
    ],
  );
  const ids = server.of('tools/call').map(({ message: said }) => said.id);
  assert.equal(ids[0], ids[1], 'it is the same call');
});

test('a call that is sent again in the next session keeps its own headers', async (t) => {
  const { server, begin, call } = await start(t);
  await begin();
  server.sessions.clear();
  assert.match(await call({ ...echo('hello'), headers: [['x-checked', 'v1']] }).settled, /hello/);
  assert.deepEqual(
    server.of('tools/call').map(({ headers }) => headers['x-checked']),
    ['v1', 'v1'],
  );
});

test('a server that keeps failing is given up with its reason, and tried again with the next call', async (t) => {
  const { server, connection, begin, call } = await start(t);
  await begin();
  server.sessions.clear();
  server.methods['initialize'] = (x) => x.status(503);
  assert.match(await call().settled, /keeps failing: it failed to initialize again/);
  await until('the server is given up', () => connection.state === 'failed');
  assert.equal(connection.view().restarts, 2);
  delete server.methods['initialize'];
  assert.match(await call().settled, /hello/);
  assert.equal(connection.state, 'ready');
});

test('a session of which others may know is not begun again: it is gone', async (t) => {
  const { server, heard, begin, call } = await start(t, { shared: () => true });
  await begin();
  server.sessions.clear();
  const waits = call();
  await waits.settled;
  assert.equal(waits.error?.code, 'mcp_session_unknown');
  assert.deepEqual(heard, ['gone']);
  assert.equal(server.of('initialize').length, 1);
});

test('the standalone stream of a shared session is open only while a client listens', async (t) => {
  const { server, connection, begin, call } = await start(t, { shared: () => true });
  await begin();
  await call().settled;
  assert.equal(server.of('GET').length, 0);
  connection.setClientListening(true);
  await until('the stream of news is open', () => server.news.size === 1);
  await connection.close(0);
  await until('the stream of news is closed', () => server.news.size === 0);
});

test('a session of another process goes on where the server knows it', async (t) => {
  const { server, connection, call } = await start(t, { resumed: true, shared: () => true });
  server.sessions.add('carried');
  const address = `127.0.0.1:${server.port}`;
  await connection.takeUp({ serverSession: 'carried', version: '2025-06-18', address });
  assert.equal(connection.state, 'ready');
  assert.match(await call().settled, /hello/);
  const [first] = server.of('tools/call');
  assert.equal(first?.headers['mcp-session-id'], 'carried');
  assert.ok(Number(first?.message.id) > 2 ** 32, 'its ids cannot be those of the other process');
  assert.equal(server.of('initialize').length, 0);
});

test('a session that the server does not know is not taken up, and neither is one that cannot be asked about', async (t) => {
  const { server, connection } = await start(t, { resumed: true });
  const place = { serverSession: 'unknown', version: undefined, address: undefined };
  await assert.rejects(connection.takeUp(place), { code: 'mcp_session_unknown' });
  server.sessions.add('known');
  server.methods['ping'] = (x) => x.cut();
  await assert.rejects(connection.takeUp({ ...place, serverSession: 'known' }), {
    code: 'mcp_target_failed',
  });
  server.methods['ping'] = (x) =>
    x.json({ jsonrpc: '2.0', id: x.id, error: { code: -32601, message: 'no ping' } });
  await connection.takeUp({ ...place, serverSession: 'known' });
  assert.equal(connection.state, 'ready', 'any answer says that the server knows the session');
});

test('a connection that is left to others ends the session at the server only when it is told to', async (t) => {
  const { server, connection, begin, call } = await start(t);
  server.tools['hold'] = (x) => void x.stream();
  await begin();
  const held = call(tool('hold'));
  await until('the call is there', () => server.of('tools/call').length === 1);
  const end = connection.leave();
  assert.match(await held.settled, /has been stopped/);
  await connection.close(0);
  assert.deepEqual(server.deleted, []);
  await end();
  assert.deepEqual(server.deleted, ['session-1']);
});

test('another server of the configuration gets the session anew, and the previous one is told of the end', async (t) => {
  const { server, connection, begin, call } = await start(t);
  await begin();
  const other = await startRemote(t);
  connection.use(reachOf(t, { host: '127.0.0.1', port: other.port }).reach);
  assert.match(await call().settled, /hello/);
  assert.equal(other.of('tools/call').length, 1);
  await until('the previous server knows', () => server.deleted.length === 1);
});

test('a call over its time is cancelled at the server under its id there', async (t) => {
  const { server, connection, begin, call } = await start(t);
  let held: Incoming | undefined;
  server.tools['hold'] = (x) => void (held = x);
  await begin();
  const waits = call({ ...tool('hold'), limit: { ms: 20 } } as ReturnType<typeof tool>);
  assert.match(await waits.settled, /did not answer within 20 ms/);
  await until('the server is told', () => server.of('notifications/cancelled').length === 1);
  assert.equal(server.of('notifications/cancelled')[0]?.message.params?.['requestId'], held?.id);
  await held?.left;
  assert.equal(connection.view().pending, 0);
});

test('a call whose client left makes room for another one, and the server is told', async (t) => {
  const { server, connection, begin, call } = await start(t);
  server.tools['hold'] = (x) => void x.stream();
  await begin();
  const held = Array.from({ length: 128 }, () => call(tool('hold')));
  assert.match(await call().settled, /too many calls waiting/);
  held[3]!.abandoned = true;
  assert.match(await call().settled, /hello/);
  assert.match(await held[3]!.settled, /the client left/);
  await until('the server is told', () => server.of('notifications/cancelled').length === 1);
  assert.equal([...connection.calls()].length, 127);
});
