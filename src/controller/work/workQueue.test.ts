import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from '../../telemetry/index.ts';
import { memoryLog } from '../../auth/log.testing.ts';
import { ApiError } from '../api/apiError.ts';
import { ManualClock } from '../../stream/clock.testing.ts';
import { WorkQueue, type WorkQueueOptions } from './workQueue.ts';

/** A queue on a clock that stands, whose jitter is none. */
function setUp(options: Partial<WorkQueueOptions> & Pick<WorkQueueOptions, 'handle'>): {
  readonly clock: ManualClock;
  readonly queue: WorkQueue;
  readonly metrics: ReturnType<typeof createMetrics>;
} {
  const clock = new ManualClock();
  const metrics = createMetrics({ process: false });
  const queue = new WorkQueue({
    name: 'test',
    log: memoryLog().log,
    metrics,
    clock,
    random: () => 1,
    backoff: { firstMs: 100, maxMs: 1_000 },
    ...options,
  });
  return { clock, queue, metrics };
}

/** Work that lasts until it is told to end. */
function slowWork(): {
  readonly started: string[];
  readonly handle: (key: string) => Promise<void>;
  finish(error?: Error): void;
} {
  const started: string[] = [];
  const ends: ((error?: Error) => void)[] = [];
  return {
    started,
    handle: async (key) => {
      started.push(key);
      await new Promise<void>((resolve, reject) =>
        ends.push((error) => (error === undefined ? resolve() : reject(error))),
      );
    },
    finish: (error) => ends.shift()?.(error),
  };
}

test('a key that is added while it waits is worked on once', async () => {
  const work = slowWork();
  const { queue, clock } = setUp({ handle: work.handle, maxInFlight: 1 });
  for (const key of ['a', 'b', 'b', 'b']) queue.add(key);
  await clock.advance(0);
  work.finish();
  await clock.advance(0);
  work.finish();
  await queue.idle();
  assert.deepEqual(work.started, ['a', 'b']);
});

test('a key that is added while it is worked on is worked on again, and never twice at once', async () => {
  const work = slowWork();
  const { queue, clock } = setUp({ handle: work.handle });
  queue.add('a');
  await clock.advance(0);
  queue.add('a');
  queue.add('a');
  await clock.advance(0);
  assert.deepEqual(work.started, ['a']);
  work.finish();
  await clock.advance(0);
  assert.deepEqual(work.started, ['a', 'a']);
  work.finish();
  await queue.idle();
  assert.equal(queue.depth, 0);
});

test('no more keys are worked on at once than are allowed', async () => {
  const work = slowWork();
  const { queue, clock } = setUp({ handle: work.handle, maxInFlight: 2 });
  for (const key of ['a', 'b', 'c']) queue.add(key);
  await clock.advance(0);
  assert.deepEqual(work.started, ['a', 'b']);
  work.finish();
  await clock.advance(0);
  assert.deepEqual(work.started, ['a', 'b', 'c']);
  work.finish();
  work.finish();
  await queue.idle();
});

test('the concurrency of the queue can change', async () => {
  const work = slowWork();
  let most = 1;
  const { queue, clock } = setUp({ handle: work.handle, maxInFlight: () => most });
  for (const key of ['a', 'b', 'c', 'd']) queue.add(key);
  await clock.advance(0);
  assert.deepEqual(work.started, ['a']);
  most = 3;
  work.finish();
  await clock.advance(0);
  assert.deepEqual(work.started, ['a', 'b', 'c', 'd']);
  for (let left = 3; left > 0; left--) work.finish();
  await queue.idle();
});

test('keys that go first overtake those that wait, each kind in the order it came', async () => {
  const work = slowWork();
  const { queue, clock } = setUp({
    handle: work.handle,
    maxInFlight: 1,
    goesFirst: (key) => key.startsWith('first'),
  });
  for (const key of ['a', 'b', 'first-1', 'c', 'first-2']) queue.add(key);
  queue.forget('c');
  for (let turn = 0; turn < 4; turn++) {
    await clock.advance(0);
    work.finish();
  }
  await queue.idle();
  assert.deepEqual(work.started, ['a', 'first-1', 'first-2', 'b']);
});

test('the queue tells running and due work from delayed work', async () => {
  const work = slowWork();
  const { queue, clock } = setUp({ handle: work.handle, maxInFlight: 1 });
  queue.addAfter('later', 100);
  assert.deepEqual([queue.isBusy, queue.works('later')], [false, false]);
  queue.add('a');
  queue.add('b');
  await clock.advance(0);
  assert.deepEqual([queue.isBusy, queue.works('a'), queue.works('b')], [true, true, true]);
  for (let turn = 0; turn < 2; turn++) {
    work.finish();
    await clock.advance(0);
  }
  assert.deepEqual([queue.isBusy, queue.works('a')], [false, false]);
  await queue.close();
});

