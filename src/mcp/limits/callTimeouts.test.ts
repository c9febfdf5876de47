import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { CallTimeouts } from './callTimeouts.ts';

interface Stage {
  readonly clocks: CallTimeouts;
  /** Calls that were given up, with the limit that they passed. */
  readonly late: (readonly [wireId: number, ms: number])[];
  pass(ms: number): void;
}

/** Clocks whose time is moved by hand. */
function stage(t: TestContext, mostMs: number): Stage {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 1_000;
  t.mock.method(performance, 'now', () => now);
  const late: (readonly [number, number])[] = [];
  const clocks = new CallTimeouts(
    () => mostMs,
    (wireId, { ms }) => void late.push([wireId, ms]),
  );
  return {
    clocks,
    late,
    pass: (ms) => {
      for (let left = ms; left > 0; left--) {
        now++;
        t.mock.timers.tick(1);
      }
    },
  };
}

test('each call is given up after its own time, however many there are', (t) => {
  const { clocks, late, pass } = stage(t, 1_000);
  clocks.start(1, { ms: 100 });
  clocks.start(2, { ms: 50 });
  clocks.start(3, { ms: 0 });
  pass(49);
  assert.deepEqual(late, []);
  pass(1);
  assert.deepEqual(late, [[2, 50]]);
  clocks.start(4, { ms: 100 });
  clocks.settled(1);
  pass(99);
  assert.deepEqual(late, [[2, 50]]);
  pass(1);
  assert.deepEqual(late, [
    [2, 50],
    [4, 100],
  ]);
  pass(10_000);
  assert.equal(late.length, 2, 'a call without a limit is never given up');
});

test('progress gives a call its whole time again, up to the longest that a call may take', (t) => {
  const { clocks, late, pass } = stage(t, 250);
  clocks.start(1, { ms: 100 });
  for (let i = 0; i < 4; i++) {
    pass(60);
    clocks.progress(1);
  }
  assert.deepEqual(late, []);
  pass(10);
  assert.deepEqual(late, [[1, 250]]);
  clocks.progress(1);
});

test('while the server waits for the client no time passes, for calls from before and from meanwhile', (t) => {
  const { clocks, late, pass } = stage(t, 1_000);
  clocks.start(1, { ms: 100 });
  pass(40);
  clocks.hold(true);
  pass(500);
  clocks.start(2, { ms: 100 });
  pass(400);
  clocks.hold(true);
  assert.deepEqual(late, []);
  clocks.hold(false);
  pass(59);
  assert.deepEqual(late, []);
  pass(1);
  assert.deepEqual(late, [[1, 100]]);
  pass(40);
  assert.deepEqual(late, [
    [1, 100],
    [2, 100],
  ]);
});

test('an unanswered request of the server stops the timeouts no longer than a call may take', (t) => {
  const { clocks, late, pass } = stage(t, 1_000);
  clocks.start(1, { ms: 100 });
  clocks.hold(true);
  pass(1_099);
  assert.deepEqual(late, []);
  pass(1);
  assert.deepEqual(late, [[1, 100]]);
});

test('a limit above the longest time of a call counts as it is', (t) => {
  const { clocks, late, pass } = stage(t, 50);
  clocks.start(1, { ms: 100 });
  pass(99);
  assert.deepEqual(late, []);
  pass(1);
  assert.deepEqual(late, [[1, 100]]);
});

test('no call times out after the connection has ended', (t) => {
  const { clocks, late, pass } = stage(t, 1_000);
  clocks.start(1, { ms: 100 });
  clocks.clear();
  pass(1_000);
  assert.deepEqual(late, []);
});
