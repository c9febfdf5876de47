import assert from 'node:assert/strict';
import { test } from 'node:test';
import { workerCount } from './count.ts';
import type { PlaneView } from './contract.ts';
import { WorkerSlot } from './workerSlot.ts';
import { mergeViews } from './views.ts';

const GiB = 1_024 ** 3;

test('auto is a worker for each processor, as far as the memory goes, and a number is that number', () => {
  assert.equal(workerCount('auto', { processors: 8, memory: 16 * GiB }), 8);
  assert.equal(workerCount('auto', { processors: 8, memory: GiB / 2 }), 2);
  assert.equal(workerCount('auto', { processors: 1, memory: 16 * GiB }), 1);
  assert.equal(workerCount('auto', { processors: 8, memory: GiB / 8 }), 1);
  assert.equal(workerCount(3, { processors: 1, memory: GiB / 8 }), 3);
  assert.ok(workerCount('auto') >= 1);
});

test('a worker that dies once is replaced at once, one that dies over and over ever later', () => {
  const place = new WorkerSlot(1);
  assert.deepEqual(
    Array.from({ length: 10 }, () => place.processEnded(5_000)),
    [0, 250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000],
  );
  assert.equal(place.processEnded(3_600_000), 0);
  assert.equal(place.restarts, 11);
  assert.equal(place.view.pid, undefined);
});

const viewOf = (part: Partial<PlaneView>): PlaneView => ({
  binds: [],
  closedPorts: [],
  brokenRoutes: [],
  certificates: [],
  keySets: [],
  mcp: { sessions: [], children: 0, hidden: [], circuits: [], failedStarts: [] },
  workers: [],
  ...part,
});

const sessionOf = (label: string): PlaneView['mcp']['sessions'][number] => ({
  label,
  backend: 'mcp',
  principal: undefined,
  protocolVersion: '2025-11-25',
  client: undefined,
  createdAt: 1,
  resumed: false,
  lastUsedAt: 2,
  attached: false,
  streams: 0,
  held: 0,
  pressed: false,
  targets: [],
});

test('merged views add up connections and show the worst state of keys and certificates', () => {
  const certificate = (state: 'ready' | 'stale'): PlaneView['certificates'][number] => ({
    certificate: 'a.pem',
    state,
    problem: state === 'ready' ? undefined : 'no such file',
    expiresAt: 1,
  });
  const keys = (state: 'ready' | 'waiting', count: number): PlaneView['keySets'][number] => ({
    source: 'http://idp/keys',
    keys: count,
    state,
    problem: undefined,
  });
  const place = { backend: 'b', target: 't' };
  const hidden = { ...place, kind: 'tool', name: 'a', owner: 'o' } as const;
  const circuit = { ...place, retryAt: 1, reason: 'x' };
  const failedStart = { ...place, at: 1, reason: 'x', stderr: [] };
  const merged = mergeViews(
    [
      [
        1,
        viewOf({
          binds: [{ key: '80', port: 80, connections: 2 }],
          brokenRoutes: [{ route: 'a', problem: 'x' }],
          certificates: [certificate('ready')],
          keySets: [keys('ready', 3)],
          mcp: {
            sessions: [sessionOf('one')],
            children: 1,
            hidden: [hidden],
            circuits: [circuit],
            failedStarts: [],
          },
        }),
      ],
      [
        2,
        viewOf({
          binds: [{ key: '80', port: 80, connections: 5 }],
          brokenRoutes: [{ route: 'a', problem: 'x' }],
          certificates: [certificate('stale')],
          keySets: [keys('waiting', 0)],
          mcp: {
            sessions: [sessionOf('two')],
            children: 2,
            hidden: [hidden],
            circuits: [],
            failedStarts: [failedStart],
          },
        }),
      ],
    ],
    [{ worker: 1, state: 'serving', pid: 1, restarts: 0 }],
  );
  assert.deepEqual(merged, {
    workers: [{ worker: 1, state: 'serving', pid: 1, restarts: 0 }],
    binds: [{ key: '80', port: 80, connections: 7 }],
    closedPorts: [],
    brokenRoutes: [{ route: 'a', problem: 'x' }],
    certificates: [certificate('stale')],
    keySets: [keys('waiting', 0)],
    mcp: {
      sessions: [
        { worker: 1, ...sessionOf('one') },
        { worker: 2, ...sessionOf('two') },
      ],
      children: 3,
      hidden: [hidden],
      circuits: [circuit],
      failedStarts: [failedStart],
    },
  });
});
