import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryInUse } from './memoryInUse.ts';

const MB = 1_000_000;

/** Looks at resident and known memory, in MB; what is in use after the last one. */
function after(...looks: readonly (readonly [rss: number, known: number])[]): number {
  const memory = new MemoryInUse();
  let inUse = 0;
  for (const [rss, known] of looks) inUse = memory.note({ rss: rss * MB, known: known * MB });
  return inUse / MB;
}

test('while nothing was freed all of the resident set is in use', () => {
  assert.equal(after([80, 30]), 80);
  assert.equal(after([80, 30], [300, 250], [806, 750]), 806);
});

test('memory freed since the peak does not count as in use, though it stays resident', () => {
  assert.equal(after([80, 30], [806, 750], [806, 31]), 87);
  assert.equal(after([80, 30], [806, 750], [806, 400], [806, 31], [806, 300]), 356);
});

test('memory that went back to the system is not counted twice', () => {
  assert.equal(after([806, 750], [806, 31], [500, 31]), 87);
  assert.equal(after([806, 750], [806, 31], [87, 31], [87, 31]), 87);
});

test('growth that the runtime knows nothing of ends the trust in free memory', () => {
  assert.equal(after([806, 750], [806, 31], [836, 31]), 237);
  assert.equal(after([806, 750], [806, 31], [900, 31], [990, 31]), 990);
});

test('memory that the runtime knows nothing of is in use from the start', () => {
  assert.equal(after([80, 30], [400, 31], [700, 30]), 700 - 0);
});
