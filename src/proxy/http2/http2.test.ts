import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import { test, type TestContext } from 'node:test';
import { authority, listenerTls } from '../certificates.testing.ts';
import { TestPlane, type ModelInShort, type RouteInShort } from '../dataPlane.testing.ts';
import { until } from '../../until.testing.ts';
import { field, fields, get, ok, RawBackend, status, type BackendScript } from '../wire.testing.ts';

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: Buffer;
  readonly trailers: Record<string, string | string[] | undefined>;
  readonly informational: number[];
}

interface Stage {
  readonly plane: TestPlane;
  readonly backend: RawBackend;
  readonly session: ClientHttp2Session;
}

async function start(
  t: TestContext,
  script: BackendScript,
  model: Omit<ModelInShort, 'routes'> = {},
  policies: RouteInShort['policies'] = {},
): Promise<Stage> {
  const backend = await RawBackend.start(script);
  const plane = await TestPlane.start({ ...model, routes: [{ to: backend.port, policies }] });
  const session = connect(`http://127.0.0.1:${plane.port}`);
  session.on('error', () => undefined);
  t.after(async () => {
    session.destroy();
    plane.close();
    await backend.close();
  });
  return { plane, backend, session };
}

/** Collects the answer of a stream. */
async function answer(stream: ClientHttp2Stream): Promise<Answer> {
  let head: Answer['headers'] = {};
  let trailers: Answer['trailers'] = {};
  const informational: number[] = [];
  const chunks: Buffer[] = [];
  stream.on('headers', (headers) => informational.push(Number(headers[':status'])));
  stream.on('response', (headers) => (head = headers as Answer['headers']));
  stream.on('trailers', (headers) => (trailers = headers as Answer['trailers']));
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(stream, 'close');
  if (stream.rstCode !== 0) throw new Error(`reset with ${stream.rstCode}`);
  return {
    status: Number(head[':status']),
    headers: head,
    body: Buffer.concat(chunks),
    trailers,
    informational,
  };
}

const ask = (
  session: ClientHttp2Session,
  headers: Record<string, string | string[]> = {},
  body?: string,
): Promise<Answer> => {
  const stream = session.request(
    { ':path': '/', ':authority': 'app.test', ...headers },
    { endStream: body === undefined },
  );
  if (body !== undefined) stream.end(body);
  return answer(stream);
};

const hello: BackendScript = {
  onRequest: (_request, connection) => connection.send(ok('hello', 'X-Answer: 1')),
};

test('a client that speaks HTTP/2 from its first byte is served on a port of plain HTTP', async (t) => {
  const { plane, backend, session } = await start(t, hello);
  const got = await ask(session, { ':path': '/a?b=c', 'x-one': '1', cookie: ['a=1', 'b=2'], te: 'trailers' });
  assert.equal(got.status, 200);
  assert.equal(got.body.toString(), 'hello');
  assert.equal(got.headers['x-answer'], '1');
  assert.equal(got.headers['content-length'], '5');
  assert.equal(got.headers['server'], 'portcullis');
  assert.equal(got.headers['connection'], undefined);
  const [seen] = backend.requests;
  assert.ok(seen !== undefined);
  assert.equal(seen.start, 'GET /a?b=c HTTP/1.1');
  assert.equal(field(seen, 'host'), 'app.test');
  assert.equal(field(seen, 'x-one'), '1');
  assert.equal(field(seen, 'cookie'), 'a=1; b=2');
  assert.equal(field(seen, 'te'), undefined);
  assert.equal(field(seen, 'x-forwarded-for'), '127.0.0.1');
  assert.equal(fields(seen, 'transfer-encoding').length, 0);
  await until('it is logged', () => plane.access.length === 1);
  assert.equal(plane.access[0]?.status, 200);
  // The same port goes on with HTTP/1.1.
  assert.equal((await plane.ask(get())).body.toString(), 'hello');
});

test('the many cookies of a browser count as one header line, as over HTTP/1.1', async (t) => {
  const { backend, session } = await start(t, hello);
  const cookie = Array.from({ length: 180 }, (_, index) => `cookie${index}=value`);
  assert.equal((await ask(session, { cookie })).status, 200);
  const [seen] = backend.requests;
  assert.ok(seen !== undefined);
  assert.equal(field(seen, 'cookie'), cookie.join('; '));
});

test('ALPN chooses HTTP/2 under TLS', async (t) => {
  const ca = authority();
  const tls = listenerTls(ca.issue({ names: ['app.test'] }), 'TLSv1.2');
  const backend = await RawBackend.start({
    onRequest: (request, connection) => connection.send(ok(field(request, 'x-forwarded-proto') ?? '')),
  });
  const plane = await TestPlane.start({ listeners: [{ tls, routes: [{ to: backend.port }] }] });
  const session = connect('https://app.test', {
    host: '127.0.0.1',
    port: plane.port,
    servername: 'app.test',
    ca: ca.cert,
  });
  t.after(async () => {
    session.destroy();
    plane.close();
    await backend.close();
  });
  assert.equal((await ask(session)).body.toString(), 'https');
  assert.equal(session.alpnProtocol, 'h2');
});

