import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RetainedMemory, RetainedMemoryPool } from '../../limits/retainedMemory.ts';
import { message } from '../kind/waiter.testing.ts';
import { maxKept, SessionReplay } from './sessionReplay.ts';

const initialize = message('{"jsonrpc":"2.0","id":"mine","method":"initialize","params":{"a":1}}');

function replayWith(each = 10_000_000) {
  const room = new RetainedMemoryPool({ each, total: each });
  const replay = new SessionReplay(new RetainedMemory(room, 'holder'));
  replay.begin(initialize);
  let id = 100;
  return { replay, room, nextId: () => ++id };
}

/** The server accepted a request of the client. */
function accept(replay: SessionReplay, method: string, params: object): void {
  replay.note(message({ jsonrpc: '2.0', id: 1, method, params }))?.();
}

const said = (requests: Iterable<readonly [number, string]>): string[] =>
  [...requests].map(([id, text]) => {
    const { id: wireId, method, params } = JSON.parse(text) as { id: number; method: string; params: object };
    assert.equal(wireId, id);
    return `${method} ${JSON.stringify(params)}`;
  });

test('the next server gets the initialize of the client as it was, under another id', () => {
  const { replay } = replayWith();
  assert.equal(replay.beginning(7), initialize.text.replace('"mine"', '7'));
  assert.throws(
    () => new SessionReplay(new RetainedMemory(new RetainedMemoryPool(), '')).beginning(1),
    /must be initialize/,
  );
});

test('a notifications/initialized that is too long to keep is replaced by a bare one', () => {
  const { replay } = replayWith();
  assert.equal(replay.initialized, undefined);
  const text = '{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}';
  replay.confirm(text);
  assert.equal(replay.initialized, text);
  replay.confirm(text.padEnd(maxKept + 1));
  assert.equal(replay.initialized, '{"jsonrpc":"2.0","method":"notifications/initialized"}');
});

test('the next server gets the last log level and the subscriptions that are left', () => {
  const { replay, nextId } = replayWith();
  for (const level of ['debug', 'error']) accept(replay, 'logging/setLevel', { level });
  for (const uri of ['a://1', 'a://2', 'a://3', 'a://1']) accept(replay, 'resources/subscribe', { uri });
  accept(replay, 'resources/unsubscribe', { uri: 'a://2' });
  assert.deepEqual(said(replay.requests(nextId, () => true)), [
    'logging/setLevel {"level":"error"}',
    'resources/subscribe {"uri":"a://3"}',
    'resources/subscribe {"uri":"a://1"}',
  ]);
  assert.equal(replay.waits, false);
});

test('a subscription of a federation is kept with the URI of the server', () => {
  const { replay, nextId } = replayWith();
  const params = { uri: 'files+a://1' };
  const request = message({ jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params });
  const start = request.text.indexOf('"files+a://1"');
  replay.note(request, [{ start, end: start + '"files+a://1"'.length, replacement: '"a://1"' }])?.();
  assert.deepEqual(said(replay.requests(nextId, (uri) => uri === 'a://1')), [
    'resources/subscribe {"uri":"a://1"}',
  ]);
});

test('a request that changes nothing, or that cannot be read in one way, is not noted', () => {
  const { replay } = replayWith();
  for (const text of [
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"uri":"a://1"}}',
    '{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{}}',
    '{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":5}}',
    '{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a","uri":"b"}}',
    `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"${'x'.repeat(65)}"}}`,
  ])
    assert.equal(replay.note(message(text)), undefined, text);
});

test('subscriptions wait while no caller is there for whom they can be judged; hidden ones are forgotten', () => {
  const { replay, room, nextId } = replayWith();
  const before = room.of('holder');
  for (const uri of ['a://seen', 'a://hidden']) accept(replay, 'resources/subscribe', { uri });
  assert.deepEqual(said(replay.requests(nextId, undefined)), []);
  assert.equal(replay.waits, true);
  const canSee = (uri: string): boolean => uri === 'a://seen';
  assert.deepEqual(said(replay.requestsThatWaited(nextId, canSee)), [
    'resources/subscribe {"uri":"a://seen"}',
  ]);
  assert.equal(replay.waits, false);
  assert.equal(room.of('holder'), before + 'a://seen'.length);
  assert.deepEqual(said(replay.requests(nextId, () => true)), ['resources/subscribe {"uri":"a://seen"}']);
});

test('a subscription that is taken back while it waits is not said again', () => {
  const { replay, nextId } = replayWith();
  accept(replay, 'resources/subscribe', { uri: 'a://1' });
  said(replay.requests(nextId, undefined));
  accept(replay, 'resources/unsubscribe', { uri: 'a://1' });
  assert.equal(replay.waits, false);
});

test('a session keeps 1 024 subscriptions, and no more characters than a mebibyte', () => {
  const { replay, nextId } = replayWith();
  for (let i = 0; i < 1_100; i++) accept(replay, 'resources/subscribe', { uri: `a://${i}` });
  assert.equal(said(replay.requests(nextId, () => true)).length, 1_024);
  const long = replayWith();
  for (let i = 0; i < 20; i++)
    accept(long.replay, 'resources/subscribe', { uri: `${i}`.padEnd(100_000, 'x') });
  assert.equal(said(long.replay.requests(long.nextId, () => true)).length, 10);
});

test('a holder whose room is used up keeps no further subscription, and what was counted is given back', () => {
  const { replay, room, nextId } = replayWith(initialize.text.length + 10);
  accept(replay, 'resources/subscribe', { uri: '12345' });
  accept(replay, 'resources/subscribe', { uri: '123456' });
  assert.deepEqual(said(replay.requests(nextId, () => true)), ['resources/subscribe {"uri":"12345"}']);
  assert.equal(room.of('holder'), initialize.text.length + 5);
  accept(replay, 'resources/unsubscribe', { uri: '12345' });
  assert.equal(room.of('holder'), initialize.text.length);
});
