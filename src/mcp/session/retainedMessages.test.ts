/** A session keeps little of its client's messages, however much the client sends. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startHarness, type Harness } from '../harness.testing.ts';
import { cut, memberOf, type Envelope } from '../json/envelope.ts';
import { RawClient } from '../rawClient.testing.ts';
import { itemOf } from '../items/items.ts';
import { readPost } from '../serve/readPost.ts';
import { SessionReplay } from '../targets/conversation/sessionReplay.ts';
import { collect } from '../../oldObjects.testing.ts';
import { until } from '../../until.testing.ts';
import { RetainedMemory, RetainedMemoryPool } from '../limits/retainedMemory.ts';
import { SessionSeal } from './sessionId.ts';
import { TaskIds } from './taskIds.ts';
import { TaskRegistry } from './taskRegistry.ts';

/** Bytes in use, garbage left out. */
function used(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const wide = { maxDepth: 128, maxNodes: 1_000 };
const request = async (method: string, params: object, id: unknown = 1): Promise<Envelope> =>
  (await readPost(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, params })), wide)).messages[0]!;

test('an id and a token that are kept do not keep their message', async () => {
  const kept: unknown[] = [];
  const padding = 'x'.repeat(2_000_000);
  const start = used();
  for (let i = 0; i < 50; i++) {
    const message = await request(
      'ping',
      { padding, token: `a token of some length ${i}` },
      `an id of some length ${i}`,
    );
    const token = memberOf(message.text, message.body, 'token');
    assert.ok(typeof token === 'object');
    kept.push(message.id, cut(message.text, message.idSpan), cut(message.text, token));
  }
  // Swept in the background: what is garbage may count for a moment longer.
  await until('the 100 MB of the messages are given back', () => used() - start < 20_000_000);
  assert.deepEqual(kept.slice(0, 3), [
    'an id of some length 0',
    '"an id of some length 0"',
    '"a token of some length 0"',
  ]);
});

test('subscriptions are remembered for a restarted server up to a million characters', async () => {
  const restore = new SessionReplay(new RetainedMemory(new RetainedMemoryPool(), 'ada'));
  const note = async (method: string, uri: string): Promise<void> =>
    restore.note(await request(method, { uri }))?.();
  const long = 'x'.repeat(400_000);
  for (const uri of ['a:', 'b:', 'c:', 'd:', 'a:']) await note('resources/subscribe', uri + long);
  const ids = (): number => 7;
  assert.equal([...restore.requests(ids, () => true)].length, 2);
  await note('resources/unsubscribe', `a:${long}`);
  await note('resources/subscribe', `c:${long}`);
  await note('resources/subscribe', 'short:');
  const uris = [...restore.requests(ids, () => true)].map(([, text]) =>
    (JSON.parse(text) as { params: { uri: string } }).params.uri.slice(0, 2),
  );
  assert.deepEqual(uris, ['b:', 'c:', 'sh']);
});

test('tasks that are remembered do not keep the messages that told of them', async () => {
  const ids = new TaskIds(new TaskRegistry(new SessionSeal()));
  const reader = { server: 's', principal: 'ada', session: 'x', target: 'files' };
  const padding = 'x'.repeat(1_000_000);
  const answer = async (task: object): Promise<Envelope> => {
    const message = { jsonrpc: '2.0', id: 1, result: { task, padding } };
    return (await readPost(Buffer.from(JSON.stringify(message)), wide)).messages[0]!;
  };
  const start = used();
  for (let i = 0; i < 50; i++) {
    const call = await request('tools/call', { name: `a tool with a long name ${i}`, padding });
    const item = itemOf(call);
    assert.ok(typeof item === 'object');
    ids.view(call, reader, item, undefined).filter(await answer({ taskId: `a task with a long id ${i}` }));
    ids.fromClient(await answer({ taskId: `a task of the client ${i}` }), reader, undefined);
  }
  await until('the 150 MB of the messages are given back', () => used() - start < 20_000_000);
  const news = await request('notifications/tasks/status', { taskId: 'a task with a long id 7' });
  assert.ok(ids.fromServer({ ...news, kind: 'notification' }, reader)?.task?.handle);
});

let harness: Harness;
before(async () => {
  harness = await startHarness({});
});
after(() => harness.close());

test('a progress token longer than an id may be is refused', async () => {
  const client = new RawClient(harness.url);
  await client.initialize();
  const call = (token: string) =>
    client.post(
      client.request('tools/call', {
        name: 'echo',
        arguments: { text: 'x' },
        _meta: { progressToken: token },
      }),
    );
  assert.ok((await call('t'.repeat(200))).json.result);
  assert.deepEqual((await call('t'.repeat(300))).json.error, {
    code: -32600,
    message: 'invalid request: the progress token is too long',
  });
});

test('a session keeps nothing of calls that have ended but of the newest one', async () => {
  const client = new RawClient(harness.url);
  await client.initialize();
  const megabyte = 'x'.repeat(1_000_000);
  const start = used();
  for (let i = 0; i < 12; i++) {
    const { json } = await client.post(client.request('ping', { padding: `${i}${megabyte}` }));
    assert.deepEqual(json.result, {});
  }
  await until('the messages of the calls are given back', () => used() - start < 4_000_000);
});