test('many streams of one connection are served side by side', async (t) => {
  const { session } = await start(t, {
    onRequest: (request, connection) => connection.send(ok(request.start.split(' ')[1] ?? '')),
  });
  const answers = await Promise.all(Array.from({ length: 80 }, (_, i) => ask(session, { ':path': `/${i}` })));
  assert.deepEqual(
    answers.map(({ body }) => body.toString()),
    Array.from({ length: 80 }, (_, i) => `/${i}`),
  );
});

test('bodies cross in both directions, with and without a known length', async (t) => {
  const { backend, session } = await start(t, {
    onRequest: (request, connection) =>
      connection.send(
        `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${request.body.length.toString(16)}\r\n${request.body.toString('latin1')}\r\n0\r\n\r\n`,
      ),
  });
  const body = 'x'.repeat(300_000);
  const streamed = await ask(session, { ':method': 'POST' }, body);
  assert.equal(streamed.body.toString(), body);
  assert.equal(streamed.headers['transfer-encoding'], undefined);
  assert.equal(field(backend.requests[0] as never, 'transfer-encoding'), 'chunked');
  const known = await ask(session, { ':method': 'POST', 'content-length': '5' }, 'hello');
  assert.equal(known.body.toString(), 'hello');
  assert.equal(field(backend.requests[1] as never, 'content-length'), '5');
  const empty = await ask(session, { ':method': 'POST' }, '');
  assert.equal(empty.body.toString(), '');
});

test('a hundred uploads of a known length that come at once are all served', async (t) => {
  const { session } = await start(t, {
    onRequest: ({ body }, connection) => connection.send(ok(String(body.length))),
  });
  const uploads = Array.from({ length: 100 }, () =>
    ask(session, { ':method': 'POST', 'content-length': '500' }, 'x'.repeat(500)),
  );
  const answers = await Promise.all(uploads);
  assert.ok(answers.every(({ body }) => body.toString() === '500'));
});

test('HEAD, 204 and 304 have no body, interim answers and trailers cross', async (t) => {
  let reply = '';
  const { session } = await start(t, { onRequest: (_request, connection) => connection.send(reply) });
  reply = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n';
  const head = await ask(session, { ':method': 'HEAD' });
  assert.deepEqual([head.status, head.headers['content-length'], head.body.length], [200, '5', 0]);
  for (const code of [204, 304]) {
    reply = `HTTP/1.1 ${code} X\r\n\r\n`;
    assert.equal((await ask(session)).status, code);
  }
  reply = `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${ok('hello')}`;
  assert.deepEqual((await ask(session)).informational, [103]);
  reply =
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nGrpc-Status: 0\r\nX-Sum: a\r\n\r\n';
  const trailed = await ask(session);
  assert.equal(trailed.body.toString(), 'hello');
  assert.deepEqual(Object.entries(trailed.trailers), [
    ['grpc-status', '0'],
    ['x-sum', 'a'],
  ]);
});

test('trailers of a request cross', async (t) => {
  const { backend, session } = await start(t, hello);
  const stream = session.request(
    { ':method': 'POST', ':path': '/', ':authority': 'app.test', trailer: 'x-sum' },
    { waitForTrailers: true },
  );
  stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': 'a' }));
  stream.end('hello');
  assert.equal((await answer(stream)).status, 200);
  assert.equal(backend.requests[0]?.trailers, 'x-sum: a');
});

test('errors of ours, redirects and limits are answered as over HTTP/1.1', async (t) => {
  const { plane, session } = await start(t, hello, { limits: { maxBodyBytes: 1_000, maxUriBytes: 500 } });
  assert.equal((await ask(session, { ':path': `/${'x'.repeat(600)}` })).status, 414);
  assert.equal(
    (await ask(session, { ':method': 'POST', 'content-length': '2000' }, 'x'.repeat(2_000))).status,
    413,
  );
  const stream = session.request({ ':method': 'POST', ':path': '/', ':authority': 'app.test' });
  stream.on('error', () => undefined);
  stream.end('x'.repeat(2_000));
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
  assert.equal(headers[':status'], 413);
  assert.equal((await ask(session, { ':path': '/../../x' })).status, 400);
  assert.equal((await ask(session, { ':authority': 'a..b' })).status, 400);
  assert.equal((await ask(session, { host: 'other.test' })).status, 400);
  assert.equal((await ask(session, { expect: '200-maybe' })).status, 417);
  assert.equal((await ask(session)).status, 200);
  await plane.apply({ hostname: 'other.test', routes: [] });
  assert.equal((await ask(session)).status, 404);
});

