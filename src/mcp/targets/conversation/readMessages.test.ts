import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readMessages } from './readMessages.ts';

test('a line may hold one message or a batch', () => {
  const one = '{"jsonrpc":"2.0","method":"a"}';
  assert.equal((readMessages(one) as unknown[]).length, 1);
  assert.equal((readMessages(`[${one}, ${one}]`) as unknown[]).length, 2);
  const faults = (line: string): unknown[] =>
    readMessages(line).map((message) => ('fault' in message ? message.fault : message.kind));
  assert.deepEqual(faults('Server listening'), ['not_json']);
  assert.deepEqual(faults('{"level":"info"}'), ['not_message']);
  assert.deepEqual(faults(`[${one}, 5]`), ['notification', 'not_message']);
});

test('a long line is checked for its structure only, and one that is broken off is no message', () => {
  const long = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { text: 'x'.repeat(100_000) } });
  const kinds = (line: string): string[] =>
    readMessages(line).map((message) => ('fault' in message ? message.fault : message.kind));
  assert.deepEqual(kinds(long), ['response']);
  assert.deepEqual(kinds(`[${long},${long}]`), ['response', 'response']);
  assert.deepEqual(kinds(long.slice(0, -2)), ['not_json']);
  assert.deepEqual(kinds(`[${long}`), ['response', 'not_json']);
});

test('an empty line, an empty batch and a number hold no message', () => {
  assert.deepEqual(readMessages('[]'), []);
  for (const line of ['', '   ', '5', 'null', '"text"']) {
    const [message] = readMessages(line);
    assert.ok(message !== undefined && 'fault' in message, line);
  }
});

test('a batch of more than 256 messages is one answer that cannot be used', () => {
  const answer = (id: number): string => `{"jsonrpc":"2.0","id":${id},"result":{}}`;
  const batch = (count: number): string =>
    `[${Array.from({ length: count }, (_, i) => answer(i + 1)).join(',')}]`;
  assert.equal(readMessages(batch(256)).length, 256);
  const [message, ...others] = readMessages(batch(257));
  assert.deepEqual(others, []);
  assert.ok(message !== undefined && 'fault' in message);
  assert.equal(message.what, 'answered with a batch of more than 256 messages');
  assert.deepEqual(message.ids.slice(0, 3), [1, 2, 3]);
  assert.equal(readMessages(`[${'1,'.repeat(100_000)}1]`).length, 1);
});
