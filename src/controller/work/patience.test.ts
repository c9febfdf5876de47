import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../stream/clock.testing.ts';
import { Patience } from './patience.ts';

test('a key waits until its time is over, and anew after it had everything', async () => {
  const clock = new ManualClock();
  const patience = new Patience(100, clock);
  const waiting = (...lacking: readonly string[]): readonly string[] => [
    ...patience.waiting(new Set(lacking)),
  ];
  assert.deepEqual(waiting('a'), ['a']);
  await clock.advance(60);
  assert.deepEqual(waiting('a', 'b'), ['a', 'b']);
  await clock.advance(60);
  assert.deepEqual(waiting('a', 'b'), ['b']);
  assert.deepEqual(waiting('b'), ['b']);
  assert.deepEqual(waiting('a', 'b'), ['a', 'b']);
});
