import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { defaults } from '../../../model/index.ts';
import { closedPort } from '../../../upstream/endpoint.testing.ts';
import { until } from '../../../until.testing.ts';
import { quick } from '../../remote.testing.ts';
import type { RemoteOptions } from '../conversation/remoteConnection.ts';
import { reachOf, recordedOptions } from '../conversation/server.testing.ts';
import type { Outgoing } from '../../messages/outgoing.ts';
import { message, Waits } from '../kind/waiter.testing.ts';
import { SseConnection } from './sseConnection.ts';
import { SseServer, type Arrival } from './sseServer.testing.ts';

const initialize = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};
const initialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}';

const outgoing = (value: object): Outgoing => ({ envelope: message(value), token: undefined, edits: [] });
const tool = (name: string, args: object = {}) =>
  outgoing({ jsonrpc: '2.0', id: 'c', method: 'tools/call', params: { name, arguments: args } });
const echo = (text: string) => tool('echo', { text });

/** A server, and a connection whose session is not begun yet. */
async function start(t: TestContext, options: Partial<RemoteOptions> = {}) {
  const server = await SseServer.start();
  t.after(() => server.close());
  const { reach, log, lines, connections } = reachOf(
    t,
    { host: '127.0.0.1', port: server.port },
    { path: '/sse' },
  );
  const { heard, origins, options: recorded } = recordedOptions();
  const target = { kind: 'sse', name: 'old', host: '127.0.0.1', port: server.port, path: '/sse' } as const;
  const connection = new SseConnection(target, {
    reach,
    log,
    ...recorded,
    ...options,
  });
  t.after(() => connection.close());
  const open = (): Waits => {
    const waits = new Waits();
    connection.open(outgoing(initialize), waits);
    return waits;
  };
  const begin = async (): Promise<void> => {
    assert.match(await open().settled, /"result"/);
    connection.send(initialized, 'notifications/initialized');
    await connection.settling;
  };
  const call = (out = echo('hello')): Waits => {
    const waits = new Waits();
    connection.call(out, waits);
    return waits;
  };
  return { server, reach, lines, connections, connection, heard, origins, open, begin, call };
}

test('a session is one stream, and every message a POST to the endpoint that the server names', async (t) => {
  const { server, connection, begin, call } = await start(t);
  await begin();
  assert.equal(connection.state, 'ready');
  assert.match(await call().settled, /hello/);
  assert.deepEqual(
    server.seen.map(({ method, url, message: { method: said } }) => [method, url, said]),
    [
      ['GET', '/sse', undefined],
      ['POST', '/message?sessionId=s1', 'initialize'],
      ['POST', '/message?sessionId=s1', 'notifications/initialized'],
      ['POST', '/message?sessionId=s1', 'tools/call'],
    ],
  );
  assert.equal(server.of('GET')[0]!.headers.accept, 'text/event-stream');
  assert.equal(server.of('tools/call')[0]!.headers['mcp-protocol-version'], '2024-11-05');
  assert.equal(connection.view().pending, 0);
  const { left } = server.stream;
  await connection.close();
  await left;
  assert.match(await call().settled, /has been stopped/);
});

test('connections are used again, also where the response overtakes the receipt', async (t) => {
  const { server, connections, begin, call } = await start(t);
  server.methods['tools/call'] = (x) => {
    x.stream.say(x.result('first'));
    setImmediate(() => x.accept());
  };
  await begin();
  for (let i = 0; i < 20; i++) assert.match(await call().settled, /first/);
  assert.ok(connections() <= 3, 'the stream, the connection of the last receipt, and one that is free');
});

test('headers and query that policies add go with the stream and with every message', async (t) => {
  const { server, connection, reach, begin, call } = await start(t);
  const richer = { ...reach, headers: [['authorization', 'Bearer x']] as const, path: '/sse?key=k' };
  connection.use(richer);
  await begin();
  await call().settled;
  for (const { headers, url } of server.seen) {
    assert.equal(headers.authorization, 'Bearer x');
    assert.match(url, /[?&]key=k$/);
  }
});

test('messages of the server belong to no call in particular', async (t) => {
  const { server, heard, origins, begin, call } = await start(t);
  server.tools['progress'] = (x) => {
    x.stream.say({ jsonrpc: '2.0', method: 'notifications/progress' });
    x.stream.event('unknown', 'skipped');
    x.stream.say({ jsonrpc: '2.0', id: 9, method: 'ping' });
    x.stream.say(x.result('done'));
  };
  await begin();
  assert.match(await call(tool('progress')).settled, /done/);
  assert.deepEqual(heard, ['notifications/progress', 'ping']);
  assert.deepEqual(origins, [undefined, undefined]);
});

