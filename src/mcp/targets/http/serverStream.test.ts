import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Limits } from '../../../model/index.ts';
import { still } from '../../../upstream/endpoint.testing.ts';
import { until } from '../../../until.testing.ts';
import type { Incoming } from '../../remoteServer.testing.ts';
import type { StreamPlace } from './streamHost.ts';
import { sessionOf, Host, startServer } from '../conversation/server.testing.ts';
import { ServerStream } from './serverStream.ts';

const nowhere: StreamPlace = { lastId: undefined, retryMs: undefined };

/** A server whose answers to GET a test gives, one after the other; the last one stays. */
async function start(
  t: TestContext,
  answers: readonly ((x: Incoming) => void)[],
  limits: Partial<Limits> = {},
) {
  const { server, reach, connections } = await startServer(t);
  server.stateful = false;
  let asked = 0;
  server.get = (x) => answers[Math.min(asked++, answers.length - 1)]?.(x);
  const host = new Host(reach, limits);
  const notes: string[] = [];
  let clock = 1_000_000;
  const listen = (wireId = 0, place = nowhere, contended = false): ServerStream => {
    if (wireId !== 0) host.waiting.add(wireId);
    const note = (message: string, detail: string): void => void notes.push(`${message}: ${detail}`);
    const stream = new ServerStream(
      { session: sessionOf('s'), wireId, place, contended, now: () => clock++, note },
      host,
    );
    t.after(() => stream.abandon());
    stream.begin();
    return stream;
  };
  return { server, host, notes, listen, connections, gets: () => server.of('GET') };
}

const said = { jsonrpc: '2.0', method: 'notifications/message' };

test('a stream of news is opened with the session, and its events are received on no call', async (t) => {
  const { host, listen, gets } = await start(t, [(x) => x.stream().event(said)]);
  listen();
  await until('the event is there', () => host.received.length === 1);
  const { headers } = gets()[0]!;
  assert.deepEqual(
    [headers['mcp-session-id'], headers.accept, headers['last-event-id']],
    ['s', 'text/event-stream', undefined],
  );
});

test('a stream that ends is opened again behind its last event, at the time that the server asked for', async (t) => {
  const { host, listen, gets } = await start(t, [
    (x) => {
      x.stream().event(said, { id: 'é1', retry: 1 });
      x.end();
    },
    (x) => void x.stream(),
  ]);
  listen();
  await until('the stream is opened again', () => gets().length === 2);
  // Node shows the bytes of a field as characters of Latin-1.
  assert.equal(Buffer.from(String(gets()[1]?.headers['last-event-id']), 'latin1').toString(), 'é1');
  assert.equal(host.received.length, 1);
  assert.deepEqual(host.failures, []);
});

test('the stream of a call is taken up where it broke, and its response ends it', async (t) => {
  const answer = { jsonrpc: '2.0', id: 5, result: {} };
  const { host, listen, gets } = await start(t, [
    (x) => {
      x.stream().event(answer);
      x.end();
    },
  ]);
  const stream = listen(5, { lastId: 'e3', retryMs: 1 });
  await until('the stream is over', () => host.ended.length === 1);
  assert.deepEqual(host.ended, [stream]);
  assert.equal(gets()[0]?.headers['last-event-id'], 'e3');
  assert.deepEqual(host.failures, []);
});

test('a failure that may pass is tried again, and a refusal ends the call', async (t) => {
  const { host, listen, gets } = await start(t, [(x) => x.status(503), (x) => x.status(405)]);
  listen(5, { lastId: 'e3', retryMs: 1 });
  await until('the call has failed', () => host.failures.length === 1);
  assert.equal(gets().length, 2);
  assert.match(host.failures[0]!, /^5: .*no MCP endpoint/);
  assert.equal(host.ended.length, 1);
});

test('a server without a stream of news is asked once, and nothing is said about it', async (t) => {
  const { host, listen, notes, gets } = await start(t, [(x) => x.status(405)]);
  listen();
  await until('the stream is over', () => host.ended.length === 1);
  assert.deepEqual([gets().length, notes, host.failures, host.losses], [1, [], [], []]);
});

