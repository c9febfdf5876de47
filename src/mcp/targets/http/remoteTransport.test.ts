/** The traffic to a server over the network, and its answers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mcpBackend, remoteTarget, startHarness } from '../../harness.testing.ts';
import { RawClient, type Message } from '../../rawClient.testing.ts';
import { stage } from '../../remote.testing.ts';
import { RemoteServer, type Incoming } from '../../remoteServer.testing.ts';
import { until } from '../../../until.testing.ts';

const textOf = (message: Message | undefined): unknown =>
  (message?.result?.['content'] as { text: string }[] | undefined)?.[0]?.text ?? message;

test('every message is a POST of its own with the session and the revision that were agreed on', async (t) => {
  const { server, open } = await stage(t);
  const client = await open('2025-06-18');
  assert.equal(await client.call('echo', { text: 'é\u2028' }), 'é\u2028');
  const [initialize] = server.of('initialize');
  const [initialized] = server.of('notifications/initialized');
  const [call] = server.of('tools/call');
  for (const { url, headers } of [initialize!, initialized!, call!]) {
    assert.equal(url, '/mcp');
    assert.equal(headers['accept'], 'application/json, text/event-stream');
    assert.equal(headers['content-type'], 'application/json');
    assert.equal(headers['host'], `127.0.0.1:${server.port}`);
  }
  assert.equal(initialize!.headers['mcp-session-id'], undefined);
  assert.equal(initialize!.headers['mcp-protocol-version'], undefined);
  for (const { headers } of [initialized!, call!]) {
    assert.equal(headers['mcp-session-id'], 'session-1');
    assert.equal(headers['mcp-protocol-version'], '2025-06-18');
  }
});

test('headers of the client are not forwarded to the server', async (t) => {
  const { server, open } = await stage(t);
  const client = await open();
  const secret = { authorization: 'Bearer secret', cookie: 'a=secret', 'x-forwarded-for': 'secret' };
  await client.post(client.tool('echo', { text: 'x' }), secret);
  assert.doesNotMatch(JSON.stringify(server.seen.map(({ headers }) => headers)), /secret/);
});

test('headers of policies are in every request, except those that describe the message', async (t) => {
  const headers = [
    ['authorization', 'Bearer ours'],
    ['user-agent', 'me'],
    ['mcp-session-id', 'forged'],
    ['content-length', '0'],
    ['transfer-encoding', 'chunked'],
    ['host', 'elsewhere'],
  ] as const;
  const { server, open } = await stage(t, {}, { headers: () => headers });
  const client = await open();
  await until('the news stream is open', () => server.news.size === 1);
  assert.equal(await client.call('echo', { text: 'x' }), 'x');
  await client.delete();
  await until('the session has ended', () => server.deleted.length === 1);
  for (const { headers: seen } of server.seen) {
    assert.equal(seen['authorization'], 'Bearer ours');
    assert.equal(seen['user-agent'], 'me');
    assert.notEqual(seen['mcp-session-id'], 'forged');
    assert.equal(seen['host'], `127.0.0.1:${server.port}`);
  }
});

test('a call waits until the server has taken note of initialized', async (t) => {
  const { server, open } = await stage(t);
  const { promise: held, resolve: taken } = Promise.withResolvers<Incoming>();
  server.methods['notifications/initialized'] = (x) => taken(x);
  const client = await open();
  const call = client.call('echo', { text: 'later' });
  const initialized = await held;
  assert.equal(server.of('tools/call').length, 0);
  initialized.status(202);
  assert.equal(await call, 'later');
});

test('progress and log lines stand on the stream of their call, under the token of the client', async (t) => {
  const { server, open } = await stage(t);
  const { promise: both, resolve: bothAreThere } = Promise.withResolvers<void>();
  let waiting = 0;
  server.tools['tell'] = async (x) => {
    if (++waiting === 2) bothAreThere();
    await both;
    const { name } = x.seen.message.params!['arguments'] as { name: string };
    const meta = x.seen.message.params!['_meta'] as { progressToken: number };
    const say = (method: string, params: object) => x.event({ jsonrpc: '2.0', method, params });
    x.stream();
    say('notifications/progress', { progressToken: meta.progressToken, progress: 1 });
    say('notifications/message', { level: 'info', data: name });
    x.event(x.result(name));
    x.end();
  };
  const client = await open();
  const tell = (name: string) =>
    client.post(client.tool('tell', { name }, { _meta: { progressToken: name } }));
  const answers = await Promise.all([tell('one'), tell('two')]);
  for (const [i, name] of ['one', 'two'].entries()) {
    const [progress, log, response] = answers[i]!.events;
    assert.deepEqual(progress?.params, { progressToken: name, progress: 1 });
    assert.deepEqual(log?.params, { level: 'info', data: name });
    assert.equal(textOf(response), name);
  }
});

test('a question inside a call goes on its stream, and the answer is posted under the id of the server', async (t) => {
  const { server, open } = await stage(t);
  const { promise: answered, resolve } = Promise.withResolvers<void>();
  server.tools['ask'] = async (x) => {
    x.stream();
    x.event({ jsonrpc: '2.0', id: 'q-1', method: 'sampling/createMessage', params: {} });
    await answered;
    x.event(x.result('thanks'));
    x.end();
  };
  const client = await open();
  const events = await client.stream(client.tool('ask'));
  const question = (await events.next())!;
  assert.equal(question.method, 'sampling/createMessage');
  await client.post({ jsonrpc: '2.0', id: question.id, result: { role: 'assistant' } });
  await until('the answer has come', () => server.seen.some(({ message }) => message.id === 'q-1'));
  resolve();
  assert.equal(textOf(await events.next()), 'thanks');
});

test('messages and requests of the server arrive on the stream that the client opened', async (t) => {
  const { server, open } = await stage(t);
  const client = await open();
  await until('the news stream is open', () => server.news.size === 1);
  const [news] = server.news;
  const events = await client.get();
  news!.event({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
  assert.equal((await events.next())?.method, 'notifications/tools/list_changed');
  news!.event({ jsonrpc: '2.0', id: 7, method: 'roots/list' });
  const question = (await events.next())!;
  await client.post({ jsonrpc: '2.0', id: question.id, result: { roots: [] } });
  await until('the answer has come', () => server.seen.some(({ message }) => message.id === 7));
  await events.cancel();
});

test('a server without sessions gets no session, is asked once for news, and is not told of the end', async (t) => {
  const { server, harness, open } = await stage(t);
  server.stateful = false;
  server.get = (x) => x.status(405, { allow: 'POST' });
  const client = await open();
  assert.equal(await client.call('echo', { text: 'a' }), 'a');
  await until('news were asked for', () => server.of('GET').length === 1);
  assert.equal(await client.call('echo', { text: 'b' }), 'b');
  assert.equal(await client.delete(), 204);
  await until('the session has ended', () => harness.runtime.view().sessions.length === 0);
  assert.ok(server.seen.every(({ headers }) => headers['mcp-session-id'] === undefined));
  assert.equal(server.of('GET').length, 1);
  assert.equal(server.of('DELETE').length, 0);
});

test('the end of a session is told to the server, and nothing is left open', async (t) => {
  const { server, harness, open } = await stage(t);
  server.tools['hold'] = (x) => void x.stream();
  const client = await open();
  await until('the news stream is open', () => server.news.size === 1);
  const call = client.post(client.tool('hold'));
  await until('the call is there', () => server.of('tools/call').length === 1);
  assert.equal(await client.delete(), 204);
  assert.match((await call).json.error!.message, /has been stopped/);
  await until('the server knows', () => server.deleted[0] === 'session-1');
  await until('the streams are closed', () => server.news.size === 0);
  // A kept connection is idle: it may serve another session.
  await until('nothing is under way', () => harness.connections() <= 2);
});

test('a client that leaves before initialize is answered leaves no session at the server', async (t) => {
  const { server, harness } = await stage(t);
  const { promise: held, resolve } = Promise.withResolvers<Incoming>();
  server.methods['initialize'] = (x) => resolve(x);
  const abort = new AbortController();
  const client = new RawClient(harness.url);
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  const left = client.fetch(client.request('initialize', params), {}, abort.signal).catch(() => undefined);
  const x = await held;
  abort.abort();
  await left;
  await until('the session is gone', () => harness.runtime.view().sessions.length === 0);
  server.sessions.add('late');
  x.json({ jsonrpc: '2.0', id: x.id, result: {} }, 200, { 'mcp-session-id': 'late' });
  await until('the session is ended', () => server.deleted[0] === 'late');
});

test('a server that speaks HTTP/2 is spoken to in HTTP/2', async (t) => {
  const server = await RemoteServer.start(0, 'h2c');
  const backend = mcpBackend({ targets: [remoteTarget(server.url, { http2: true })] });
  const harness = await startHarness({ backend });
  t.after(async () => {
    await harness.close();
    await server.close();
  });
  const client = new RawClient(harness.url);
  await client.initialize();
  await until('the news stream is open', () => server.news.size === 1);
  server.tools['stream'] = (x) => {
    x.stream().event(x.result('streamed'));
    x.end();
  };
  assert.equal(await client.call('echo', { text: 'é' }), 'é');
  assert.equal(await client.call('stream'), 'streamed');
  assert.equal(server.of('tools/call')[0]!.headers['mcp-session-id'], 'session-1');
});

test('the end of the gateway ends every session at the server', async (t) => {
  const { server, harness, open } = await stage(t);
  await open();
  await open();
  await harness.runtime.close(1_000);
  assert.deepEqual(server.deleted.toSorted(), ['session-1', 'session-2']);
});

test('a cancelled call is cancelled at the server under the id that it has there, and its stream is closed', async (t) => {
  const { server, open, target } = await stage(t);
  const { promise: held, resolve } = Promise.withResolvers<Incoming>();
  server.tools['hold'] = (x) => {
    x.stream();
    resolve(x);
  };
  const client = await open();
  const call = client.post(client.request('tools/call', { name: 'hold', arguments: {} }, 'mine'));
  const x = await held;
  const params = { requestId: 'mine', reason: 'enough' };
  await client.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
  await x.left;
  await call;
  await until('the server was told', () => server.of('notifications/cancelled').length === 1);
  const [told] = server.of('notifications/cancelled');
  assert.deepEqual(told!.message.params, { requestId: x.id, reason: 'enough' });
  assert.equal(target().pending, 0);
});

test('a client that leaves its call does not take it back', async (t) => {
  const { server, open, target } = await stage(t);
  const { promise: held, resolve } = Promise.withResolvers<Incoming>();
  server.tools['hold'] = (x) => {
    x.stream();
    resolve(x);
  };
  const client = await open();
  const abort = new AbortController();
  const left = client.fetch(client.tool('hold'), {}, abort.signal).catch(() => undefined);
  const x = await held;
  abort.abort();
  await left;
  assert.equal(target().pending, 1);
  assert.equal(server.of('notifications/cancelled').length, 0);
  x.event(x.result('nobody reads this'));
  await until('the call is over', () => target().pending === 0);
});

test('several messages in one answer are taken one by one', async (t) => {
  const { server, open } = await stage(t);
  server.tools['both'] = (x) =>
    x.json([
      { jsonrpc: '2.0', method: 'notifications/message', params: { data: 'b' } },
      x.result('a'),
    ] as object);
  server.tools['pretty'] = (x) => x.json(JSON.stringify(x.result('lines'), undefined, 2));
  const client = await open('2025-03-26');
  const { events } = await client.post(client.tool('both'));
  assert.deepEqual([events[0]?.method, textOf(events[1])], ['notifications/message', 'a']);
  assert.equal(await client.call('pretty'), 'lines');
});

test('a client that reads nothing holds the server back', async (t) => {
  const { server, harness, open } = await stage(t);
  const events = 400;
  let written = 0;
  server.tools['flood'] = async (x) => {
    x.stream();
    const params = { level: 'info', data: 'x'.repeat(65_536) };
    const line = `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params })}\n\n`;
    for (; written < events; written++)
      if (!x.response.write(line)) await new Promise((done) => x.response.once('drain', done));
    x.event(x.result('all'));
    x.end();
  };
  const client = await open();
  const response = await client.fetch(client.tool('flood'));
  const pressed = (): boolean => harness.runtime.view().sessions[0]!.pressed;
  await until('the way to the client is full', pressed);
  assert.ok(written < events);
  assert.match((await response.text()).slice(-200), /"text":"all"/);
  assert.equal(pressed(), false);
});
