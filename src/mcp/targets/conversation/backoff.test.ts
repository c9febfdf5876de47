import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Backoff } from './backoff.ts';

test('restarts wait longer each time and are given up within the window, until the cool-down is over', () => {
  let now = 0;
  const policy = { firstDelayMs: 10, maxDelayMs: 30, maxFailures: 5, windowMs: 1_000, coolDownMs: 500 };
  const backoff = new Backoff(policy, () => now);
  assert.deepEqual(
    [1, 2, 3, 4, 5].map(() => backoff.failure()),
    [10, 20, 30, 30, undefined],
  );
  assert.equal(backoff.mayTry, false);
  now = 500;
  assert.equal(backoff.mayTry, true);
  assert.equal(backoff.failure(), undefined, 'one more failure within the window is too many');
  now = 5_000;
  assert.equal(backoff.failure(), 10, 'old failures are forgotten');
});