test('local handlers stream and read bodies', async (t) => {
  const plane = await TestPlane.start({
    routes: [
      {
        handler: (request, reply) => {
          assert.equal(request.version, 'HTTP/2.0');
          void request.readBody(100_000).then((body) => {
            const stream = reply.open(200, [['content-type', 'text/event-stream']]);
            stream.write(`data: ${body.length}\n\n`);
            stream.write('data: ü\n\n');
            stream.end();
          });
        },
      },
    ],
  });
  const session = connect(`http://127.0.0.1:${plane.port}`);
  t.after(() => {
    session.destroy();
    plane.close();
  });
  assert.equal(
    (await ask(session, { ':method': 'POST' }, 'y'.repeat(70_000))).body.toString(),
    'data: 70000\n\ndata: ü\n\n',
  );
});

test('a client that takes its request back takes its backend connection along', async (t) => {
  const { plane, backend, session } = await start(t, { onRequest: () => undefined });
  const stream = session.request({ ':path': '/', ':authority': 'app.test' });
  stream.on('error', () => undefined);
  await backend.until('the request is there', () => backend.requests.length === 1);
  stream.close(constants.NGHTTP2_CANCEL);
  await backend.until('it is left', () => backend.connections.size === 0);
  await until('it is logged', () => plane.access.length === 1);
  assert.equal(plane.access[0]?.status, 0);
  assert.equal(plane.connections, 1);
});

test('an answer that breaks off resets its stream and no other', async (t) => {
  const { session } = await start(t, {
    onRequest: (request, connection) => {
      if (request.start.includes('/cut')) {
        connection.send('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf');
        connection.socket.end();
      } else connection.send(ok('whole'));
    },
  });
  const cut = session.request({ ':path': '/cut', ':authority': 'app.test' });
  cut.on('error', () => undefined);
  cut.resume();
  await new Promise((resolve) => cut.once('close', resolve));
  assert.equal(cut.rstCode, constants.NGHTTP2_INTERNAL_ERROR);
  assert.equal((await ask(session)).body.toString(), 'whole');
});

test('a slow reader holds its backend back, a slow backend its writer', async (t) => {
  const size = 30_000_000;
  let release = (): void => undefined;
  const { backend, session } = await start(t, {
    onHead: (connection) => {
      if (!connection.text.startsWith('POST')) return;
      connection.socket.pause();
      release = () => connection.socket.resume();
    },
    onRequest: (request, connection) => {
      if (request.start.startsWith('POST')) {
        connection.send(ok(String(request.body.length)));
        return;
      }
      connection.send(`HTTP/1.1 200 OK\r\ncontent-length: ${size}\r\n\r\n`);
      connection.socket.write(Buffer.alloc(size, 'z'));
    },
  });
  const reading = session.request({ ':path': '/', ':authority': 'app.test' });
  await once(reading, 'response');
  await backend.until('the backend is held back', () =>
    [...backend.connections].some(({ socket }) => socket.writableLength > 10_000_000),
  );
  let got = 0;
  reading.on('data', (chunk: Buffer) => (got += chunk.length));
  await once(reading, 'end');
  assert.equal(got, size);

  const writing = session.request({ ':method': 'POST', ':path': '/', ':authority': 'app.test' });
  const done = answer(writing);
  let taken = 0;
  for (let i = 0; i < 30; i++) writing.write(Buffer.alloc(1_000_000, 'y'), () => taken++);
  writing.end();
  await until('something is taken', () => taken > 0);
  assert.ok(writing.writableLength > 15_000_000);
  release();
  assert.equal((await done).body.toString(), String(size));
});

test('a drain lets streams end, says GOAWAY and closes', async (t) => {
  let late: (() => void) | undefined;
  const { plane, backend, session } = await start(t, {
    onRequest: (_request, connection) => (late = () => connection.send(ok('late'))),
  });
  const running = ask(session);
  await backend.until('the request is there', () => late !== undefined);
  const goaway = once(session, 'goaway');
  const drained = plane.plane.drain();
  await goaway;
  late?.();
  assert.equal((await running).body.toString(), 'late');
  await drained;
  assert.equal(plane.connections, 0);
});

