import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WaitQueue, type Waiter } from './waitQueue.ts';

/** Waiters that note why they were refused. */
function queueOf(...waiters: readonly (readonly [name: string, until: number])[]) {
  const waiting = new WaitQueue();
  const refusals: string[] = [];
  const made = waiters.map(([name, until]) => {
    const waiter: Waiter = {
      onReady: () => assert.fail('no connection was ready'),
      onRefused: (code, detail) => void refusals.push(`${name}: ${code}, ${detail}`),
    };
    waiting.add(waiter, until);
    return waiter;
  });
  return { waiting, refusals, made };
}

test('the request that has waited longest is next, and one that was given up is passed over', () => {
  const { waiting, made } = queueOf(['a', 10], ['b', 20], ['c', 30]);
  waiting.forget(made[1]!);
  assert.equal(waiting.length, 2);
  assert.deepEqual([waiting.next(), waiting.next(), waiting.next()], [made[0], made[2], undefined]);
});

test('a sweep refuses the requests whose time is over, and leaves the others in their order', () => {
  const { waiting, refusals, made } = queueOf(['a', 10], ['b', 20], ['c', 30]);
  waiting.sweep(20);
  assert.deepEqual(refusals, [
    'a: upstream_overloaded, waited for a connection for too long',
    'b: upstream_overloaded, waited for a connection for too long',
  ]);
  assert.equal(waiting.refused, 2);
  assert.equal(waiting.next(), made[2]);
});

test('when the gateway stops, every request that waits is refused once', () => {
  const { waiting, refusals } = queueOf(['a', 10], ['b', 20]);
  waiting.close();
  waiting.close();
  assert.deepEqual(refusals, [
    'a: upstream_overloaded, the gateway stops',
    'b: upstream_overloaded, the gateway stops',
  ]);
  assert.equal(waiting.length, 0);
});

test('a request that waits anew while it is refused is not refused in the same sweep again', () => {
  const waiting = new WaitQueue();
  let refused = 0;
  const waiter: Waiter = {
    onReady: () => undefined,
    onRefused: () => {
      refused++;
      waiting.add(waiter, 100);
    },
  };
  waiting.add(waiter, 10);
  waiting.sweep(10);
  assert.equal(refused, 1);
  assert.equal(waiting.length, 1);
});
