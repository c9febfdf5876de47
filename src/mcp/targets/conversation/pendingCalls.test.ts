import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../../errors.ts';
import { message, Waits } from '../kind/waiter.testing.ts';
import { PendingCalls } from './pendingCalls.ts';

const broken = new GatewayError('mcp_target_failed', { message: 'broken' });
const answer = (id: unknown, isError = false) =>
  message({ jsonrpc: '2.0', id, ...(isError ? { error: { code: 1, message: 'no' } } : { result: {} }) });

/** Calls that were sent, under the ids 1, 2 and so on. */
function sent(count: number, calls = new PendingCalls()) {
  const waiters = Array.from({ length: count }, () => {
    const waiter = new Waits();
    calls.add(calls.nextId(), waiter);
    return waiter;
  });
  return { calls, waiters };
}

test('no id is used twice, and a session from another process counts on from its start', () => {
  const calls = new PendingCalls();
  assert.deepEqual([calls.nextId(), calls.nextId()], [1, 2]);
  assert.equal(new PendingCalls(2 ** 32).nextId(), 2 ** 32 + 1);
});

test('a response takes its own call out, and a second response finds none', () => {
  const { calls, waiters } = sent(2);
  assert.equal(calls.settle(answer(2)), waiters[1]);
  assert.equal(calls.settle(answer(2)), undefined);
  assert.equal(calls.settle(answer('1')), undefined, 'an id of text is no id of the gateway');
  assert.equal(calls.size, 1);
  assert.equal(calls.sole, 1);
});

test('the note of a call runs once, and only when the server accepted the call', () => {
  const { calls } = sent(3);
  const noted: number[] = [];
  for (const id of [1, 2, 3]) calls.note(id, () => noted.push(id));
  calls.settle(answer(1));
  calls.settle(answer(1));
  calls.settle(answer(2, true));
  calls.settle(answer(2));
  calls.forget(3);
  calls.settle(answer(3));
  assert.deepEqual(noted, [1]);
});

test('calls that wait for the next server are not failed with the former one', () => {
  const { calls, waiters } = sent(1);
  const delayed = new Waits();
  calls.delay({ wireId: calls.nextId(), waiter: delayed, line: '{"id":2}', method: 'tools/call' });
  assert.equal(calls.get(2), undefined);
  assert.equal(calls.find(2), delayed);
  calls.fail(broken);
  assert.deepEqual([waiters[0]?.outcomes, delayed.outcomes], [['broken'], []]);
  assert.deepEqual([calls.size, calls.delayedSize], [1, 1]);
  const [released] = calls.release();
  assert.deepEqual([released?.wireId, released?.line, released?.method], [2, '{"id":2}', 'tools/call']);
  assert.equal(calls.settle(answer(2)), delayed);
  assert.deepEqual([calls.size, calls.delayedSize, calls.delayedFor], [0, 0, 0]);
});

test('a call that waits can be forgotten, and is then not sent', () => {
  const calls = new PendingCalls();
  for (const wireId of [1, 2])
    calls.delay({ wireId, waiter: new Waits(), line: `line ${wireId}`, method: '' });
  assert.deepEqual(
    [...calls.all()].map(([id]) => id),
    [1, 2],
  );
  calls.forget(1);
  assert.deepEqual(
    calls.release().map(({ line }) => line),
    ['line 2'],
  );
});

test('when everything fails, every call hears of it once, whether it was sent or waits', () => {
  const { calls, waiters } = sent(2);
  const delayed = new Waits();
  calls.delay({ wireId: calls.nextId(), waiter: delayed, line: '', method: '' });
  const told: number[] = [];
  calls.note(1, () => assert.fail('the note of a call that failed'));
  calls.failDelayed(broken, (wireId) => told.push(wireId));
  calls.failAll(broken);
  calls.failAll(broken);
  for (const waiter of [...waiters, delayed]) assert.deepEqual(waiter.outcomes, ['broken']);
  assert.deepEqual(told, [3]);
  calls.settle(answer(1));
  assert.equal(calls.size, 0);
});

test('a waiter that fails and calls again at once does not fail a second time', () => {
  const { calls } = sent(0);
  const again = new Waits();
  const first = new Waits();
  first.failed = () => calls.add(2, again);
  calls.add(1, first);
  calls.fail(broken);
  assert.deepEqual(again.outcomes, []);
  assert.equal(calls.get(2), again);
});

test('the oldest call without a client is abandoned first, one at a time', () => {
  const { calls, waiters } = sent(3);
  assert.equal(calls.dropAbandoned(), undefined);
  for (const waiter of waiters.slice(1)) waiter.abandoned = true;
  assert.equal(calls.dropAbandoned(), 2);
  assert.deepEqual(waiters[1]?.outcomes, ['the client left']);
  assert.deepEqual(waiters[2]?.outcomes, []);
  assert.equal(calls.sole, undefined);
  assert.equal(calls.dropAbandoned(), 3);
  assert.equal(calls.sole, 1);
});
