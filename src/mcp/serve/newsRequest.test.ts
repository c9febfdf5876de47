/** `subscriptions/listen` of clients of revision 2026-07-28. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { GatewayError } from '../../errors.ts';
import { until } from '../../until.testing.ts';
import { startHarness } from '../harness.testing.ts';
import { RawModernClient } from '../rawModernClient.testing.ts';
import { stage } from '../remote.testing.ts';
import type { Incoming } from '../remoteServer.testing.ts';
import { acknowledge, event, modernStage } from '../targets/modern/scriptedServer.testing.ts';

const caller = () => ({ principal: 'alice' });
const toolsChanged = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
const filter = { toolsListChanged: true };

/** A client in front of a server over HTTP that begins with `initialize`. @param get the answer to its GET */
async function legacyStage(t: TestContext, get: (x: Incoming) => void | Promise<void>) {
  const { server, harness } = await stage(t, {}, { caller });
  const capabilities = { tools: { listChanged: true }, resources: { subscribe: true } };
  server.stateful = false;
  server.methods['server/discover'] = (x) => x.status(400);
  server.methods['initialize'] = (x) =>
    x.json({
      jsonrpc: '2.0',
      id: x.id,
      result: { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'remote', version: '1' } },
    });
  server.get = get;
  return { server, harness, client: new RawModernClient(harness.url) };
}

/** Has the client got the acknowledgement when another request of it has come and gone? */
async function isAcknowledged(client: RawModernClient, listening: Promise<unknown>): Promise<boolean> {
  await client.post('tools/call', { name: 'echo', arguments: { text: 'x' } });
  return Promise.race([
    listening.then(() => true),
    new Promise<false>((resolve) => setImmediate(resolve, false)),
  ]);
}

test('the gateway acknowledges a client when the stream of a legacy server is open', async (t) => {
  const asked = Promise.withResolvers<Incoming>();
  const { client } = await legacyStage(t, (x) => asked.resolve(x));
  const listening = client.listen(filter);
  const stream = await asked.promise;
  assert.equal(await isAcknowledged(client, listening), false);
  stream.stream().event(toolsChanged);
  const { events, honoured } = await listening;
  assert.deepEqual(honoured, filter);
  assert.equal((await events.next())?.method, toolsChanged.method);
  await events.cancel();
});

test('the gateway acknowledges a client of a legacy server that has no stream', async (t) => {
  const { client } = await legacyStage(t, (x) => x.status(405));
  const { events, honoured } = await client.listen(filter);
  assert.deepEqual(honoured, filter);
  await events.cancel();
});

test('the gateway acknowledges a client of a legacy server that opens its stream with the first event', async (t) => {
  const asked = Promise.withResolvers<Incoming>();
  const { client } = await legacyStage(t, (x) => asked.resolve(x));
  const { events } = await client.listen(filter);
  (await asked.promise).stream().event(toolsChanged);
  assert.equal((await events.next())?.method, toolsChanged.method);
  await events.cancel();
});

test('the gateway acknowledges a client when the modern server has acknowledged the gateway', async (t) => {
  const { server, harness } = await modernStage(t, {}, { caller });
  const asked = Promise.withResolvers<Incoming>();
  server.methods['subscriptions/listen'] = (x) => asked.resolve(x);
  const client = new RawModernClient(harness.url);
  const listening = client.listen(filter);
  const stream = await asked.promise;
  assert.equal(await isAcknowledged(client, listening), false);
  acknowledge(stream);
  event(stream, toolsChanged.method);
  const { events, honoured } = await listening;
  assert.deepEqual(honoured, filter);
  assert.equal((await events.next())?.method, toolsChanged.method);
  await events.cancel();
});

for (const [what, answer, unsubscribed] of [
  ['keeps its subscription when', {}, 0],
  ['whose subscription is refused leaves no other one behind when', { code: -32603, message: 'not now' }, 1],
] as const)
  test(`a stream ${what} another stream for the resource ends before the answer of the server`, async (t) => {
    const { server, harness, client } = await legacyStage(t, (x) => x.status(405));
    const held: Incoming[] = [];
    server.methods['resources/subscribe'] = (x) => void held.push(x);
    const resources = { resourceSubscriptions: ['test://one'] };
    const first = client.listen(resources);
    await until('the server is asked', () => held.length === 1);
    held[0]!.json({ jsonrpc: '2.0', id: held[0]!.id, result: {} });
    const before = await first;
    const second = client.listen(resources);
    await until('the server is asked again', () => held.length === 2);
    await before.events.cancel();
    await until('the first stream is gone', () => harness.runtime.view().sessions[0]?.streams === 1);
    const response = 'code' in answer ? { error: answer } : { result: answer };
    held[1]!.json({ jsonrpc: '2.0', id: held[1]!.id, ...response });
    const { events, honoured } = await second;
    assert.deepEqual(honoured, unsubscribed === 0 ? resources : {});
    await client.post('tools/call', { name: 'echo', arguments: { text: 'x' } });
    await until('the server knows', () => server.of('resources/unsubscribe').length >= unsubscribed);
    assert.equal(server.of('resources/unsubscribe').length, unsubscribed);
    await events.cancel();
  });

test('a limit of calls does not keep a server subscribed when its client has left', async (t) => {
  let left = 1;
  const harness = await startHarness({
    caller: () => ({
      principal: 'alice',
      count: ({ kind }) => {
        if (kind === 'resource' && left-- === 0) return Promise.reject(new GatewayError('rate_limited'));
        return Promise.resolve(undefined);
      },
    }),
  });
  t.after(() => harness.close());
  const client = new RawModernClient(harness.url);
  const subscribed = async (): Promise<unknown> => {
    const { json } = await client.post('tools/call', { name: 'state' });
    const [content] = json.result?.['content'] as { text: string }[];
    return (JSON.parse(content!.text) as { subscriptions: unknown }).subscriptions;
  };
  const { events } = await client.listen({ resourceSubscriptions: ['test://one'] });
  assert.deepEqual(await subscribed(), ['test://one']);
  await events.cancel();
  await until('the stream is gone', () => harness.runtime.view().sessions[0]?.streams === 0);
  assert.deepEqual(await subscribed(), []);
});

test('one listening client subscribes to several resources where one call at a time may be in progress', async (t) => {
  let inProgress = 0;
  const harness = await startHarness({
    caller: () => ({
      principal: 'alice',
      count: () => {
        if (inProgress > 0) return Promise.reject(new GatewayError('mcp_budget_full'));
        inProgress++;
        return Promise.resolve(() => void inProgress--);
      },
    }),
  });
  t.after(() => harness.close());
  const client = new RawModernClient(harness.url);
  const wanted = { resourceSubscriptions: ['test://one', 'test://two', 'test://three'] };
  const { events, honoured } = await client.listen(wanted);
  assert.deepEqual(honoured, wanted);
  await events.cancel();
});