test('a stream that breaks fails the calls under way at once, and another stream restores the session', async (t) => {
  const { server, connection, heard, begin, call } = await start(t);
  server.tools['hold'] = () => undefined;
  await begin();
  for (const [method, params] of [
    ['logging/setLevel', { level: 'error' }],
    ['resources/subscribe', { uri: 'a://1' }],
  ] as const)
    await call(outgoing({ jsonrpc: '2.0', id: 1, method, params })).settled;
  const held = [call(tool('hold')), call(tool('hold'))];
  await until('the calls are there', () => server.of('tools/call').length === 2);
  const before = server.seen.length;
  server.stream.cut();
  for (const waits of held) assert.match(await waits.settled, /target "old" broke its event stream off/);
  assert.match(await call().settled, /hello/);
  assert.deepEqual(heard, ['down', 'again']);
  assert.equal(connection.generation, 1);
  assert.deepEqual(
    server.seen.slice(before).map(({ method, message: said }) => said.method ?? method),
    [
      'GET',
      'initialize',
      'notifications/initialized',
      'logging/setLevel',
      'resources/subscribe',
      'tools/call',
    ],
  );
  assert.ok(server.seen.slice(before + 1).every(({ url }) => url === '/message?sessionId=s2'));
});

test('a server that ends its stream in order is asked for another one', async (t) => {
  const { server, connection, begin, call } = await start(t);
  await begin();
  server.stream.end();
  await until('the session begins again', () => connection.generation === 1);
  assert.match(await call().settled, /hello/);
});

test('a stream that breaks while the session is restored is a failed attempt', async (t) => {
  const { server, connection, begin, call } = await start(t, { restart: { ...quick, maxFailures: 5 } });
  await begin();
  await call(outgoing({ jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params: { uri: 'a://1' } }))
    .settled;
  let tries = 0;
  server.methods['notifications/initialized'] = (x) => {
    x.accept();
    if (++tries === 1) x.stream.cut();
  };
  server.methods['resources/subscribe'] = (x) => {
    x.accept();
    if (tries === 2) x.stream.cut();
    else x.stream.say({ jsonrpc: '2.0', id: x.seen.message.id, result: {} });
  };
  server.stream.cut();
  await until('the gateway knows', () => connection.generation > 0);
  assert.match(await call().settled, /hello/);
  assert.equal(tries, 3);
  await until('no stream of a failed attempt is left', () => server.streams.size === 1);
});

test('a server that is gone is given up with its reason, and tried again with the next call', async (t) => {
  const { server, connection, begin, call } = await start(t);
  await begin();
  server.get = (response) => void response.writeHead(503).end();
  server.stream.cut();
  await until('the server is given up', () => connection.state === 'failed');
  server.get = (response) => void response.writeHead(503).end();
  assert.match(await call().settled, /keeps failing: it failed to initialize again/);
  await until('the server is given up again', () => connection.state === 'failed');
  server.get = undefined;
  assert.match(await call().settled, /hello/);
  assert.equal(connection.state, 'ready');
});

test('a message to a session that the server does not know is sent again in the next session', async (t) => {
  const { server, connection, begin, call } = await start(t);
  server.tools['hold'] = () => undefined;
  await begin();
  const held = call(tool('hold'));
  await until('the call is there', () => server.of('tools/call').length === 1);
  const { stream } = server;
  server.streams.delete(stream.id);
  assert.match(await call().settled, /hello/);
  assert.match(await held.settled, /does not know its session \(404\)/);
  assert.equal(connection.generation, 1);
  await stream.left;
});

test('a call takes its own headers along, also into the next session', async (t) => {
  const { server, begin, call } = await start(t);
  await begin();
  const checked = (): Waits => call({ ...echo('hello'), headers: [['x-checked', 'v1']] });
  assert.match(await checked().settled, /hello/);
  server.streams.delete(server.stream.id);
  assert.match(await checked().settled, /hello/);
  assert.deepEqual(
    server.of('tools/call').map(({ headers }) => headers['x-checked']),
    ['v1', 'v1', 'v1'],
  );
});

test('an endpoint of another origin is refused, and nothing is sent', async (t) => {
  const { server, connection, open } = await start(t);
  server.endpoint = () => 'http://169.254.169.254/latest/meta-data';
  assert.match(await open().settled, /named an endpoint for messages that is no URL of its own origin/);
  assert.equal(connection.state, 'closed');
  assert.equal(server.seen.length, 1);
});