test('a WebSocket over HTTP/2 reaches a backend of HTTP/1.1', async (t) => {
  const { plane, backend, session } = await start(t, {
    onRequest: (_request, connection) => {
      connection.send(
        'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\nSec-WebSocket-Protocol: chat\r\n\r\nwelcome ',
      );
      connection.socket.on('data', (bytes: Buffer) => connection.socket.write(bytes));
    },
  });
  await once(session, 'remoteSettings');
  assert.equal(session.remoteSettings.enableConnectProtocol, true);
  const stream = session.request({
    ':method': 'CONNECT',
    ':protocol': 'websocket',
    ':scheme': 'http',
    ':path': '/chat',
    ':authority': 'app.test',
    'sec-websocket-version': '13',
  });
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
  assert.equal(headers[':status'], 200);
  assert.equal(headers['sec-websocket-protocol'], 'chat');
  assert.equal(headers['sec-websocket-accept'], undefined);
  const [seen] = backend.requests;
  assert.ok(seen !== undefined);
  assert.equal(seen.start, 'GET /chat HTTP/1.1');
  assert.equal(field(seen, 'upgrade'), 'websocket');
  assert.match(field(seen, 'sec-websocket-key') ?? '', /^[\w+/]{22}==$/);
  let text = '';
  stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  stream.write('hello');
  await until('the echo', () => text === 'welcome hello');
  stream.end();
  await once(stream, 'close');
  await until('it is logged', () => plane.access.length === 1);
  assert.equal(plane.access[0]?.status, 101);
  assert.match(await plane.metricsText(), /^portcullis_upgraded_connections_total 1$/m);
});

test('CONNECT for anything else is not implemented', async (t) => {
  const { session } = await start(t, hello);
  const stream = session.request({ ':method': 'CONNECT', ':authority': 'app.test:80' });
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
  assert.equal(headers[':status'], 501);
  stream.close();
});

test('other prefaces than that of HTTP/2 are refused as ever', async (t) => {
  const { plane } = await start(t, hello);
  assert.equal(status(await plane.ask('PRI /x HTTP/2.0\r\n\r\nSM\r\n\r\n')), 505);
  assert.equal(status(await plane.ask('GET / HTTP/2.0\r\n\r\n')), 505);
  assert.equal(status(await plane.ask('GET / HTP/1.1\r\nhost: a\r\n\r\n')), 400);
  assert.equal(status(await plane.ask('GET example.test\r\nhost: a\r\n\r\n')), 400);
  assert.equal(status(await plane.ask('GET x HTTP/1.1\r\nhost: a\r\n\r\n')), 400);
  const client = await plane.client();
  assert.equal(status(await client.ask(get())), 200);
  assert.equal(status(await client.ask('INVALID CONNECTION PREFACE\r\n\r\n')), 400);
  await client.closed();
  const another = await plane.client();
  assert.equal(status(await another.ask(get())), 200);
  assert.equal(status(await another.ask('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')), 505);
});

for (const text of [
  'INVALID CONNECTION PREFACE\r\n\r\n',
  'PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n',
  'PRI * HTTP/2.1\r\n\r\nSM\r\n\r\n',
])
  test(`a first line that can only be a broken preface gets GOAWAY: ${JSON.stringify(text)}`, async (t) => {
    const { plane } = await start(t, hello);
    const client = await plane.client();
    client.send(text);
    await client.closed();
    // SETTINGS, WINDOW_UPDATE, and GOAWAY with PROTOCOL_ERROR: no byte of HTTP/1.1.
    const bytes = client.inbox.bytes;
    const types: number[] = [];
    for (let at = 0; at < bytes.length; at += 9 + bytes.readUIntBE(at, 3)) types.push(bytes[at + 3] ?? -1);
    assert.equal(types.at(-1), 7);
    assert.equal(bytes.readUInt32BE(bytes.length - 4), 1);
  });

test('a request of no length whose stream goes on waits for its end, and is refused when a body comes', async (t) => {
  const { plane, backend, session } = await start(t, hello);
  const whole = session.request({ ':method': 'POST', ':path': '/whole', 'content-length': '0' });
  whole.end();
  assert.equal((await answer(whole)).status, 200);
  const longer = session.request({ ':method': 'POST', ':path': '/longer', 'content-length': '0' });
  longer.on('error', () => undefined);
  longer.end('hello');
  await assert.rejects(answer(longer));
  assert.equal(status(await plane.ask(get('/after'))), 200);
  assert.deepEqual(
    backend.requests.map(({ start: line }) => line),
    ['POST /whole HTTP/1.1', 'GET /after HTTP/1.1'],
  );
});

test('an answer that cannot be written ends its stream, also where a timer writes it', async (t) => {
  const names = Array.from({ length: 2_100 }, (_, index) => [`x-${index}`, 'a']);
  const { session } = await start(
    t,
    { onRequest: ({ start: line }, backend) => void (line.includes('/slow') || backend.send(ok('x'))) },
    {},
    {
      timeout: { requestTimeout: 20 },
      responseHeaderModifier: {
        set: {},
        remove: [],
        add: Object.fromEntries(names) as Record<string, string>,
      },
    },
  );
  for (const path of ['/slow', '/', '/slow']) {
    const stream = session.request({ ':path': path });
    await assert.rejects(once(stream, 'close'), /NGHTTP2_INTERNAL_ERROR/, path);
  }
  assert.equal(session.closed, false);
});
