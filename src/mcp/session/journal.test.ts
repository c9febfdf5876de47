import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { labelOf, startHarness, type Harness } from '../harness.testing.ts';
import { JournalStore } from './journal.ts';
import { RawClient } from '../rawClient.testing.ts';
import { until } from '../../until.testing.ts';
import { RetainedMemory, RetainedMemoryPool } from '../limits/retainedMemory.ts';

let harness: Harness;
before(async () => {
  harness = await startHarness();
});
after(() => harness.close());

async function open(version = '2025-11-25'): Promise<RawClient> {
  const client = new RawClient(harness.url);
  await client.initialize(version);
  return client;
}

const viewOf = (client: RawClient) =>
  harness.runtime.view().sessions.find((session) => session.label === labelOf(client.sessionId!))!;

const progress = (client: RawClient): object =>
  client.tool('progressAndHold', {}, { _meta: { progressToken: 't' } });

test('a client that lost the stream of a call resumes it and gets missed events and the response', async () => {
  const client = await open();
  const leave = new AbortController();
  const events = await client.stream(progress(client), {}, leave.signal);
  assert.equal((await events.next())?.params?.['progress'], 1);
  const { lastId } = events;
  leave.abort();
  await until('the gateway has noticed', () => viewOf(client).attached === false);
  const resumed = await client.get({ 'last-event-id': lastId });
  assert.equal((await resumed.next())?.params?.['progress'], 2);
  await client.call('release');
  assert.equal((await resumed.next())?.id !== undefined, true);
  assert.equal(await resumed.next(), undefined, 'with its response the stream is over');
});

test('a response without an open stream is replayed', async () => {
  const client = await open();
  const leave = new AbortController();
  const events = await client.stream(progress(client), {}, leave.signal);
  await events.next();
  leave.abort();
  await until('the gateway has noticed', () => viewOf(client).attached === false);
  await client.call('release');
  const resumed = await client.get({ 'last-event-id': events.lastId });
  const rest = await resumed.rest();
  assert.deepEqual(
    rest.map((message) => message.method ?? 'response'),
    ['notifications/progress', 'response'],
  );
  const again = await fetch(harness.url, {
    headers: client.headers({ accept: 'text/event-stream', 'last-event-id': resumed.lastId }),
  });
  assert.equal(again.status, 204, 'there is nothing more to come');
});

test('a resumed stream replays that stream only', async () => {
  const client = await open();
  const get = await client.get();
  await client.call('changed');
  await get.next();
  const { lastId } = get;
  await get.cancel();
  await until('the stream is gone', () => viewOf(client).streams === 0);
  await client.post(client.tool('log'));
  await client.call('changed', {});
  const resumed = await client.get({ 'last-event-id': lastId });
  await client.call('changed');
  assert.equal((await resumed.next())?.method, 'notifications/tools/list_changed');
  assert.ok(!resumed.raw.includes('notifications/message'));
  await resumed.cancel();
});

test('the stream of a call in progress can be resumed after many further streams of its session', async () => {
  const client = await open();
  const leave = new AbortController();
  const events = await client.stream(progress(client), {}, leave.signal);
  await events.next();
  const accept = { accept: 'text/event-stream, application/json' };
  for (let i = 0; i < 70; i++) await (await client.stream(client.tool('echo', { text: 'x' }), accept)).rest();
  leave.abort();
  await until('the gateway has noticed', () => viewOf(client).attached === false);
  const resumed = await client.get({ 'last-event-id': events.lastId });
  await client.call('release');
  assert.ok((await resumed.rest()).at(-1)?.result, 'the response of the call');
});

test('a client that resumes lost streams has as few open ones as any other client', async () => {
  const client = await open();
  const lost: string[] = [];
  for (let i = 0; i < 5; i++) {
    const get = await client.get();
    await client.call('changed');
    await get.next();
    lost.push(get.lastId);
    await get.cancel();
    await until('the stream is gone', () => viewOf(client).streams === 0);
  }
  const statuses: number[] = [];
  for (const id of lost) {
    const { status } = await fetch(harness.url, {
      headers: client.headers({ accept: 'text/event-stream', 'last-event-id': id }),
    });
    statuses.push(status);
  }
  assert.deepEqual(statuses, [200, 200, 200, 200, 409]);
  assert.equal(await client.delete(), 204);
});

test('an unknown event id opens a new stream', async () => {
  const client = await open();
  for (const id of ['nonsense', '999-1', '1']) {
    const events = await client.get({ 'last-event-id': id });
    assert.equal(await events.nextBlock(), ': open');
    await events.cancel();
    await until('the stream is gone', () => viewOf(client).streams === 0);
  }
});

test('a call that waits long begins its stream with an event that can be resumed from, where the client knows it', async () => {
  const client = await open();
  const waiting = client.stream(client.tool('hold'));
  await until('the call is in flight', () => viewOf(client).targets[0]!.pending === 1);
  harness.runtime.tick(performance.now() + 16_000);
  const events = await waiting;
  assert.match((await events.nextBlock()) ?? '', /^id: \d+-0\nretry: \d+\ndata: $/);
  await client.call('release');
  assert.ok((await events.next())?.result);
});

test('a client that names event streams first gets one at once, begun so that it can be resumed', async () => {
  const client = await open();
  const leave = new AbortController();
  const accept = { accept: 'text/event-stream, application/json' };
  const events = await client.stream(client.tool('hold'), accept, leave.signal);
  assert.match((await events.nextBlock()) ?? '', /^id: \d+-0\nretry: \d+\ndata: $/);
  leave.abort();
  await until('the gateway has noticed', () => viewOf(client).attached === false);
  const resumed = await client.get({ 'last-event-id': events.lastId });
  await client.call('release');
  assert.ok((await resumed.next())?.result);
});

test('an older client gets its stream without the event that it would not understand', async () => {
  const client = await open('2025-06-18');
  const events = await client.stream(client.tool('echo', { text: 'x' }), {
    accept: 'text/event-stream, application/json',
  });
  assert.match((await events.nextBlock()) ?? '', /^event: message\n/);
});

test('events are forgotten oldest first, by number and by size', () => {
  const store = new JournalStore(new RetainedMemory(new RetainedMemoryPool(), 'ada'));
  const first = store.open();
  const second = store.open();
  for (let i = 0; i < 200; i++) first.record('a');
  for (let i = 0; i < 200; i++) second.record('b');
  assert.equal(first.events.length, 56);
  assert.equal(first.events[0]?.seq, 145);
  assert.equal(second.events.length, 200);
  second.record('x'.repeat(1_000_000));
  second.record('x'.repeat(500_000));
  assert.deepEqual([first.events.length, second.events.length], [0, 1]);
  for (let i = 0; i < 100; i++) store.open();
  assert.equal(store.find('1-1'), undefined, 'so are streams');
});
