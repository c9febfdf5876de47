import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  connect,
  constants,
  createSecureServer,
  createServer,
  type ClientHttp2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { authority } from '../certificates.testing.ts';
import { TestPlane } from '../dataPlane.testing.ts';
import { until } from '../../until.testing.ts';
import { field, fields, get, post, status } from '../wire.testing.ts';

type Serve = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

interface Stage {
  readonly plane: TestPlane;
  readonly session: ClientHttp2Session;
  /** Connections of the gateway to the backend. */
  readonly sessions: () => number;
}

async function start(t: TestContext, serve: Serve, tls = false, most?: number): Promise<Stage> {
  const ca = authority();
  const server = tls ? createSecureServer(ca.issue({ names: ['127.0.0.1'] })) : createServer();
  let sessions = 0;
  const open = new Set<{ destroy(): void }>();
  server.on('session', (session: ServerHttp2Session) => {
    sessions++;
    open.add(session);
  });
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.on('error', () => undefined);
    serve(stream, headers);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const plane = await TestPlane.start({
    routes: [
      {
        targets: [
          {
            host: '127.0.0.1',
            port,
            http2: true,
            ...(most === undefined ? {} : { connections: { maxConnections: most, maxPendingRequests: 10 } }),
            ...(tls
              ? {
                  tls: {
                    insecure: false,
                    insecureHost: false,
                    subjectAltNames: [],
                    root: { inline: ca.cert },
                  },
                }
              : {}),
          },
        ],
      },
    ],
  });
  // A client holds what it has not sent yet in the memory of its session.
  const session = connect(`http://127.0.0.1:${plane.port}`, { maxSessionMemory: 100 });
  session.on('error', () => undefined);
  t.after(async () => {
    session.destroy();
    plane.close();
    for (const one of open) one.destroy();
    const closed = once(server, 'close');
    server.close();
    await closed;
  });
  return { plane, session, sessions: () => sessions };
}

interface Answer {
  readonly headers: Record<string, unknown>;
  readonly trailers: Record<string, unknown>;
  readonly body: Buffer;
}

/** A call of gRPC: one message, or a stream that the caller writes to. */
async function call(
  session: ClientHttp2Session,
  body: Buffer | undefined,
  more: object = {},
): Promise<Answer> {
  const stream = session.request({
    ':method': 'POST',
    ':path': '/test.Echo/Say',
    ':authority': 'grpc.test',
    'content-type': 'application/grpc',
    te: 'trailers',
    ...more,
  });
  stream.on('error', () => undefined);
  let headers = {};
  let trailers = {};
  const chunks: Buffer[] = [];
  stream.on('response', (given) => (headers = given));
  stream.on('trailers', (given) => (trailers = given));
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.end(body);
  await new Promise((resolve) => stream.once('close', resolve));
  assert.equal(stream.rstCode, constants.NGHTTP2_NO_ERROR);
  return { headers, trailers, body: Buffer.concat(chunks) };
}

/** Answers as gRPC servers do: head, messages, and how it went in the trailers. */
const echo: Serve = (stream, headers) => {
  stream.respond(
    { ':status': 200, 'content-type': 'application/grpc', 'x-te': headers.te ?? '' },
    { waitForTrailers: true },
  );
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'grpc-message': 'fine' }));
  stream.pipe(stream);
};

test('a gRPC call goes through with its trailers', async (t) => {
  const { session, plane } = await start(t, echo);
  const answer = await call(session, Buffer.from('\0\0\0\0\x05hello'));
  assert.equal(answer.headers[':status'], 200);
  assert.equal(answer.headers['content-type'], 'application/grpc');
  assert.equal(answer.headers['x-te'], 'trailers');
  assert.equal(answer.headers['content-length'], undefined);
  assert.equal(answer.body.toString(), '\0\0\0\0\x05hello');
  assert.equal(answer.trailers['grpc-status'], '0');
  assert.equal(answer.trailers['grpc-message'], 'fine');
  await until('it is logged', () => plane.access.length === 1);
});

test('a gRPC call goes through with the id of its request among the trailers', async (t) => {
  const { session } = await start(t, (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'x-request-id': 'one' }));
    stream.end('hello');
  });
  const { body, trailers } = await call(session, Buffer.alloc(5));
  assert.equal(body.toString(), 'hello');
  assert.equal(trailers['grpc-status'], '0');
  assert.equal(trailers['x-request-id'], 'one');
});