test('a URL behind which is no event stream fails initialize, and the log says what may be wrong', async (t) => {
  for (const [answer, told, noted] of [
    [405, /has no MCP endpoint where it was looked for/, /written as mcp, not as sse/],
    [401, /does not take the credentials of the gateway/, /status 401/],
    [200, /answered with something that is no event stream/, /content-type text\/html/],
  ] as const) {
    const { server, connection, open } = await start(t);
    server.get = (response) => void response.writeHead(answer, { 'content-type': 'text/html' }).end('no');
    const waits = open();
    assert.match(await waits.settled, told);
    assert.match(waits.error?.detail ?? '', noted);
    assert.equal(connection.state, 'closed');
  }
});

test('a server that cannot be reached fails initialize', async (t) => {
  const { connection, open } = await start(t);
  connection.use(reachOf(t, { host: '127.0.0.1', port: await closedPort() }, { path: '/sse' }).reach);
  assert.match(await open().settled, /target "old" cannot be reached/);
  assert.equal(connection.state, 'closed');
});

test('a stream without an endpoint is not waited for longer than an answer to initialize', async (t) => {
  const { server, connection, reach, open } = await start(t);
  connection.use({ ...reach, callTimeoutMs: 30 });
  server.get = (response) =>
    void response.writeHead(200, { 'content-type': 'text/event-stream' }).write('\n');
  assert.match(await open().settled, /did not answer initialize within 30 ms/);
});

test('a POST that is refused fails its call only, without what the server says', async (t) => {
  const { server, connection, begin, call } = await start(t);
  server.methods['tools/list'] = (x) => x.refuse(500, 'a secret');
  await begin();
  const waits = call(outgoing({ jsonrpc: '2.0', id: 1, method: 'tools/list' }));
  assert.equal(await waits.settled, 'target "old" answered with status 500');
  assert.match(waits.error?.detail ?? '', /a secret/);
  assert.match(await call().settled, /hello/);
  assert.equal(connection.generation, 0);
});

test('a response over the limit fails its call, and the stream goes on', async (t) => {
  const limits = { ...defaults.limits, maxMcpMessageBytes: 2_000 };
  const { server, begin, call } = await start(t, { limits: () => limits });
  server.tools['large'] = (x) => x.stream.say(x.result('x'.repeat(5_000)));
  await begin();
  assert.match(await call(tool('large')).settled, /answered with a message that is too large/);
  assert.match(await call().settled, /hello/);
});

test('a call over its time is cancelled at the server under its id there', async (t) => {
  const { server, connection, begin, call } = await start(t);
  let held: Arrival | undefined;
  server.tools['hold'] = (x) => void (held = x);
  await begin();
  const waits = call({ ...tool('hold'), limit: { ms: 20 } } as ReturnType<typeof tool>);
  assert.match(await waits.settled, /did not answer within 20 ms/);
  await until('the server is told', () => server.of('notifications/cancelled').length === 1);
  assert.equal(server.of('notifications/cancelled')[0]?.message.params?.['requestId'], held?.seen.message.id);
  assert.equal(connection.view().pending, 0);
});

test('another server of the configuration gets the session anew, and calls at the previous server end there', async (t) => {
  const { server, connection, begin, call } = await start(t);
  let held: Arrival | undefined;
  server.tools['hold'] = (x) => void (held = x);
  await begin();
  const waits = call(tool('hold'));
  await until('the call is there', () => held !== undefined);
  const other = await SseServer.start();
  t.after(() => other.close());
  connection.use(reachOf(t, { host: '127.0.0.1', port: other.port }, { path: '/sse' }).reach);
  assert.match(await call().settled, /hello/);
  assert.equal(other.of('tools/call').length, 1);
  const { left } = server.stream;
  held!.stream.say(held!.result('late'));
  assert.match(await waits.settled, /late/);
  connection.tick(performance.now());
  await left;
  assert.equal(other.streams.size, 1);
});

test('a client that does not read holds the stream back', async (t) => {
  const { server, connection, heard, begin, call } = await start(t);
  server.tools['news'] = (x) => {
    x.stream.say({ jsonrpc: '2.0', method: 'notifications/message' });
    x.stream.say(x.result('told'));
  };
  await begin();
  connection.pause();
  const waits = call(tool('news'));
  await until('the call is there', () => server.of('tools/call').length === 1);
  assert.deepEqual(heard, []);
  connection.resume();
  assert.match(await waits.settled, /told/);
  assert.deepEqual(heard, ['notifications/message']);
});
