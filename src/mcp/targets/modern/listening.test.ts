/** The stream of notifications of a modern server, for a client that begins with `initialize`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../until.testing.ts';
import type { Events, RawClient } from '../../rawClient.testing.ts';
import { acknowledge, answer, event, filterOf, modernStage } from './scriptedServer.testing.ts';

const subscribe = async (client: RawClient, uri: string, what = 'subscribe') =>
  (await client.post(client.request(`resources/${what}`, { uri }))).json;

/** The methods and URIs of the next notifications. */
async function next(events: Events, count: number): Promise<string[]> {
  const heard: string[] = [];
  for (let i = 0; i < count; i++) {
    const { method = '', params } = (await events.next())!;
    assert.equal(JSON.stringify(params ?? {}).includes('subscriptionId'), false);
    heard.push(`${method.replace('notifications/', '')} ${String(params?.['uri'] ?? '')}`.trim());
  }
  return heard;
}

test('a server over HTTP has one stream for all that its client wants to hear, and none before', async (t) => {
  const { server, open, streams } = await modernStage(t);
  const client = await open();
  await client.call('echo', { text: 'x' });
  assert.equal(server.of('subscriptions/listen').length, 0);
  await client.post(client.request('tools/list'));
  await until('the server hears of it', () => streams.size === 1);
  for (const uri of ['test://a', 'test://b']) assert.deepEqual((await subscribe(client, uri)).result, {});
  await until('one stream is left', () => streams.size === 1);
  const [stream] = streams;
  assert.deepEqual(filterOf(stream!), {
    toolsListChanged: true,
    resourceSubscriptions: ['test://a', 'test://b'],
  });
  assert.deepEqual((await subscribe(client, 'test://a')).result, {});
  assert.equal(server.of('subscriptions/listen').length, 3);
  for (const uri of ['test://a', 'test://b', 'test://none'])
    assert.deepEqual((await subscribe(client, uri, 'unsubscribe')).result, {});
  await until('the wish is the first one again', () => {
    const [left] = streams;
    return streams.size === 1 && left !== undefined && !('resourceSubscriptions' in filterOf(left));
  });
  assert.equal(await client.delete(), 204);
  await until('the stream is closed', () => streams.size === 0);
});

test('notifications come without the id of the stream, and those of other streams not at all', async (t) => {
  const { open, streams } = await modernStage(t);
  const client = await open();
  const events = await client.get();
  await until('the server hears of it', () => streams.size === 1);
  await subscribe(client, 'test://a');
  await until('the former stream is closed', () => streams.size === 1);
  const [stream] = streams;
  stream!.event({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId: 1, reason: 'nothing that a server may cancel' },
  });
  event(stream!, 'notifications/tools/list_changed');
  event(stream!, 'notifications/resources/updated', { uri: 'test://a' });
  assert.deepEqual(await next(events, 2), ['tools/list_changed', 'resources/updated test://a']);
});

test('a stream that breaks is opened again, and everything counts as changed', async (t) => {
  const { server, open, streams } = await modernStage(t);
  const client = await open();
  const events = await client.get();
  await subscribe(client, 'test://a');
  await until('one stream is left', () => streams.size === 1);
  const before = server.of('subscriptions/listen').length;
  const [stream] = streams;
  stream!.cut();
  assert.deepEqual(await next(events, 2), ['tools/list_changed', 'resources/updated test://a']);
  assert.equal(server.of('subscriptions/listen').length, before + 1);
  assert.equal(await client.call('echo', { text: 'on' }), 'on');
});

test('a stream that the server ends is opened again', async (t) => {
  const { open, streams } = await modernStage(t);
  const client = await open();
  const events = await client.get();
  await until('the server hears of it', () => streams.size === 1);
  const [stream] = streams;
  stream!.event({ jsonrpc: '2.0', id: stream!.id, result: { resultType: 'complete' } });
  stream!.end();
  assert.deepEqual(await next(events, 1), ['tools/list_changed']);
});

