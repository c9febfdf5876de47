import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import { test, type TestContext } from 'node:test';
import { defaults, type Http2Limits, type Limits } from '../../model/index.ts';
import { startApp, type App } from '../apps.testing.ts';
import { TestPlane } from '../dataPlane.testing.ts';
import { until } from '../../until.testing.ts';
import { get, status } from '../wire.testing.ts';

interface Stage {
  readonly plane: TestPlane;
  readonly app: App;
  readonly session: ClientHttp2Session;
}

async function stage(
  t: TestContext,
  http2: Partial<Http2Limits>,
  limits: Partial<Limits> = {},
): Promise<Stage> {
  const app = await startApp(t);
  const plane = await TestPlane.start({
    limits: { ...limits, http2: { ...defaults.limits.http2, ...http2 } },
    routes: [{ to: app.port }],
  });
  // A client holds what it has not sent yet in the memory of its session.
  const session = connect(`http://127.0.0.1:${plane.port}`, { maxSessionMemory: 100 });
  session.on('error', () => undefined);
  t.after(() => {
    session.destroy();
    plane.close();
  });
  await once(session, 'remoteSettings');
  return { plane, app, session };
}

async function answered(stream: ClientHttp2Stream): Promise<{ status: unknown; body: string }> {
  stream.on('error', () => undefined);
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
  let body = '';
  for await (const chunk of stream) body += String(chunk);
  return { status: headers[':status'], body };
}

test('the settings frame has the configured values', async (t) => {
  const { session } = await stage(t, {
    maxStreams: 7,
    streamWindow: 200_000,
    connectionWindow: 3_000_000,
    frameSize: 32_768,
    maxHeadBytes: 9_000,
  });
  const { maxConcurrentStreams, initialWindowSize, maxFrameSize, maxHeaderListSize } = session.remoteSettings;
  assert.deepEqual(
    [maxConcurrentStreams, initialWindowSize, maxFrameSize, maxHeaderListSize],
    [7, 200_000, 32_768, 9_000],
  );
  await until('the window of the connection is told', () => session.state.remoteWindowSize === 3_000_000);
});

test('without a word the defaults hold', async (t) => {
  const { session } = await stage(t, {});
  const { maxConcurrentStreams, initialWindowSize, maxFrameSize, maxHeaderListSize } = session.remoteSettings;
  assert.deepEqual(
    [maxConcurrentStreams, initialWindowSize, maxFrameSize, maxHeaderListSize],
    [100, 65_535, 16_384, 65_536],
  );
  await until('the window of the connection is told', () => session.state.remoteWindowSize === 1_048_576);
});

test('bodies cross whole under small windows and large frames', async (t) => {
  const { app, session } = await stage(t, { streamWindow: 1_024, frameSize: 1_000_000 });
  app.behave = (request, response) => request.pipe(response);
  const stream = session.request({ ':method': 'POST', ':path': '/' });
  const sent = 'abcdefghij'.repeat(30_000);
  stream.end(sent);
  assert.equal((await answered(stream)).body, sent);
});

test('a head may be limited for HTTP/2 alone: the stream is refused, others go on', async (t) => {
  const { plane, session } = await stage(t, { maxHeadBytes: 2_000 });
  const large = 'x'.repeat(1_950);
  const refused = session.request({ ':path': '/', large });
  await assert.rejects(once(refused, 'response'), /NGHTTP2_ENHANCE_YOUR_CALM/);
  assert.equal((await answered(session.request({ ':path': '/' }))).status, 200);
  assert.equal(status(await plane.ask(get('/', `large: ${large}`))), 200);
  const wide = await stage(t, { maxHeadBytes: 9_000 }, { maxHeadBytes: 1_000 });
  assert.equal((await answered(wide.session.request({ ':path': '/', large }))).status, 200);
  assert.equal(status(await wide.plane.ask(get('/', `large: ${large}`))), 431);
});

test('a client that answers no ping is given up; one that does stays', async (t) => {
  const { plane, session } = await stage(t, { keepaliveIntervalMs: 20, keepaliveTimeoutMs: 20 });
  let pings = 0;
  session.on('ping', () => pings++);
  const deaf = await plane.client();
  // The preface and empty settings, and never a word again.
  deaf.send('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0');
  assert.notEqual(await deaf.closed(), 'open');
  // The ping in what it got: type 6 and eight bytes.
  assert.match(deaf.text, /\0\0\x08\x06\0\0\0\0\0/);
  await until('the other was asked twice', () => pings > 1);
  assert.equal((await answered(session.request({ ':path': '/' }))).status, 200);
  const ended = /connections_ended_total\{reason="keepalive"\} (\d+)/.exec(await plane.metricsText())?.[1];
  assert.equal(ended, '1');
});

test('without the setting the gateway sends no PING', async (t) => {
  const { plane, session } = await stage(t, {});
  const asking = await stage(t, { keepaliveIntervalMs: 1 });
  let pings = 0;
  session.on('ping', () => pings++);
  let asked = 0;
  asking.session.on('ping', () => asked++);
  await until('others were asked', () => asked > 1);
  assert.equal(pings, 0);
  assert.equal(plane.connections, 1);
});

const slow = { minBodyRate: 1_000, minBodyRateWindowMs: 600 };

/** Writes a byte every few milliseconds until the stream is over. */
function trickle(t: TestContext, stream: ClientHttp2Stream): void {
  const timer = setInterval(() => stream.closed || stream.write('x'), 20);
  stream.on('close', () => clearInterval(timer));
  t.after(() => clearInterval(timer));
}

test('a body that trickles over HTTP/2 is 408, the other streams go on', async (t) => {
  const { plane, session } = await stage(t, {}, slow);
  const stream = session.request({ ':method': 'POST', ':path': '/slow' });
  trickle(t, stream);
  assert.equal((await answered(stream)).status, 408);
  const line = plane.access.find(({ path }) => path === '/slow');
  assert.equal(line?.error, 'request_timeout');
  assert.match(line?.reason ?? '', /minBodyRate/);
  assert.equal((await answered(session.request({ ':path': '/' }))).status, 200);
});

test('gRPC calls may trickle, and so may bodies that the backend does not read', async (t) => {
  const { app, session } = await stage(t, {}, slow);
  app.behave = (request, response) => {
    if (request.url === '/paused') {
      request.pause();
      setImmediate(() => request.pause());
    } else if (request.url !== '/slow') response.flushHeaders();
  };
  const call = session.request({
    ':method': 'POST',
    ':path': '/test.Chat/Chat',
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  trickle(t, call);
  call.on('error', () => undefined);
  call.resume();
  const paused = session.request({ ':method': 'POST', ':path': '/paused' });
  paused.on('error', () => undefined);
  paused.write(Buffer.alloc(20_000_000));
  // As long as somebody who is under the rule and comes later.
  await until('both are there', () => app.busy === 2);
  const stream = session.request({ ':method': 'POST', ':path': '/slow' });
  trickle(t, stream);
  assert.equal((await answered(stream)).status, 408);
  assert.equal(call.destroyed, false);
  assert.equal(paused.destroyed, false);
  call.close();
  paused.close();
});
