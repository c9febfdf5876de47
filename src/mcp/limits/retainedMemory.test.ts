import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SessionReplay } from '../targets/conversation/sessionReplay.ts';
import { readEnvelope } from '../json/envelope.ts';
import { JournalStore } from '../session/journal.ts';
import { RetainedMemory, RetainedMemoryPool } from './retainedMemory.ts';
import { Outbox } from '../session/outbox.ts';

const text = (length: number): string => 'x'.repeat(length);

test('the sessions of one holder keep no more events together than it may have', () => {
  const room = new RetainedMemoryPool({ each: 1_000, total: 10_000 });
  const sessions = Array.from({ length: 20 }, () => new JournalStore(new RetainedMemory(room, 'ada')).open());
  for (const journal of sessions) for (let i = 0; i < 5; i++) journal.record(text(100));
  assert.equal(room.of('ada'), 1_000);
  const other = new JournalStore(new RetainedMemory(room, 'bob')).open();
  for (let i = 0; i < 5; i++) other.record(text(100));
  assert.equal(other.events.length, 5, 'another holder has its own share');
  assert.equal(sessions[0]!.events.length, 5);
  assert.equal(sessions[19]!.events.length, 0, 'what came last is not kept');
});

test('all holders together keep no more than the process may', () => {
  const room = new RetainedMemoryPool({ each: 1_000, total: 1_500 });
  for (const holder of ['ada', 'bob', 'eve']) {
    const journal = new JournalStore(new RetainedMemory(room, holder)).open();
    for (let i = 0; i < 20; i++) journal.record(text(100));
  }
  assert.equal(room.of('ada') + room.of('bob') + room.of('eve'), 1_500);
});

test('messages that wait for a stream count, and a question that falls out is told', () => {
  const room = new RetainedMemoryPool({ each: 1_000, total: 10_000 });
  const dropped: unknown[] = [];
  const first = new Outbox(new RetainedMemory(room, 'ada'), (held) => dropped.push(held.askedId));
  const second = new Outbox(new RetainedMemory(room, 'ada'), (held) => dropped.push(held.askedId));
  first.hold({ text: text(600), askedId: 1 });
  second.hold({ text: text(300), askedId: 2 });
  second.hold({ text: text(500), askedId: 3 });
  assert.deepEqual(dropped, [2, 3], 'however few it keeps itself');
  assert.equal(room.of('ada'), 600);
  first.take(false);
  assert.equal(room.of('ada'), 0);
  second.hold({ text: text(900), askedId: 4 });
  assert.equal(second.drop(4), true);
  assert.equal(room.of('ada'), 0);
});

test('subscriptions and initialize count, and go with their session', () => {
  const room = new RetainedMemoryPool({ each: 1_000, total: 10_000 });
  const message = (method: string, params: object) => {
    const envelope = readEnvelope(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
    assert.ok(typeof envelope === 'object');
    return envelope;
  };
  const keep = new RetainedMemory(room, 'ada');
  const restore = new SessionReplay(keep);
  restore.begin(message('initialize', {}));
  const begun = room.of('ada');
  assert.ok(begun > 0);
  for (const uri of ['a:', 'b:', 'c:'])
    restore.note(message('resources/subscribe', { uri: uri + text(400) }))?.();
  assert.equal(room.of('ada'), begun + 2 * 402, 'the third is not remembered');
  restore.note(message('resources/unsubscribe', { uri: `a:${text(400)}` }))?.();
  assert.equal(room.of('ada'), begun + 402);
  keep.close();
  assert.equal(room.of('ada'), 0);
  restore.note(message('resources/unsubscribe', { uri: `b:${text(400)}` }))?.();
  assert.equal(room.of('ada'), 0, 'nothing is given back twice');
});
