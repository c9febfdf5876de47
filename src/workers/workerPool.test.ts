import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { test } from 'node:test';
import { createLogger } from '../telemetry/index.ts';
import { MemoryDestination } from '../telemetry/memory.testing.ts';
import { WorkerPool } from './workerPool.ts';
import { WorkerSlot } from './workerSlot.ts';
import { Sockets } from './sockets.ts';
import type { WorkerProcess } from './workerProcess.ts';

const nothing = { write: () => undefined };

test('a place that waits for its next try is no worker that hangs', async (t) => {
  const destination = new MemoryDestination();
  const log = createLogger({ level: 'info', format: 'text', destination });
  const killed: number[] = [];
  /** The crew's view of a process that has been silent for an hour. */
  const silent = (pid: number) =>
    ({
      pid,
      busy: false,
      seenAt: performance.now() - 3_600_000,
      kill: () => void killed.push(pid),
      askForLife: () => undefined,
    }) as unknown as WorkerProcess;
  const places = (['waiting', 'serving'] as const).map((state, index) =>
    Object.assign(new WorkerSlot(index + 1), { state, process: silent(index + 1) }),
  );
  const crew = new WorkerPool({
    slots: places,
    sockets: new Sockets(2),
    out: nothing,
    err: nothing,
    withheld: () => [],
    records: () => undefined,
    counter: () => Promise.resolve(''),
    log,
    pace: { checkMs: 10, hangMs: 1_000, busyMs: 1_000 },
    model: () => assert.fail('nobody starts'),
    startOf: () => assert.fail('nobody starts'),
    relayPathOf: () => '',
    onLost: () => undefined,
  });
  t.after(() => {
    crew.stop();
    log.close();
  });
  // They are looked at in this order.
  while (killed.length === 0) await delay(5);
  assert.deepEqual([...new Set(killed)], [2]);
  assert.match(destination.text, /Worker unresponsive; killed worker=2 pid=2 silentMs=\d+/);
  assert.doesNotMatch(destination.text, /worker=1/);
});
