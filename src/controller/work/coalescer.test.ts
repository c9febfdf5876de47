import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryLog } from '../../auth/log.testing.ts';
import { ManualClock } from '../../stream/clock.testing.ts';
import { Coalescer, type Urgency, type Window } from './coalescer.ts';

const windows = (quietMs: number, maxWaitMs: number): Record<Urgency, Window> => ({
  soon: { quietMs, maxWaitMs },
  later: { quietMs: 4 * quietMs, maxWaitMs: 4 * maxWaitMs },
});

test('a burst of changes becomes one run, when it is over', async () => {
  const clock = new ManualClock();
  const at: number[] = [];
  const coalescer = new Coalescer({
    run: () => void at.push(clock.now()),
    log: memoryLog().log,
    clock,
    windows: windows(50, 1_000),
  });
  for (let n = 0; n < 5; n++) {
    coalescer.mark();
    await clock.advance(20);
  }
  await clock.advance(1_000);
  assert.deepEqual(at, [130]);
});

test('changes that never stop do not put the run off for ever', async () => {
  const clock = new ManualClock();
  const at: number[] = [];
  const coalescer = new Coalescer({
    run: () => void at.push(clock.now()),
    log: memoryLog().log,
    clock,
    windows: windows(50, 200),
  });
  for (let n = 0; n < 50; n++) {
    coalescer.mark();
    await clock.advance(10);
  }
  assert.deepEqual(at, [200, 400]);
  await coalescer.close();
});

test('deferred changes wait longer, and join an urgent run', async () => {
  const clock = new ManualClock();
  const at: number[] = [];
  const run = (): void => void at.push(clock.now());
  const coalescer = new Coalescer({ run, log: memoryLog().log, clock, windows: windows(50, 200) });
  coalescer.mark('later');
  await clock.advance(300);
  assert.deepEqual(at, [200]);
  coalescer.mark('later');
  await clock.advance(10);
  coalescer.mark('soon');
  coalescer.mark('later');
  await clock.advance(2_000);
  assert.deepEqual(at, [200, 360]);
  for (let n = 0; n < 100; n++) {
    coalescer.mark('later');
    await clock.advance(10);
  }
  assert.deepEqual(at, [200, 360, 3_110]);
  await coalescer.close();
});

test('a run that took long is followed by a rest, and a change after that does not wait', async () => {
  const clock = new ManualClock();
  const at: number[] = [];
  const coalescer = new Coalescer({
    run: () => {
      at.push(clock.now());
      clock.sleep(400);
    },
    log: memoryLog().log,
    clock,
    windows: windows(50, 200),
    maxRestMs: { soon: 300, later: 1_000 },
  });
  coalescer.mark();
  // It runs at 50, until 450, and rests until 750.
  await clock.advance(450);
  coalescer.mark();
  await clock.advance(299);
  assert.deepEqual(at, [50]);
  await clock.advance(1);
  assert.deepEqual(at, [50, 750]);
  await clock.advance(5_000);
  coalescer.mark();
  await clock.advance(50);
  assert.equal(at.length, 3);
  // The first run ended 400 later; a change that can wait rests longer.
  coalescer.mark('later');
  await clock.advance(1_399);
  assert.equal(at.length, 3);
  await clock.advance(1);
  assert.equal(at.length, 4);
  await coalescer.close();
});

test('runs do not overlap, and a change during one causes another', async () => {
  const clock = new ManualClock();
  let running = 0;
  let runs = 0;
  let end = (): void => {};
  const coalescer = new Coalescer({
    run: async () => {
      runs++;
      assert.equal(++running, 1);
      await new Promise<void>((resolve) => (end = resolve));
      running--;
    },
    log: memoryLog().log,
    clock,
  });
  coalescer.mark();
  await clock.advance(100);
  coalescer.mark();
  await clock.advance(1_000);
  assert.equal(runs, 1);
  end();
  await clock.advance(1_000);
  assert.equal(runs, 2);
  end();
  await clock.advance(1_000);
  assert.equal(runs, 2);
  await coalescer.close();
});

test('a run that throws is logged, and the next change runs again', async () => {
  const clock = new ManualClock();
  const { log, lines } = memoryLog();
  let runs = 0;
  const coalescer = new Coalescer({
    run: () => {
      if (++runs === 1) throw new Error('broken');
    },
    log,
    clock,
  });
  coalescer.mark();
  await clock.advance(100);
  coalescer.mark();
  await clock.advance(100);
  assert.equal(runs, 2);
  assert.deepEqual(
    lines.map(({ level }) => level),
    ['error'],
  );
  await coalescer.close();
});

test('after the end nothing runs', async () => {
  const clock = new ManualClock();
  let runs = 0;
  const coalescer = new Coalescer({ run: () => void runs++, log: memoryLog().log, clock });
  coalescer.mark();
  await coalescer.close();
  coalescer.mark();
  await clock.advance(1_000);
  assert.equal(runs, 0);
  assert.equal(clock.waiting, 0);
});
