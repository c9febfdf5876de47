import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  connect,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { TestPlane, type ModelInShort } from '../dataPlane.testing.ts';
import { until } from '../../until.testing.ts';
import { field, fields, get, status } from '../wire.testing.ts';

type Serve = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

/** A gateway before a backend of HTTP/2. */
async function start(
  t: TestContext,
  serve: Serve,
  { offers = true, ...model }: ModelInShort & { offers?: boolean } = {},
): Promise<TestPlane> {
  const server = createServer({ settings: { enableConnectProtocol: offers } });
  const open = new Set<ServerHttp2Session>();
  server.on('session', (session: ServerHttp2Session) => open.add(session));
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.on('error', () => undefined);
    serve(stream, headers);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const eviction = { consecutiveFailures: 1, durationMs: 600_000, maxEjectedPercent: 100 };
  const plane = await TestPlane.start({
    ...model,
    routes: [{ targets: [{ host: '127.0.0.1', port, http2: true, eviction }] }],
  });
  t.after(async () => {
    plane.close();
    for (const one of open) one.destroy();
    const closed = once(server, 'close');
    server.close();
    await closed;
  });
  return plane;
}

const upgrade = (...lines: string[]): string =>
  get(
    '/chat?room=1',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    // The key and the answer to it of RFC 6455 §1.3.
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ...lines,
  );

const echo: Serve = (stream) => {
  stream.respond({ ':status': 200, 'sec-websocket-protocol': 'chat' });
  stream.pipe(stream);
};

test('a WebSocket of HTTP/1.1 reaches a backend of HTTP/2 as extended CONNECT', async (t) => {
  let seen: IncomingHttpHeaders = {};
  const plane = await start(t, (stream, headers) => {
    seen = headers;
    echo(stream, headers);
  });
  const client = await plane.client();
  const answer = await client.ask(upgrade('Sec-WebSocket-Protocol: chat'), true);
  assert.equal(answer.start, 'HTTP/1.1 101 Switching Protocols');
  assert.equal(field(answer, 'sec-websocket-accept'), 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
  assert.equal(field(answer, 'upgrade'), 'websocket');
  assert.equal(field(answer, 'connection'), 'upgrade');
  assert.equal(field(answer, 'sec-websocket-protocol'), 'chat');
  assert.deepEqual(fields(answer, 'transfer-encoding'), []);
  assert.equal(seen[':method'], 'CONNECT');
  assert.equal(seen[':protocol'], 'websocket');
  assert.equal(seen[':scheme'], 'http');
  assert.equal(seen[':path'], '/chat?room=1');
  assert.equal(seen['sec-websocket-version'], '13');
  assert.equal(seen['sec-websocket-key'], undefined);
  assert.equal(seen['upgrade'], undefined);
  client.send('hello');
  await until('the echo is there', () => client.text.endsWith('hello'));
  assert.match(await plane.metricsText(), /^portcullis_upgraded_connections 1$/m);
  client.close();
  await until('the tunnel is over', () => plane.access.length === 1);
  assert.equal(plane.access[0]?.status, 101);
});

test('much goes through such a tunnel in both directions, with back-pressure', async (t) => {
  const plane = await start(t, echo);
  const client = await plane.client();
  await client.ask(upgrade(), true);
  const sent = Buffer.alloc(5_000_000, 'abcdefghij');
  const before = client.text.length;
  client.send(sent);
  await until('all of it came back', () => client.text.length - before >= sent.length);
  assert.equal(client.text.slice(before), sent.toString());
  client.close();
});

test('each side of such a tunnel ends for itself', async (t) => {
  const ended: string[] = [];
  const plane = await start(t, (stream) => {
    stream.respond({ ':status': 200 });
    stream.resume();
    stream.on('end', () => {
      ended.push('client');
      stream.end('bye');
    });
  });
  const client = await plane.client();
  await client.ask(upgrade(), true);
  client.socket.end();
  await until('the last words are there', () => client.text.endsWith('bye'));
  assert.deepEqual(ended, ['client']);
  await until('no connection is left', () => plane.connections === 0);
  await until('the stream is given back', () => plane.upstreamConnections === 0);
});

test('a tunnel that breaks at one side breaks at the other', async (t) => {
  const streams: ServerHttp2Stream[] = [];
  const plane = await start(t, (stream) => {
    stream.respond({ ':status': 200 });
    stream.resume();
    streams.push(stream);
  });
  const client = await plane.client();
  await client.ask(upgrade(), true);
  streams[0]?.destroy(new Error('broken'));
  await until('the client is told', () => client.ending !== 'open');
  assert.equal(client.ending, 'reset');

  const other = await plane.client();
  await other.ask(upgrade(), true);
  const [, second] = streams;
  other.socket.resetAndDestroy();
  await until('the backend is told', () => second?.destroyed === true);
});

test('a refusal of a tunnel by the backend reaches the client, and the connection continues', async (t) => {
  const plane = await start(t, (stream, headers) => {
    if (headers[':method'] === 'CONNECT') {
      stream.respond({ ':status': 403, 'content-type': 'text/plain' });
      stream.end('no entry');
    } else {
      stream.respond({ ':status': 200 });
      stream.end('plain');
    }
  });
  const client = await plane.client();
  const refused = await client.ask(upgrade());
  assert.equal(status(refused), 403);
  assert.equal(refused.body.toString(), 'no entry');
  assert.equal((await client.ask(get())).body.toString(), 'plain');
  client.close();
});

test('a backend that does not offer tunnels is not asked for one: 501, and nothing held against it', async (t) => {
  const methods: unknown[] = [];
  const plane = await start(
    t,
    (stream, headers) => {
      methods.push(headers[':method']);
      stream.respond({ ':status': 200 });
      stream.end('plain');
    },
    { offers: false },
  );
  const client = await plane.client();
  for (let i = 0; i < 3; i++) {
    const answer = await client.ask(upgrade());
    assert.equal(status(answer), 501);
    assert.match(answer.body.toString(), /not implemented/);
  }
  assert.equal(plane.access[0]?.error, 'upstream_no_upgrade');
  assert.match(plane.access[0]?.reason ?? '', /extended CONNECT/);
  assert.equal((await client.ask(get())).body.toString(), 'plain');
  assert.deepEqual(methods, ['GET']);
  const ejections = /upstream_ejections_total\{[^}]*\} (\d+)/.exec(await plane.metricsText())?.[1];
  assert.equal(ejections, '0');
  client.close();
});

