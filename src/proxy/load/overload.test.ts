import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaults } from '../../model/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { Overload } from './overload.ts';
import { until } from '../../until.testing.ts';

const nothing = (): void => undefined;
const log: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing, child: () => log };
const limits = { closeLagMs: 100, shedLagMs: 200, closeMemory: 0.5, shedMemory: 0.8 };

/** The level after loads, given as [lag, memory]. */
function after(loads: readonly (readonly [number, number])[], thresholds = limits): string {
  const overload = new Overload(thresholds, log, false);
  for (const [lagMs, memory] of loads) overload.note({ lagMs, memory, outOfFiles: false });
  return overload.level === 'none' ? 'none' : `${overload.level} ${overload.reason}`;
}

const thrice = (lagMs: number, memory: number): [number, number][] =>
  Array.from({ length: 3 }, () => [lagMs, memory]);

test('each threshold has its level and its reason, the higher one wins', () => {
  assert.equal(after(thrice(99, 0.49)), 'none');
  assert.equal(after(thrice(100, 0)), 'close lag');
  assert.equal(after(thrice(0, 0.5)), 'close memory');
  assert.equal(after(thrice(200, 0.5)), 'shed lag');
  assert.equal(after(thrice(150, 0.8)), 'shed memory');
});

test('a single pause is no overload, and one good look ends one', () => {
  assert.equal(after([[5_000, 1]]), 'none');
  assert.equal(
    after([
      [0, 0],
      [5_000, 1],
      [5_000, 1],
    ]),
    'none',
  );
  assert.equal(after([...thrice(5_000, 1), [0, 0]]), 'none');
});

test('a threshold of 0 is never reached', () => {
  assert.equal(
    after(thrice(5_000, 1), { closeLagMs: 0, shedLagMs: 0, closeMemory: 0, shedMemory: 0 }),
    'none',
  );
  assert.equal(after(thrice(5_000, 1), { ...limits, shedLagMs: 0, shedMemory: 0 }), 'close lag');
});

test('without a file descriptor connections end at once, those under way as far as they come', () => {
  const overload = new Overload(limits, log, false);
  const load = { lagMs: 0, memory: 0 };
  overload.note({ ...load, outOfFiles: true });
  assert.deepEqual([overload.level, overload.reason], ['close', 'files']);
  overload.note({ ...load, outOfFiles: false });
  assert.equal(overload.level, 'none');
});

test('by itself it measures how late the event loop is, and how much memory is in use', async () => {
  const overload = new Overload({ ...defaults.limits.overload, closeLagMs: 40, shedLagMs: 0 }, log);
  try {
    await until('it has looked', () => overload.load.memory > 0);
    assert.ok(overload.load.memory < 1);
    // A process that computes without a pause: the loop turns, but late each time.
    const busy = setInterval(() => {
      const end = performance.now() + 120;
      while (performance.now() < end);
    }, 1);
    await until('it is late', () => overload.level === 'close' && overload.reason === 'lag');
    clearInterval(busy);
    await until('it is in time again', () => overload.level === 'none');
  } finally {
    overload.close();
  }
});
