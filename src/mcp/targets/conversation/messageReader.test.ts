import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GatewayError } from '../../../errors.ts';
import { recordingLog } from '../../harness.testing.ts';
import { Waits } from '../kind/waiter.testing.ts';
import { PendingCalls } from './pendingCalls.ts';
import { MessageReader } from './messageReader.ts';
import type { MessageReceiver } from './messageReceiver.ts';

/** A connection whose calls 1 to `count` wait. */
function connection(count: number) {
  const { log, lines } = recordingLog();
  const calling = new PendingCalls();
  const waiters = Array.from({ length: count }, () => new Waits());
  for (const waiter of waiters) calling.add(calling.nextId(), waiter);
  const settled: number[] = [];
  const said: string[] = [];
  const receiver: MessageReceiver = {
    name: 'tools',
    log,
    calling,
    onMessage: ({ kind, method }, wireId) => {
      if (method === 'break') throw new Error('a defect');
      said.push(`${kind} ${method} on ${wireId}`);
    },
    progressed: () => undefined,
    settled: (wireId) => void settled.push(wireId),
    failed: (wireId: number, error: GatewayError) => calling.take(wireId)?.failed(error),
  };
  const reader = new MessageReader(receiver);
  return {
    reader,
    calling,
    settled,
    said,
    lines,
    outcomes: () => waiters.map(({ outcomes }) => outcomes),
  };
}

const answer = (id: unknown): string => JSON.stringify({ jsonrpc: '2.0', id, result: { n: id } });

test('each response reaches its call, and what the server says by itself reaches the session', () => {
  const { reader, settled, said, outcomes } = connection(2);
  const asked = '{"jsonrpc":"2.0","id":7,"method":"ping"}';
  reader.take(`[${answer(2)},{"jsonrpc":"2.0","method":"notifications/progress"},${asked}]`, 2);
  assert.deepEqual(outcomes(), [[], [answer(2)]]);
  assert.deepEqual(said, ['notification notifications/progress on 2', 'request ping on 2']);
  assert.deepEqual(settled, [2]);
});

for (const [what, text, wireId, expected] of [
  ['with its id as text', '{"jsonrpc":"2.0","id":"1","result":{}}', 0, 'answered with its id as a string'],
  ['without jsonrpc', '{"id":1,"result":{}}', 0, 'answered without jsonrpc: "2.0"'],
  [
    'with result and error',
    '{"jsonrpc":"2.0","id":1,"result":{},"error":{}}',
    0,
    'answered with both result and error',
  ],
  ['with neither', '{"jsonrpc":"2.0","id":1}', 0, 'answered with neither result nor error'],
  [
    'with a member twice',
    '{"jsonrpc":"2.0","id":1,"result":{},"result":{}}',
    0,
    'answered with the member "result" twice',
  ],
  ['in broken JSON', '{"jsonrpc":"2.0","id":1,"result":{', 0, 'answered with broken JSON'],
  ['without an id, on its own stream', '{"jsonrpc":"2.0","result":{}}', 1, ', without the id of the call'],
] as const)
  test(`an answer ${what} fails its call at once, and no other call`, () => {
    const { reader, outcomes } = connection(2);
    reader.take(text, wireId);
    const [[failed], other] = outcomes() as [string[], string[]];
    assert.ok(failed !== undefined);
    assert.ok(failed.startsWith('target "tools" answered') && failed.endsWith(expected), failed);
    assert.deepEqual(other, []);
  });

test('an answer without an id belongs to the only call there is, and to none of several', () => {
  const one = connection(1);
  one.reader.take('{"jsonrpc":"2.0","result":{}}');
  assert.equal(one.outcomes()[0]?.length, 1);
  const two = connection(2);
  two.reader.take('{"jsonrpc":"2.0","result":{}}');
  assert.deepEqual(two.outcomes(), [[], []]);
});

test('a log line on the wrong stream fails no call, even with the id of one', () => {
  const { reader, outcomes, lines } = connection(1);
  reader.take('{"level":"info","id":1}');
  reader.take('Server listening on 1');
  assert.deepEqual(outcomes(), [[]]);
  assert.equal(
    lines.filter(({ level }) => level === 'warn').length,
    1,
    'a flood of them is one line of the log',
  );
});

test('the log shows no more than the beginning of a text that is no message', () => {
  const { reader, lines } = connection(0);
  reader.take(`x${'y'.repeat(10_000)}`);
  assert.equal(String(lines[0]?.fields['text']).length, 200);
});

test('a broken answer that names a call which does not wait fails no other call', () => {
  const { reader, outcomes } = connection(1);
  reader.take('{"jsonrpc":"2.0","id":99,"result":{},"error":{}}', 1);
  assert.deepEqual(outcomes(), [[]]);
});

test('a response to a call that does not wait is dropped', () => {
  const { reader, settled, outcomes } = connection(1);
  reader.take(answer(99));
  reader.take(answer('abc'));
  assert.deepEqual([settled, outcomes()], [[], [[]]]);
});

test('a defect in the handling of one message is logged, and the other messages are handled', () => {
  const { reader, lines, outcomes } = connection(1);
  reader.take(`[{"jsonrpc":"2.0","method":"break"},${answer(1)}]`);
  assert.deepEqual(outcomes(), [[answer(1)]]);
  const [line] = lines.filter(({ level }) => level === 'error');
  assert.match(String(line?.fields['stack']), /a defect/);
});

test('a caller that cannot take its response hears of an internal error', () => {
  const { reader, calling, lines } = connection(0);
  const waiter = new Waits();
  waiter.answered = () => {
    throw new Error('a defect');
  };
  calling.add(1, waiter);
  reader.take(answer(1));
  assert.equal(waiter.error?.code, 'internal_error');
  assert.equal(lines.filter(({ level }) => level === 'error').length, 1);
});