test('another protocol is asked for where tunnels are offered, and left out where they are not', async (t) => {
  const ask = get('/', 'Connection: Upgrade', 'Upgrade: Test/1');
  const offering = await start(t, (stream, headers) => {
    stream.respond({ ':status': 200 });
    stream.end(String(headers[':protocol']));
  });
  const client = await offering.client();
  const answer = await client.ask(ask, true);
  assert.equal(field(answer, 'upgrade'), 'test/1');
  assert.deepEqual(fields(answer, 'sec-websocket-accept'), []);
  await until('the tunnel has told', () => client.text.endsWith('test/1'));
  client.close();
  const plain = await start(
    t,
    (stream, headers) => {
      stream.respond({ ':status': 200 });
      stream.end(`${String(headers[':method'])} ${String(headers['upgrade'])}`);
    },
    { offers: false },
  );
  assert.equal((await plain.ask(ask)).body.toString(), 'GET undefined');
});

test('a WebSocket of HTTP/2 reaches a backend of HTTP/2', async (t) => {
  const plane = await start(t, echo);
  const session = connect(`http://127.0.0.1:${plane.port}`);
  t.after(() => session.destroy());
  await once(session, 'remoteSettings');
  const stream = session.request({
    ':method': 'CONNECT',
    ':protocol': 'websocket',
    ':scheme': 'http',
    ':path': '/chat',
    ':authority': 'chat.test',
    'sec-websocket-version': '13',
  });
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
  assert.equal(headers[':status'], 200);
  assert.equal(headers['sec-websocket-accept'], undefined);
  assert.equal(headers['upgrade'], undefined);
  stream.end('hello');
  let body = '';
  for await (const chunk of stream) body += String(chunk);
  assert.equal(body, 'hello');
});