test('a server that watches only some resources refuses the others', async (t) => {
  const { server, open } = await modernStage(t);
  server.methods['subscriptions/listen'] = (x) => {
    const uris = filterOf(x)['resourceSubscriptions'] as string[];
    acknowledge(x, { resourceSubscriptions: uris.filter((uri) => uri !== 'test://b') });
  };
  const client = await open();
  assert.deepEqual((await subscribe(client, 'test://a')).result, {});
  assert.match((await subscribe(client, 'test://b')).error!.message, /does not watch the resource/);
  assert.deepEqual((await subscribe(client, 'test://c')).result, {});
});

test('a server that offers nothing of the wish ends the stream, and is not asked again', async (t) => {
  const { server, open } = await modernStage(t);
  server.methods['subscriptions/listen'] = (x) => {
    acknowledge(x, {});
    x.event({ jsonrpc: '2.0', id: x.id, result: { resultType: 'complete' } });
    x.end();
  };
  const client = await open();
  await client.post(client.request('tools/list'));
  await until('the server was asked', () => server.of('subscriptions/listen').length === 1);
  for (let i = 0; i < 3; i++) await client.post(client.request('tools/list'));
  assert.equal(server.of('subscriptions/listen').length, 1);
});

test('a server without the method is not asked again, and subscriptions are refused', async (t) => {
  const { server, open, warnings } = await modernStage(t);
  server.methods['subscriptions/listen'] = (x) =>
    x.json({ jsonrpc: '2.0', id: x.id, error: { code: -32601, message: 'Method not found' } }, 404);
  const client = await open();
  assert.match((await subscribe(client, 'test://a')).error!.message, /-32601 Method not found/);
  assert.equal((await subscribe(client, 'test://b')).error!.code, -32601);
  await client.post(client.request('tools/list'));
  assert.equal(server.of('subscriptions/listen').length, 1);
  assert.match(warnings(), /cannot be heard for now/);
});

test('a server without subscriptions and levels says so to the client, as one of its own era', async (t) => {
  const { server, open } = await modernStage(t);
  server.methods['server/discover'] = (x) =>
    answer(x, { supportedVersions: ['2026-07-28'], capabilities: { tools: {}, resources: {} } });
  const client = await open();
  assert.equal((await subscribe(client, 'test://a')).error!.code, -32601);
  const { json } = await client.post(client.request('logging/setLevel', { level: 'info' }));
  assert.equal(json.error!.code, -32601);
  await client.post(client.request('tools/list'));
  assert.equal(server.of('subscriptions/listen').length, 0);
});

test('wishes while a stream is opened go into the next one', async (t) => {
  const { server, harness, open } = await modernStage(t);
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  server.methods['subscriptions/listen'] = async (x) => {
    await released;
    acknowledge(x);
  };
  const client = await open();
  const uris = Array.from({ length: 20 }, (_, i) => `test://${i}`);
  const subscribed = Promise.all(uris.map((uri) => subscribe(client, uri)));
  const isWish = (notes: ReadonlyMap<string, unknown>): boolean =>
    notes.get('mcp.method') === 'resources/subscribe';
  await until('all wishes came', () => harness.annotations.filter(isWish).length === uris.length);
  assert.equal(server.of('subscriptions/listen').length, 1);
  release();
  assert.ok((await subscribed).every(({ result }) => result !== undefined));
  assert.equal(server.of('subscriptions/listen').length, 2);
});

test('a subscription that waits for its server is refused when the session ends', async (t) => {
  const { server, open } = await modernStage(t);
  server.methods['subscriptions/listen'] = () => undefined;
  const client = await open();
  const waiting = subscribe(client, 'test://a');
  await until('the server was asked', () => server.of('subscriptions/listen').length === 1);
  assert.equal(await client.delete(), 204);
  assert.match((await waiting).error!.message, /the session has ended/);
});

test('a subscription that waits for its server is answered when the client takes it back', async (t) => {
  const { server, open } = await modernStage(t);
  const asked = Promise.withResolvers<() => void>();
  server.methods['subscriptions/listen'] = (x) => asked.resolve(() => acknowledge(x));
  const client = await open();
  const first = subscribe(client, 'test://a');
  const acknowledgeFirst = await asked.promise;
  const second = subscribe(client, 'test://b');
  assert.deepEqual((await subscribe(client, 'test://b', 'unsubscribe')).result, {});
  acknowledgeFirst();
  assert.deepEqual((await first).result, {});
  assert.deepEqual((await second).result, {});
});