test('an answer that is no stream of events is a refusal', async (t) => {
  for (const type of ['text/html', 'application/json', 'text/event-streams']) {
    const { host, listen, connections } = await start(t, [
      (x) => x.response.writeHead(200, { 'content-type': type }).write('x'),
    ]);
    listen(5);
    await until('the call has failed', () => host.failures.length === 1);
    assert.equal(connections(), 0, 'the answer is not waited for');
  }
});

test('a server that does not know the session has lost it, and the stream ends', async (t) => {
  const { host, listen } = await start(t, [(x) => x.status(404)]);
  const stream = listen();
  await until('the loss is told', () => host.losses.length === 1);
  assert.equal(host.losses[0]?.session, stream.session);
  assert.deepEqual(host.ended, [stream]);
});

test('a stream that is taken is a refusal, unless another process may have it for now', async (t) => {
  const alone = await start(t, [(x) => x.status(409)]);
  alone.listen();
  await until('the stream is over', () => alone.host.ended.length === 1);
  const contended = await start(t, [(x) => x.status(409)]);
  const stream = contended.listen(0, nowhere, true);
  await until('the server was asked', () => contended.gets().length === 1);
  stream.tick(performance.now());
  await contended.server.close();
  assert.deepEqual(contended.host.ended, [], 'the stream will be asked for again');
});

test('an event over the limit is skipped with a note, and fails the call that it names', async (t) => {
  const { host, notes, listen } = await start(
    t,
    [
      (x) => {
        x.stream().event({ jsonrpc: '2.0', id: 7, result: { text: 'x'.repeat(5_000) } });
        x.event(said);
      },
    ],
    { maxMcpMessageBytes: 1_000 },
  );
  listen();
  await until('the next event is there', () => host.received.length === 1);
  assert.match(host.failures.join(), /^7: .*too large/);
  assert.match(notes.join(), /over limits\.maxMcpMessageBytes/);
});

test('a stream that is given up leaves the server, or is not opened at all', async (t) => {
  let held: Incoming | undefined;
  const { host, listen, gets, connections } = await start(t, [(x) => void (held = x.stream())]);
  const open = listen();
  await until('the stream is open', () => held !== undefined);
  open.abandon();
  open.abandon();
  await held?.left;
  const later = listen(5, { lastId: 'e1', retryMs: 1 });
  later.abandon();
  later.wake();
  assert.deepEqual(host.ended, [open, later]);
  assert.equal(connections(), 0);
  listen(6, { lastId: 'e2', retryMs: 1 });
  await until('the next stream is asked for', () => gets().length > 1);
  assert.equal(gets()[1]?.headers['last-event-id'], 'e2', 'the stream before it would have come first');
});

test('the stream of a call that was answered elsewhere is given up after five seconds', async (t) => {
  let held: Incoming | undefined;
  const { host, listen } = await start(t, [(x) => void (held = x.stream())]);
  const stream = listen(5);
  await until('the stream is open', () => held !== undefined);
  host.waiting.delete(5);
  const now = performance.now();
  stream.tick(now);
  stream.tick(now + 4_000);
  assert.deepEqual(host.ended, []);
  stream.tick(now + 5_001);
  await held?.left;
});

test('a client that cannot take more holds the stream back', async (t) => {
  let held: Incoming | undefined;
  const { host, listen } = await start(t, [(x) => void (held = x.stream())]);
  host.paused = true;
  const stream = listen();
  await until('the stream is open', () => held !== undefined);
  const text = 'x'.repeat(100_000);
  for (let i = 0; i < 100; i++) held?.event({ ...said, params: { text } });
  await until('the server is held back', () => (held?.response.writableLength ?? 0) > 1_000_000);
  await still('the events', () => host.received.length);
  assert.ok(host.received.length < 100);
  stream.resume();
  await until('everything is there', () => host.received.length === 100);
});
