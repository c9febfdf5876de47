import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { GatewayError } from '../../../errors.ts';
import type { Limits } from '../../../model/index.ts';
import { until } from '../../../until.testing.ts';
import type { Incoming } from '../../remoteServer.testing.ts';
import { sessionOf, Host, startServer } from '../conversation/server.testing.ts';
import type { PinnedSession } from '../conversation/pinnedSession.ts';
import { Post } from './post.ts';

interface PostInShort {
  readonly session?: PinnedSession;
  readonly method?: string;
  /** 0 sends a notification. */
  readonly wireId?: number;
}

/** A server that answers `tools/call` as a test tells it, and posts to it. */
async function start(t: TestContext, answer: (x: Incoming) => void, limits: Partial<Limits> = {}) {
  const { server, reach, connections } = await startServer(t);
  server.stateful = false;
  for (const method of ['tools/call', 'initialize', 'notifications/test', 'tools/list'])
    server.methods[method] = answer;
  const host = new Host(reach, limits);
  const done: (GatewayError | undefined)[] = [];
  const post = ({ session = sessionOf('s'), method = 'tools/call', wireId = 1 }: PostInShort = {}): Post => {
    const text = JSON.stringify({ jsonrpc: '2.0', ...(wireId !== 0 && { id: wireId }), method });
    if (wireId !== 0) host.waiting.add(wireId);
    const made = new Post({ session, text, method, wireId, done: (error) => void done.push(error) }, host);
    made.begin();
    return made;
  };
  return {
    server,
    host,
    post,
    done,
    connections,
    over: () => until('the post is over', () => host.ended.length > 0),
  };
}

test('a response in JSON reaches its call, and the connection is kept', async (t) => {
  const { host, post, done, over, connections } = await start(t, (x) => x.json(x.result('hello')));
  const made = post();
  await over();
  assert.match(host.received.join(), /"id":1.*hello/);
  assert.deepEqual([host.ended, host.failures, done], [[made], [], [undefined]]);
  assert.equal(connections(), 1);
});

test('every event of a stream is received, and the end of the stream after the response is no failure', async (t) => {
  const { host, post, over } = await start(t, (x) => {
    x.stream().event({ jsonrpc: '2.0', method: 'notifications/progress' });
    x.event(x.result('hello'), { id: 'e1' });
    x.end();
  });
  post();
  await over();
  assert.equal(host.received.length, 2);
  assert.deepEqual([host.failures, host.breaks], [[], []]);
});

test('a stream that ends before the response can be taken up again behind its last event', async (t) => {
  const { host, post, over } = await start(t, (x) => {
    x.stream().event('', { id: 'e7', retry: 250 });
    x.end();
  });
  post();
  await over();
  assert.deepEqual(host.breaks, [{ wireId: 1, place: { lastId: 'e7', retryMs: 250 } }]);
  assert.deepEqual(host.failures, []);
});

test('a stream without event ids that ends or breaks before the response fails the call', async (t) => {
  for (const [end, expected] of [
    [(x: Incoming) => x.end(), /ended its stream before it answered/],
    [(x: Incoming) => x.response.write(':\n\n', () => x.cut()), /broke its stream off before it answered/],
  ] as const) {
    const { host, post, over } = await start(t, (x) => void end(x.stream()));
    post();
    await over();
    assert.match(host.failures.join(), expected);
    assert.deepEqual(host.breaks, []);
  }
});

test('a notification is done with its receipt, whatever stands in it', async (t) => {
  for (const answer of [
    (x: Incoming) => x.status(202),
    (x: Incoming) => x.json('no JSON at all'),
    (x: Incoming) => void x.stream(),
    (x: Incoming) => x.response.writeHead(200).write('x'.repeat(20_000)),
  ]) {
    const { host, post, done, over } = await start(t, answer);
    post({ wireId: 0, method: 'notifications/test' });
    await over();
    assert.deepEqual([done, host.received], [[undefined], []]);
  }
});

test('a notification that the server refuses is done with an error', async (t) => {
  const { host, post, done, over } = await start(t, (x) => x.status(503, {}, 'busy'));
  post({ wireId: 0, method: 'notifications/test' });
  await over();
  assert.match(done[0]?.message ?? '', /answered with status 503/);
  assert.equal(done[0]?.detail, 'status 503: busy');
  assert.deepEqual(host.failures, []);
});

test('initialize notes the session id and the address that gave it', async (t) => {
  const { server, host, post, over } = await start(t, (x) =>
    x.json(x.result(''), 200, { 'mcp-session-id': 'abc' }),
  );
  const session = sessionOf(undefined);
  post({ session, method: 'initialize' });
  await over();
  assert.deepEqual([session.id, session.endpoint?.name], ['abc', `127.0.0.1:${server.port}`]);
  assert.equal(server.seen[0]?.headers['mcp-session-id'], undefined);
  const other = sessionOf('kept');
  post({ session: other, wireId: 2 });
  await until('the call is answered', () => !host.waits(2));
  assert.equal(other.id, 'kept', 'only initialize begins a session');
});

test('a session id that could not stand in a header fails initialize', async (t) => {
  for (const id of ['a b', 'x'.repeat(1_025)]) {
    const { host, post, over } = await start(t, (x) => x.json(x.result(''), 200, { 'mcp-session-id': id }));
    const session = sessionOf(undefined);
    post({ session, method: 'initialize' });
    await over();
    assert.match(host.failures.join(), /a session id that cannot be used/);
    assert.equal(session.id, undefined);
  }
});

