import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  constants,
  createServer,
  type ClientHttp2Session,
  type ServerHttp2Stream,
  type Settings,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { until } from '../until.testing.ts';
import { ChannelError, Http2Channel } from './http2Channel.ts';
import { Http2Sessions } from './http2Sessions.ts';

async function backend(t: TestContext) {
  const server = createServer((_request, response) => void response.end('hello'));
  const ended = once(server, 'session').then(async ([session]) => await once(session, 'close'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const sessions = new Http2Sessions({ host: '127.0.0.1', port }, undefined);
  t.after(() => sessions.destroy());
  return { sessions, ended };
}

/** The whole answer to a GET; rejects where the channel fails. */
async function answerOf(channel: Http2Channel): Promise<string> {
  let text = '';
  channel.on('data', (bytes: Buffer) => (text += bytes.toString('latin1')));
  channel.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
  while (!text.includes('hello')) await once(channel, 'data');
  return text;
}

test('a request that has a place on a session begins there, although the session was left meanwhile', async (t) => {
  const { sessions, ended } = await backend(t);
  const channel = new Http2Channel(sessions);
  sessions.retire();
  await once(channel, 'connect');
  assert.match(await answerOf(channel), /^HTTP\/1\.1 200 /);
  channel.destroy();
  await ended;
});

test('a session that was left ends with the last request that has a place, also where one never begins', async (t) => {
  const { sessions, ended } = await backend(t);
  const [gone, kept] = [new Http2Channel(sessions), new Http2Channel(sessions)];
  await once(kept, 'connect');
  sessions.retire();
  gone.destroy();
  assert.match(await answerOf(kept), /^HTTP\/1\.1 200 /);
  kept.destroy();
  await ended;
});

test('a request to a port where nothing listens fails with the reason of the connection', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  const sessions = new Http2Sessions({ host: '127.0.0.1', port }, undefined);
  t.after(() => sessions.destroy());
  const channel = new Http2Channel(sessions);
  channel.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
  const [error] = (await once(channel, 'error')) as [NodeJS.ErrnoException];
  assert.equal(error.code, 'ECONNREFUSED');
});

interface Exchange {
  readonly channel: Http2Channel;
  /** The session on which its streams begin. */
  readonly session: ClientHttp2Session;
  /** The bytes read from the channel, as HTTP/1.1. */
  readonly text: () => string;
  readonly error: () => Error | undefined;
}

/** A backend of HTTP/2 that does with each stream what a test tells it, and channels to it. */
async function streams(
  t: TestContext,
  onStream: (
    stream: ServerHttp2Stream,
    headers: Readonly<Record<string, unknown>>,
    raw: readonly string[],
  ) => void,
  settings: Settings = {},
) {
  const server = createServer({ settings });
  server.on('stream', (stream: ServerHttp2Stream, headers, _flags, raw) => {
    stream.on('error', () => undefined);
    onStream(stream, headers, raw);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sessions = new Http2Sessions({ host: '127.0.0.1', port }, undefined);
  t.after(() => {
    sessions.destroy();
    server.close();
  });
  return async (): Promise<Exchange> => {
    const { session } = sessions.take();
    const channel = new Http2Channel(sessions);
    let text = '';
    let error: Error | undefined;
    channel.on('data', (bytes: Buffer) => (text += bytes.toString('latin1')));
    channel.on('error', (one: Error) => (error = one));
    await once(channel, 'connect');
    return { channel, session, text: () => text, error: () => error };
  };
}

test('an answer without a length is read as chunks, with its trailers behind', async (t) => {
  const open = await streams(t, (stream) => {
    stream.respond({ ':status': 200, 'x-field': 'kept' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end('hello');
  });
  const { channel, text } = await open();
  channel.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
  await until('the answer is whole', () => text().endsWith('0\r\ngrpc-status: 0\r\n\r\n'));
  assert.match(text(), /^HTTP\/1\.1 200 /);
  assert.match(text(), /x-field: kept\r\n/);
  assert.match(text(), /transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n/);
});

test('interim answers come before the answer, and an answer to HEAD ends with its head', async (t) => {
  const open = await streams(t, (stream) => {
    stream.additionalHeaders({ ':status': 103, link: '</a>' });
    stream.respond({ ':status': 200, 'content-length': '5' }, { endStream: true });
  });
  const { channel, text } = await open();
  channel.write('HEAD / HTTP/1.1\r\nhost: a\r\n\r\n');
  await until('the answer is there', () => text().includes(' 200 '));
  assert.match(text(), /^HTTP\/1\.1 103 [^]*HTTP\/1\.1 200 [^]*content-length: 5\r\n[^]*\r\n\r\n$/);
});

test('a channel carries one request after another, cut wherever the writes end', async (t) => {
  const seen: string[] = [];
  const open = await streams(t, (stream, headers) => {
    let body = '';
    stream.on('data', (bytes: Buffer) => (body += bytes.toString()));
    stream.on('end', () => {
      seen.push(`${String(headers[':method'])} ${String(headers[':path'])} ${body}`);
      stream.respond({ 'content-length': '2' });
      stream.end('ok');
    });
  });
  const { channel, text } = await open();
  for (const [index, request] of [
    'POST /length HTTP/1.1\r\nhost: a\r\ncontent-length: 6\r\n\r\na body',
    'POST /chunks HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\na b\r\n3\r\nody\r\n0\r\n\r\n',
  ].entries()) {
    for (const byte of request) channel.write(byte);
    await until('the answer is there', () => text().split('ok').length === index + 2);
  }
  assert.deepEqual(seen, ['POST /length a body', 'POST /chunks a body']);
});

for (const [name, code] of Object.entries({
  CANCEL: constants.NGHTTP2_CANCEL,
  ENHANCE_YOUR_CALM: constants.NGHTTP2_ENHANCE_YOUR_CALM,
}))
  test(`a stream that the backend resets with ${name} is the end of the channel, with the code`, async (t) => {
    const open = await streams(t, (stream) => stream.close(code));
    const { channel, error } = await open();
    channel.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
    await until('the channel has failed', () => error() !== undefined);
    assert.match(error()?.message ?? '', new RegExp(`NGHTTP2_${name}|reset with ${code}`));
    assert.equal(channel.destroyed, true);
  });

for (const [name, request] of Object.entries({
  'a whole request': 'GET / HTTP/1.1\r\nhost: a\r\n\r\n',
  'a request that goes on': 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\na body',
}))
  test(`an answer to ${name} that the backend resets without an error is not whole`, async (t) => {
    const open = await streams(t, (stream) => {
      stream.respond({ ':status': 200 }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.close(constants.NGHTTP2_NO_ERROR));
      stream.end('half');
    });
    const { channel, text, error } = await open();
    channel.write(request);
    await until('the channel has failed', () => error() !== undefined);
    assert.match(text(), /4\r\nhalf\r\n$/);
    assert.equal(error()?.message, 'reset with 0');
  });

test('a channel holds no head while it waits for its answer', async (t) => {
  let begun = 0;
  const open = await streams(t, () => begun++);
  const ask = async (): Promise<void> => {
    const { channel } = await open();
    channel.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
  };
  await ask();
  const before = process.memoryUsage().arrayBuffers;
  await Promise.all(Array.from({ length: 40 }, ask));
  await until('the requests are there', () => begun === 41);
  const each = (process.memoryUsage().arrayBuffers - before) / 40;
  assert.ok(each < 20_000, `${each} bytes for each request`);
});

test('a channel that is given up cancels its stream', async (t) => {
  const codes: number[] = [];
  let begun = false;
  const open = await streams(t, (stream) => {
    begun = true;
    stream.on('close', () => codes.push(stream.rstCode ?? -1));
  });
  const { channel } = await open();
  channel.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
  await until('the request is there', () => begun);
  channel.destroy();
  await until('the backend hears of it', () => codes.length === 1);
  assert.deepEqual(codes, [constants.NGHTTP2_CANCEL]);
});

test('a WebSocket needs a backend with extended CONNECT, and any other upgrade goes on without it', async (t) => {
  const methods: string[] = [];
  const open = await streams(t, (stream, headers) => {
    methods.push(String(headers[':method']));
    stream.respond({}, { endStream: true });
  });
  const socket = await open();
  socket.channel.write(
    'GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  );
  await until('the channel has failed', () => socket.error() !== undefined);
  const error = socket.error();
  assert.ok(error instanceof ChannelError);
  assert.equal(error.entry, 'upstream_no_upgrade');
  const other = await open();
  other.channel.write('GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n');
  await until('the answer is there', () => other.text().includes(' 200 '));
  assert.deepEqual(methods, ['GET']);
});

test('a granted WebSocket is a tunnel, whose end is told and whose writes still arrive', async (t) => {
  const open = await streams(
    t,
    (stream, headers) => {
      assert.equal(headers[':protocol'], 'websocket');
      stream.respond({ ':status': 200 });
      stream.on('data', (bytes: Buffer) => void stream.write(bytes));
      stream.on('end', () => void stream.end());
    },
    { enableConnectProtocol: true },
  );
  const { channel, text } = await open();
  channel.allowHalfOpen = true;
  channel.write(
    'GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  );
  await until('the tunnel is granted', () => text().includes('\r\n\r\n'));
  // RFC 6455 §1.3: the answer to this very key.
  assert.match(text(), /^HTTP\/1\.1 101 [^]*sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/i);
  channel.write('ping');
  await until('the echo is there', () => text().endsWith('ping'));
  const ended = once(channel, 'end');
  channel.end();
  await ended;
});

test('a body that is longer than it says is a defect of the gateway, and ends the channel', async (t) => {
  const open = await streams(t, () => undefined);
  const { channel, error } = await open();
  channel.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\ntoo long');
  await until('the channel has failed', () => error() !== undefined);
  assert.match(error()?.message ?? '', /longer than it says/);
});

test('a backend that does not read holds the writer back', async (t) => {
  let reader: ServerHttp2Stream | undefined;
  const open = await streams(t, (stream) => {
    reader = stream;
    stream.pause();
  });
  const { channel } = await open();
  channel.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 30000000\r\n\r\n');
  const block = Buffer.alloc(1_000_000);
  let blocks = 1;
  while (channel.write(block)) blocks++;
  await until('the request is there', () => reader !== undefined);
  assert.ok(channel.writableNeedDrain);
  const drained = once(channel, 'drain');
  reader?.resume();
  await drained;
  assert.ok(blocks < 30);
});

/** A request with a chunked body and trailers. */
const withTrailers = (...lines: string[]): string =>
  `POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;

test('trailers cross whatever their names, without the fields that HTTP/2 forbids', async (t) => {
  const seen: string[] = [];
  const open = await streams(t, (stream) => {
    stream.on('trailers', (_trailers, _flags, raw: string[]) => seen.push(...raw));
    stream.on('end', () => stream.respond({}, { endStream: true })).resume();
  });
  const { channel, text } = await open();
  channel.write(withTrailers('constructor: x', '__proto__: x', 'http2-settings: x', 'x-two: a', 'x-two: b'));
  await until('the answer is there', () => text().includes(' 200 '));
  assert.deepEqual(seen, ['constructor', 'x', '__proto__', 'x', 'x-two', 'a', 'x-two', 'b']);
});

test('fields that come twice cross twice, in the head and as trailers', async (t) => {
  const seen: string[] = [];
  const open = await streams(t, (stream, _headers, raw) => {
    seen.push(...raw);
    stream.on('trailers', (_trailers, _flags, trailers: string[]) => seen.push(...trailers));
    stream.on('end', () => stream.respond({}, { endStream: true })).resume();
  });
  const { channel, text } = await open();
  channel.write(
    withTrailers('referer: a', 'referer: b').replace('host: a', 'host: a\r\nuser-agent: c\r\nuser-agent: d'),
  );
  await until('the answer is there', () => text().includes(' 200 '));
  assert.deepEqual(seen.slice(8), [
    ...['user-agent', 'c', 'user-agent', 'd'],
    ...['referer', 'a', 'referer', 'b'],
  ]);
});

test('trailers that Node refuses end the channel, and blame the gateway', async (t) => {
  const open = await streams(t, (stream) => void stream.resume());
  const { channel, error, session } = await open();
  const { request } = session;
  t.mock.method(session, 'request', (...args: Parameters<typeof request>) => {
    const stream = request.apply(session, args);
    t.mock.method(stream, 'sendTrailers', () => {
      throw new Error('refused by Node');
    });
    return stream;
  });
  channel.write(withTrailers('x: y'));
  await until('the channel has failed', () => error() !== undefined);
  const failure = error();
  assert.ok(failure instanceof ChannelError);
  assert.equal(failure.entry, 'internal_error');
  assert.equal(failure.message, 'refused by Node');
});

for (const [name, settings] of Object.entries({ h2c: {}, websocket: { enableConnectProtocol: true } }))
  test(`an upgrade to ${name} that Node refuses ends the channel, and blames the gateway`, async (t) => {
    const open = await streams(t, () => assert.fail('a request came'), settings);
    const { channel, error, session } = await open();
    t.mock.method(session, 'request', () => {
      throw new Error('refused by Node');
    });
    channel.write(`GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: ${name}\r\n\r\n`);
    await until('the channel has failed', () => error() !== undefined);
    const failure = error();
    assert.ok(failure instanceof ChannelError);
    assert.equal(failure.entry, 'internal_error');
    assert.equal(failure.message, 'refused by Node');
  });