test('an answer of trailers alone stays one', async (t) => {
  const { session } = await start(t, (stream) =>
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '12' },
      { endStream: true },
    ),
  );
  const { headers, body, trailers } = await call(session, Buffer.alloc(5));
  assert.equal(headers['grpc-status'], '12');
  assert.equal(body.length, 0);
  assert.deepEqual(Object.keys(trailers), []);
});

test('messages go both ways while a call lasts', async (t) => {
  const { session } = await start(t, echo);
  const stream = session.request({
    ':method': 'POST',
    ':path': '/test.Echo/Talk',
    ':authority': 'grpc.test',
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  let heard = '';
  let trailers: Record<string, unknown> = {};
  stream.on('data', (chunk: Buffer) => (heard += chunk.toString()));
  stream.on('trailers', (given) => (trailers = given));
  for (const word of ['one ', 'two ', 'three']) {
    stream.write(word);
    await until(`${word} is back`, () => heard.endsWith(word));
  }
  stream.end();
  await once(stream, 'close');
  assert.equal(heard, 'one two three');
  assert.equal(trailers['grpc-status'], '0');
});

test('many requests share one connection to the backend', async (t) => {
  const { session, sessions } = await start(t, echo);
  const bodies = Array.from({ length: 60 }, (_, i) => `message ${i}`);
  const answers = await Promise.all(bodies.map((body) => call(session, Buffer.from(body))));
  assert.deepEqual(
    answers.map(({ body }) => body.toString()),
    bodies,
  );
  assert.equal(sessions(), 1);
  for (let i = 0; i < 5; i++) await call(session, Buffer.from('again'));
  assert.equal(sessions(), 1);
});

test('clients of HTTP/1.1 reach a backend of HTTP/2', async (t) => {
  const { plane } = await start(t, (stream, headers) => {
    if (headers[':path'] === '/post') {
      echo(stream, headers);
      return;
    }
    stream.additionalHeaders({ ':status': 103, link: '</a>' });
    stream.respond({
      ':status': 200,
      'content-length': '5',
      'set-cookie': ['a', 'b'],
      'x-seen': `${headers[':authority']} ${String(headers['x-forwarded-for'])}`,
    });
    stream.end(headers[':method'] === 'HEAD' ? undefined : 'hello');
  });
  const client = await plane.client();
  for (let i = 0; i < 3; i++) {
    assert.equal(status(await client.ask(get('/a'))), 103);
    const answer = await client.answer();
    assert.equal(answer.body.toString(), 'hello');
    assert.deepEqual(fields(answer, 'set-cookie'), ['a', 'b']);
    assert.equal(field(answer, 'x-seen'), 'app.test 127.0.0.1');
  }
  const answer = await client.ask(post('hello'));
  assert.equal(answer.body.toString(), 'hello');
  assert.equal(answer.trailers, 'grpc-status: 0\r\ngrpc-message: fine');
});

test('large bodies cross, and a side that does not read holds the other back', async (t) => {
  const size = 20_000_000;
  const { session } = await start(t, echo);
  const stream = session.request({ ':method': 'POST', ':path': '/', ':authority': 'app.test' });
  for (let i = 0; i < 20; i++) stream.write(Buffer.alloc(1_000_000, i));
  stream.end();
  await once(stream, 'response');
  assert.ok(stream.writableLength > 10_000_000);
  let got = 0;
  stream.on('data', (chunk: Buffer) => (got += chunk.length));
  await once(stream, 'end');
  assert.equal(got, size);
});

test('a stream that the backend resets is the failure of that request alone', async (t) => {
  const { session, plane } = await start(t, (stream, headers) => {
    if (headers[':path'] === '/early') stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    else if (headers[':path'] === '/late') {
      stream.respond({ ':status': 200 });
      stream.write('half', () => stream.destroy(new Error('a defect')));
    } else echo(stream, headers);
  });
  assert.equal(status(await plane.ask(get('/early'))), 503);
  const late = session.request({ ':path': '/late', ':authority': 'app.test' });
  late.on('error', () => undefined);
  late.resume();
  await new Promise((resolve) => late.once('close', resolve));
  assert.notEqual(late.rstCode, constants.NGHTTP2_NO_ERROR);
  assert.equal((await call(session, Buffer.from('x'))).body.toString(), 'x');
});

test('a call that its client gives up is given up at the backend', async (t) => {
  let closed: number | undefined;
  let begun = false;
  const { session } = await start(t, (stream) => {
    begun = true;
    stream.on('close', () => (closed = stream.rstCode));
  });
  const stream = session.request({ ':path': '/', ':authority': 'app.test' });
  stream.on('error', () => undefined);
  await until('it has begun', () => begun);
  stream.close(constants.NGHTTP2_CANCEL);
  await until('it is given up', () => closed !== undefined);
  assert.equal(closed, constants.NGHTTP2_CANCEL);
});

test('a backend that says GOAWAY gets no further request on that connection', async (t) => {
  const { session, sessions } = await start(t, (stream, headers) => {
    echo(stream, headers);
    if (headers['x-leave'] !== undefined) stream.session?.goaway();
  });
  assert.equal((await call(session, Buffer.from('a'), { 'x-leave': '1' })).body.toString(), 'a');
  assert.equal((await call(session, Buffer.from('b'))).body.toString(), 'b');
  assert.equal(sessions(), 2);
});

test('under TLS the backend is asked for h2, and must speak it', async (t) => {
  const good = await start(t, echo, true);
  assert.equal((await call(good.session, Buffer.from('x'))).body.toString(), 'x');
  const ca = authority();
  const old = createTlsServer({ ...ca.issue({ names: ['127.0.0.1'] }), ALPNProtocols: ['http/1.1'] });
  old.on('tlsClientError', () => undefined);
  old.listen(0, '127.0.0.1');
  await once(old, 'listening');
  const { port } = old.address() as AddressInfo;
  const tls = { insecure: false, insecureHost: false, subjectAltNames: [], root: { inline: ca.cert } };
  const plane = await TestPlane.start({
    routes: [{ targets: [{ host: '127.0.0.1', port, http2: true, tls }] }],
  });
  t.after(() => {
    plane.close();
    old.close();
  });
  assert.equal(status(await plane.ask(get())), 503);
});

test('a backend that cannot be reached is 503, to a client of gRPC as its status', async (t) => {
  const plane = await TestPlane.start({
    routes: [{ targets: [{ host: '127.0.0.1', port: 1, http2: true }] }],
  });
  const session = connect(`http://127.0.0.1:${plane.port}`);
  t.after(() => {
    session.destroy();
    plane.close();
  });
  assert.equal(status(await plane.ask(get())), 503);
  const { headers } = await call(session, Buffer.alloc(5));
  assert.deepEqual(
    [headers[':status'], headers['content-type'], headers['grpc-status'], headers['grpc-message']],
    [200, 'application/grpc', '14', 'upstream connect failed'],
  );
  await until('it is logged', () => plane.access.length === 2);
  assert.equal(plane.access[1]?.error, 'upstream_connect_failed');
  await plane.apply({ hostname: 'elsewhere.test' });
  assert.equal((await call(session, Buffer.alloc(5))).headers['grpc-status'], '12');
});

test('a body that its backend did not wait for never becomes a request', async (t) => {
  const seen: string[] = [];
  let refuse = (): void => undefined;
  const serve: Serve = (stream, headers) => {
    seen.push(`${headers[':method'] ?? ''} ${headers[':path'] ?? ''}`);
    if (headers[':method'] !== 'POST') {
      stream.respond({ ':status': 200, 'content-length': '2' });
      stream.end('ok');
      return;
    }
    refuse = () => {
      stream.respond({ ':status': 401, 'content-length': '2' });
      stream.end('no');
    };
  };
  const { plane } = await start(t, serve, false, 1);
  const injected = 'DELETE /admin HTTP/1.1\r\nhost: backend\r\n\r\n';
  const piece = Buffer.alloc(40_000, 'a');
  const client = await plane.client();
  const length = 3 * piece.length + injected.length;
  client.send(`POST /upload HTTP/1.1\r\nhost: a\r\ncontent-length: ${length}\r\n\r\n`);
  await until('the backend has the upload', () => seen.length === 1);
  // More than the window of a stream, so the last piece waits in the gateway.
  for (const part of [piece, piece, piece, injected]) {
    client.send(part);
    // A request that gets its answer later was read later.
    assert.equal(status(await plane.ask('GET / HTTP/1.1\r\n\r\n')), 400);
  }
  // It gets the channel of the upload, as soon as that has its answer.
  const next = await plane.client();
  next.send(get('/next'));
  await until('it waits for a connection', async () =>
    /^portcullis_upstream_pending_requests\S* 1$/m.test(await plane.metricsText()),
  );
  refuse();
  assert.equal(status(await client.answer()), 401);
  assert.equal(status(await next.answer()), 200);
  assert.deepEqual([...new Set(seen)], ['POST /upload', 'GET /next']);
});