test('a server that does not know the session has lost it, and the text of the call is handed back', async (t) => {
  const unknown = (code: number) => ({
    jsonrpc: '2.0',
    id: null,
    error: { code, message: 'No valid session ID' },
  });
  for (const answer of [
    (x: Incoming) => x.status(404),
    (x: Incoming) => x.json(unknown(-32000), 400),
    (x: Incoming) => x.json(unknown(-32001), 400),
  ]) {
    const { host, post, over } = await start(t, answer);
    const session = sessionOf('gone');
    post({ session });
    await over();
    assert.equal(host.losses[0]?.session, session);
    assert.equal(host.losses[0]?.wireId, 1);
    assert.match(host.losses[0]?.text ?? '', /tools\/call/);
    assert.deepEqual(host.failures, []);
  }
});

test('a status that blames no session is the failure of the call alone', async (t) => {
  for (const [answer, session] of [
    [(x: Incoming) => x.status(404), sessionOf(undefined)],
    [(x: Incoming) => x.json({ error: { code: -32602, message: 'session?' } }, 400), sessionOf('s')],
    [(x: Incoming) => x.json({ error: { code: -32000, message: 'no' } }, 400), sessionOf('s')],
    [(x: Incoming) => x.status(400, {}, 'session'), sessionOf('s')],
  ] as const) {
    const { host, post, over } = await start(t, answer);
    post({ session });
    await over();
    assert.equal(host.failures.length, 1);
    assert.deepEqual(host.losses, []);
  }
});

test('an error of the protocol is a response, whatever its status; the error of another call is not', async (t) => {
  const { host, post, over } = await start(t, (x) =>
    x.json({ jsonrpc: '2.0', id: x.id, error: { code: -32602, message: 'no' } }, 400),
  );
  post();
  await over();
  assert.equal(host.received.length, 1);
  const other = await start(t, (x) =>
    x.json({ jsonrpc: '2.0', id: 99, error: { code: -32602, message: 'no' } }, 400),
  );
  other.post();
  await other.over();
  assert.deepEqual([other.host.received, other.host.failures.length], [[], 1]);
});

test('a message over the limit fails its call and gives the connection up', async (t) => {
  const long = 'x'.repeat(5_000);
  for (const answer of [
    (x: Incoming) => x.json(x.result(long)),
    (x: Incoming) => {
      x.response.writeHead(200, { 'content-type': 'application/json' }).write('{');
      x.response.write(long);
    },
    (x: Incoming) => x.stream().event(x.result(long)),
  ]) {
    const { host, post, over, connections } = await start(t, answer, { maxMcpMessageBytes: 1_000 });
    post();
    await over();
    assert.match(host.failures.join(), /^1: .*too large/);
    assert.deepEqual(host.received, []);
    assert.equal(connections(), 0);
  }
});

test('a problem report is read up to a limit, and the log gets its beginning', async (t) => {
  const { host, post, over } = await start(t, (x) => {
    x.response.writeHead(500, { 'content-type': 'text/plain' });
    x.response.write('reason '.repeat(5_000));
  });
  post();
  await over();
  assert.match(host.errors[0]?.detail ?? '', /^status 500: reason reason/);
  assert.ok((host.errors[0]?.detail?.length ?? 0) < 350);
});

test('a post that is given up ends its request at the server and reports nothing but its end', async (t) => {
  let held: Incoming | undefined;
  const { host, post, done, connections } = await start(t, (x) => void (held = x.stream()));
  const made = post();
  await until('the server has the call', () => held !== undefined);
  made.abandon();
  made.abandon();
  await held?.left;
  assert.deepEqual([host.ended, host.failures, host.breaks, done], [[made], [], [], []]);
  assert.equal(connections(), 0);
});

test('a stream that stays open behind its response is cut after five seconds', async (t) => {
  let held: Incoming | undefined;
  const { host, post } = await start(t, (x) => {
    held = x.stream();
    x.event(x.result('here'));
  });
  const made = post();
  await until('the response is there', () => !host.waits(1));
  made.tick(performance.now() + 4_000);
  assert.equal(host.ended.length, 0);
  made.tick(performance.now() + 6_000);
  await held?.left;
  assert.deepEqual(host.ended, [made]);
});

test('JSON that stops half way fails its call after the limit for bodies, unless the client holds it back', async (t) => {
  const { host, post, over } = await start(
    t,
    (x) => void x.response.writeHead(200, { 'content-type': 'application/json' }).write('{"json'),
  );
  const made = post();
  await until('the answer has begun', () => {
    host.paused = true;
    made.tick(performance.now() + 1_000_000);
    assert.deepEqual(host.failures, []);
    host.paused = false;
    made.tick(performance.now() + 1_000_000);
    return host.failures.length > 0;
  });
  await over();
  assert.match(host.failures.join(), /did not answer in time/);
});

for (const [method, attempts] of [
  ['tools/list', 3],
  ['tools/call', 2],
] as const)
  test(`${method} on a kept connection that dies unanswered is ${attempts === 3 ? 'sent again' : 'not sent again'}`, async (t) => {
    let count = 0;
    const { host, post } = await start(t, (x) => {
      if (++count === 2) x.cut();
      else x.json(x.result('hello'));
    });
    post({ method });
    await until('the first call is answered', () => host.received.length === 1);
    post({ method, wireId: 2 });
    await until('the second call is settled', () => !host.waits(2));
    assert.equal(count, attempts);
    assert.equal(host.failures.length, attempts === 3 ? 0 : 1);
  });