test('a key that fails comes again after a pause that doubles up to a bound', async () => {
  const at: number[] = [];
  const { queue, clock } = setUp({
    handle: async () => {
      at.push(clock.now());
      if (at.length < 7) throw new Error('not yet');
    },
  });
  queue.add('a');
  await clock.advance(10_000);
  await queue.idle();
  const pauses = at.slice(1).map((time, index) => time - (at[index] ?? 0));
  assert.deepEqual(pauses, [100, 200, 400, 800, 1_000, 1_000]);
});

test('after a success the pauses begin small again', async () => {
  let fail = true;
  const at: number[] = [];
  const { queue, clock } = setUp({
    handle: async () => {
      at.push(clock.now());
      if (fail) throw new Error('no');
    },
  });
  queue.add('a');
  await clock.advance(300);
  fail = false;
  await clock.advance(400);
  fail = true;
  queue.add('a');
  await clock.advance(100);
  assert.deepEqual(at, [0, 100, 300, 700, 700, 800]);
  await queue.close();
});

test('a key that waits after a failure is worked on at once when it is added', async () => {
  const at: number[] = [];
  const { queue, clock } = setUp({
    handle: async () => {
      at.push(clock.now());
      if (at.length === 1) throw new Error('no');
    },
  });
  queue.add('a');
  await clock.advance(10);
  queue.add('a');
  await clock.advance(1_000);
  assert.deepEqual(at, [0, 10]);
});

test('the pause is at least what the server asked for', async () => {
  const at: number[] = [];
  const { queue, clock } = setUp({
    handle: async () => {
      at.push(clock.now());
      if (at.length === 1) throw new ApiError(429, 'TooManyRequests', 'slow down', 7_000);
    },
  });
  queue.add('a');
  await clock.advance(6_999);
  assert.deepEqual(at, [0]);
  await clock.advance(1);
  assert.deepEqual(at, [0, 7_000]);
});

test('a delayed key comes at its earliest time, once', async () => {
  const at: number[] = [];
  const { queue, clock } = setUp({ handle: async () => void at.push(clock.now()) });
  queue.addAfter('a', 500);
  queue.addAfter('a', 200);
  queue.addAfter('a', 900);
  assert.equal(queue.depth, 1);
  await clock.advance(2_000);
  assert.deepEqual(at, [200]);
});

test('all keys together keep to the rate, after a burst', async () => {
  const at: number[] = [];
  const { queue, clock } = setUp({
    handle: async () => void at.push(clock.now()),
    rate: { perSecond: 10, burst: 2 },
  });
  for (const key of ['a', 'b', 'c', 'd']) queue.add(key);
  await clock.advance(1_000);
  assert.deepEqual(at, [0, 0, 100, 200]);
});

test('a forgotten key is not worked on', async () => {
  const seen: string[] = [];
  const { queue, clock } = setUp({ handle: async (key) => void seen.push(key) });
  queue.addAfter('a', 100);
  queue.addAfter('b', 100);
  queue.forget('a');
  await clock.advance(100);
  assert.deepEqual(seen, ['b']);
});

test('closing aborts and awaits running work, and leaves no timer', async () => {
  const told: boolean[] = [];
  const { queue, clock } = setUp({
    handle: async (_key, signal) =>
      await new Promise<void>((resolve) =>
        signal.addEventListener('abort', () => {
          told.push(true);
          resolve();
        }),
      ),
  });
  queue.add('a');
  queue.addAfter('b', 100);
  await clock.advance(0);
  await queue.close();
  assert.deepEqual(told, [true]);
  queue.add('c');
  queue.addAfter('d', 1);
  assert.equal(queue.depth, 0);
  assert.equal(clock.waiting, 0);
});

test('work is counted by its result', async () => {
  const { queue, clock, metrics } = setUp({
    handle: async (key) => {
      if (key === 'bad') throw new Error('no');
    },
  });
  queue.add('good');
  queue.add('bad');
  await clock.advance(0);
  const text = await metrics.expose();
  assert.match(text, /kube_queue_runs_total\{queue="test",result="done"\} 1/);
  assert.match(text, /kube_queue_runs_total\{queue="test",result="failed"\} 1/);
  assert.match(text, /kube_queue_depth\{queue="test"\} 1/);
  await queue.close();
});
