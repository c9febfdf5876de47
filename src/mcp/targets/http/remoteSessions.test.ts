/** Streams that break and sessions that a server over the network forgets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mcpBackend, remoteTarget } from '../../harness.testing.ts';
import { stage } from '../../remote.testing.ts';
import { startRemote, type Incoming } from '../../remoteServer.testing.ts';
import { until } from '../../../until.testing.ts';

const change = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };

test('a stream of a call that breaks is taken up behind its last event, and the call is answered once', async (t) => {
  const { server, open } = await stage(t);
  let call: Incoming | undefined;
  server.tools['long'] = (x) => {
    call = x;
    x.stream();
    x.event('', { id: 'e-0', retry: 100 });
    x.event({ jsonrpc: '2.0', method: 'notifications/message', params: { data: 1 } }, { id: 'e-1' });
    x.response.write('id: e-2\ndata: {"never');
    setImmediate(() => x.cut());
  };
  server.get = (x) => {
    x.stream();
    if (x.seen.headers['last-event-id'] === undefined) return;
    x.event({ jsonrpc: '2.0', method: 'notifications/message', params: { data: 2 } }, { id: 'e-2' });
    x.event(call!.result('done'), { id: 'e-3' });
    x.end();
  };
  const client = await open();
  const { events } = await client.post(client.tool('long'));
  assert.deepEqual(
    events.map(
      ({ params, result }) => params?.['data'] ?? (result?.['content'] as { text: string }[])[0]!.text,
    ),
    [1, 2, 'done'],
  );
  assert.deepEqual(
    server.of('GET').map(({ headers }) => headers['last-event-id']),
    [undefined, 'e-1'],
  );
  assert.equal(await client.call('echo', { text: 'on' }), 'on');
});

test('a server may end the stream of a call to be asked for the rest', async (t) => {
  const { server, open } = await stage(t);
  let call: Incoming | undefined;
  let rounds = 0;
  server.tools['poll'] = (x) => {
    call = x;
    x.stream().event('', { id: '0', retry: 100 });
    x.end();
  };
  server.get = (x) => {
    if (x.seen.headers['last-event-id'] === undefined) return x.status(405);
    x.stream();
    if (++rounds < 3) x.event('', { id: String(rounds) });
    else x.event(call!.result('at last'), { id: 'last' });
    x.end();
  };
  const client = await open();
  assert.equal(await client.call('poll'), 'at last');
  assert.deepEqual(
    server.of('GET').map(({ headers }) => headers['last-event-id']),
    [undefined, '0', '1', '2'],
  );
});

test('a stream of a call without event ids that breaks is the end of the call', async (t) => {
  const { server, open, target } = await stage(t);
  server.tools['cut'] = (x) => {
    x.stream().event({ jsonrpc: '2.0', method: 'notifications/message', params: {} });
    setImmediate(() => x.cut());
  };
  server.tools['end'] = (x) => x.stream().end();
  const client = await open();
  const cut = await client.post(client.tool('cut'));
  assert.match(cut.events.at(-1)!.error!.message, /broke its stream off before it answered/);
  const ended = await client.post(client.tool('end'));
  assert.match(ended.json.error!.message, /ended its stream before it answered/);
  assert.equal(target().state, 'ready');
});

test('a stream that the server does not let be taken up is the end of the call', async (t) => {
  const { server, open } = await stage(t);
  server.get = (x) => x.status(405);
  server.tools['cut'] = (x) => {
    x.stream().event('', { id: '1', retry: 100 });
    setImmediate(() => x.cut());
  };
  const client = await open();
  const answer = await client.post(client.tool('cut'));
  assert.match(answer.json.error!.message, /has no MCP endpoint where it was looked for/);
});

test('the stream of news is opened again behind its last event', async (t) => {
  const { server, open } = await stage(t);
  server.get = (x) => {
    server.news.add(x);
    x.stream();
    if (x.seen.headers['last-event-id'] === undefined) {
      x.event(change, { id: 'n-1', retry: 100 });
      setImmediate(() => x.cut());
    } else x.event({ ...change, method: 'notifications/prompts/list_changed' }, { id: 'n-2' });
  };
  const client = await open();
  const events = await client.get();
  const seen = [(await events.next())?.method, (await events.next())?.method];
  assert.deepEqual(seen, ['notifications/tools/list_changed', 'notifications/prompts/list_changed']);
  assert.equal(server.of('GET')[1]!.headers['last-event-id'], 'n-1');
  await events.cancel();
});

test('a server that forgot the session is told everything again, and the client does not notice', async (t) => {
  const { server, harness, open, target } = await stage(t);
  const client = await open();
  await client.post(client.request('logging/setLevel', { level: 'debug' }));
  await client.post(client.request('resources/subscribe', { uri: 'a:1' }));
  await until('the news stream is open', () => server.news.size === 1);
  server.sessions.clear();
  const calls = ['one', 'two', 'three'].map((text) => client.call('echo', { text }));
  assert.deepEqual(await Promise.all(calls), ['one', 'two', 'three']);
  const [first, second] = server.of('initialize');
  assert.deepEqual(second!.message.params, first!.message.params);
  assert.equal(second!.headers['mcp-session-id'], undefined);
  for (const method of ['notifications/initialized', 'logging/setLevel', 'resources/subscribe']) {
    const [before, after] = server.of(method);
    assert.deepEqual(after!.message.params, before!.message.params, method);
    assert.equal(after!.headers['mcp-session-id'], 'session-2', method);
  }
  assert.equal(target().restarts, 1);
  assert.equal(harness.metrics().get('mcp_child_restarts_total{target="remote"}'), 1);
  await until(
    'news are heard again',
    () => server.of('GET').at(-1)?.headers['mcp-session-id'] === 'session-2',
  );
});

test('requests of a server that lost its session are cancelled', async (t) => {
  const { server, open } = await stage(t);
  const client = await open();
  await until('the news stream is open', () => server.news.size === 1);
  const events = await client.get();
  const [news] = server.news;
  news!.event({ jsonrpc: '2.0', id: 1, method: 'roots/list' });
  const question = (await events.next())!;
  server.sessions.clear();
  await client.call('echo', { text: 'x' });
  const notice = (await events.next())!;
  assert.equal(notice.method, 'notifications/cancelled');
  assert.equal(notice.params?.['requestId'], question.id);
  await events.cancel();
});

test('a server that says 400 of a session that it does not know is understood', async (t) => {
  const { server, open } = await stage(t);
  const client = await open();
  const error = { code: -32000, message: 'Bad Request: No valid session ID provided' };
  let refused = 0;
  server.tools['echo'] = (x) => {
    if (refused++ === 0) x.json({ jsonrpc: '2.0', error, id: x.id }, 400);
    else x.json(x.result('again'));
  };
  assert.equal(await client.call('echo'), 'again');
  assert.equal(server.of('initialize').length, 2);
});

test('a server that keeps forgetting is given up with its reason, and tried again at the next call', async (t) => {
  const { server, open, target } = await stage(t);
  const client = await open();
  server.tools['echo'] = (x) => {
    server.sessions.clear();
    x.status(404);
  };
  const failed = await client.post(client.tool('echo', { text: 'x' }));
  assert.match(failed.json.error!.message, /keeps failing: it does not know its session \(404\)/);
  assert.equal(target().state, 'failed');
  server.tools['echo'] = (x) => x.json(x.result('better'));
  assert.equal(await client.call('echo'), 'better');
  assert.equal(target().state, 'ready');
});

test('a server that does not take initialize again fails the calls that wait for it', async (t) => {
  const { server, open } = await stage(t);
  const client = await open();
  server.sessions.clear();
  server.methods['initialize'] = (x) => x.status(503);
  const { json } = await client.post(client.tool('echo', { text: 'x' }));
  assert.match(json.error!.message, /keeps failing: it failed to initialize again \(.*status 503\)/);
});

test('a session goes on with another server when the configuration names one', async (t) => {
  const { server, harness, open } = await stage(t);
  const other = await startRemote(t);
  const client = await open();
  assert.equal(await client.call('echo', { text: 'here' }), 'here');
  harness.use(mcpBackend({ targets: [remoteTarget(other.url)] }));
  assert.equal(await client.call('echo', { text: 'there' }), 'there');
  assert.equal(other.of('initialize').length, 1);
  assert.equal(other.of('tools/call').length, 1);
  await until('the first server knows', () => server.deleted.length === 1);
});

test('a server that is replaced by a reload is told of the end of its session when the call there is done', async (t) => {
  const { server, harness, open } = await stage(t);
  const other = await startRemote(t);
  const client = await open();
  const asked = Promise.withResolvers<Incoming>();
  server.tools['slow'] = (x) => asked.resolve(x);
  const slow = client.call('slow');
  const call = await asked.promise;
  harness.use(mcpBackend({ targets: [remoteTarget(other.url)] }));
  assert.equal(await client.call('echo', { text: 'there' }), 'there');
  harness.runtime.tick();
  assert.deepEqual(server.of('DELETE'), []);
  call.json(call.result('here'));
  assert.equal(await slow, 'here');
  harness.runtime.tick();
  await until('the first server knows', () => server.deleted.length === 1);
  assert.equal(other.deleted.length, 0);
});
