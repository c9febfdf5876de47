import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { memoryLog } from '../../auth/log.testing.ts';
import { until } from '../../until.testing.ts';
import { createMetrics } from '../../telemetry/index.ts';
import { KubeApi } from '../api/api.ts';
import { accessTo } from '../api/localServer.testing.ts';
import { ManualClock } from '../../stream/clock.testing.ts';
import { Election } from './election.ts';
import type { LeaseSpec } from './lease.ts';

interface Bench {
  readonly api: KubeApi;
  lease: { version: number; spec: LeaseSpec } | undefined;
  /** Refuses everything. */
  broken: boolean;
  requests: number;
}

/** A server that holds one Lease. */
async function setUp(t: TestContext): Promise<Bench> {
  const access = await accessTo(t, (request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      bench.requests++;
      const say = (status: number, body: unknown): void => {
        response.writeHead(status);
        response.end(JSON.stringify(body));
      };
      const shown = (): unknown => ({
        metadata: { name: 'l', resourceVersion: String(bench.lease?.version) },
        spec: bench.lease?.spec,
      });
      if (bench.broken) return say(503, {});
      const { lease } = bench;
      if (request.method === 'GET') return lease === undefined ? say(404, {}) : say(200, shown());
      const sent = JSON.parse(text) as { metadata: { resourceVersion?: string }; spec: LeaseSpec };
      if (request.method === 'POST' && lease !== undefined) return say(409, {});
      if (request.method === 'PUT' && sent.metadata.resourceVersion !== String(lease?.version))
        return say(409, {});
      bench.lease = { version: (lease?.version ?? 0) + 1, spec: sent.spec };
      return say(200, shown());
    });
  });
  const bench: Bench = {
    api: new KubeApi({ access, metrics: createMetrics({ process: false }), userAgent: 'test' }),
    lease: undefined,
    broken: false,
    requests: 0,
  };
  return bench;
}

function stand(t: TestContext, bench: Bench, clock: ManualClock, seen: string[]): Election {
  const election = new Election({
    api: bench.api,
    namespace: 'default',
    name: 'l',
    identity: 'us',
    onStartedLeading: () => void seen.push('leads'),
    onStoppedLeading: () => void seen.push('leads no more'),
    log: memoryLog().log,
    metrics: createMetrics({ process: false }),
    pace: { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 },
    clock,
    random: () => 0,
  });
  t.after(async () => await election.close());
  return election;
}

/** Turns the clock to the next try and waits until it is made. */
async function nextTry(bench: Bench, clock: ManualClock): Promise<void> {
  await until('it waits for its next try', () => clock.waiting === 1);
  const { requests } = bench;
  await clock.advance(2_000);
  await until('it has tried', () => bench.requests > requests && clock.waiting === 1);
}

const theirs = (seconds: number, renewTime: string): LeaseSpec => ({
  holderIdentity: 'them',
  leaseDurationSeconds: seconds,
  acquireTime: renewTime,
  renewTime,
  leaseTransitions: 3,
});

test('a lease that looks old by the clock of its holder is not taken before we have seen it rest', async (t) => {
  const bench = await setUp(t);
  const clock = new ManualClock();
  // The clock of its holder stands in 1970, or it ended long ago: one look cannot tell.
  bench.lease = { version: 1, spec: theirs(15, '1970-01-01T00:00:00.000000Z') };
  const seen: string[] = [];
  const election = stand(t, bench, clock, seen);
  // The first look is at 0 s; 14 s later the lease has not rested for 15 s.
  for (let n = 0; n < 7; n++) await nextTry(bench, clock);
  assert.equal(election.isLeader, false);
  assert.equal(bench.lease?.spec.holderIdentity, 'them');
  await nextTry(bench, clock);
  assert.equal(election.isLeader, true);
  assert.equal(bench.lease?.spec.holderIdentity, 'us');
  assert.equal(bench.lease?.spec.leaseTransitions, 4);
});

test('a lease that changes is not taken, whatever times stand in it', async (t) => {
  const bench = await setUp(t);
  const clock = new ManualClock();
  bench.lease = { version: 1, spec: theirs(15, '1970-01-01T00:00:00.000000Z') };
  const election = stand(t, bench, clock, []);
  for (let n = 0; n < 20; n++) {
    // Renewed by a holder whose clock stands.
    if (n % 5 === 0) bench.lease = { version: bench.lease.version + 1, spec: bench.lease.spec };
    await nextTry(bench, clock);
    assert.equal(election.isLeader, false);
  }
});

test('a leader whose lease expired while it slept does not lead when it wakes', async (t) => {
  const bench = await setUp(t);
  const clock = new ManualClock();
  const seen: string[] = [];
  const election = stand(t, bench, clock, seen);
  await until('it leads', () => election.isLeader);
  // The process was stopped for a minute: no timer ran, and the first thing that runs may be a write of the leader.
  await until('it waits', () => clock.waiting === 1);
  clock.sleep(60_000);
  assert.equal(election.isLeader, false);
  assert.deepEqual(seen, ['leads']);
});

test('a leader that cannot renew steps down at its deadline, and leads again when it can', async (t) => {
  const bench = await setUp(t);
  const clock = new ManualClock();
  const seen: string[] = [];
  const election = stand(t, bench, clock, seen);
  await until('it leads', () => election.isLeader);
  bench.broken = true;
  for (let n = 0; n < 4; n++) {
    await nextTry(bench, clock);
    assert.equal(election.isLeader, true);
  }
  await nextTry(bench, clock);
  assert.equal(election.isLeader, false);
  assert.deepEqual(seen, ['leads', 'leads no more']);
  bench.broken = false;
  await nextTry(bench, clock);
  assert.equal(election.isLeader, true);
});

test('the lease is given back at the end', async (t) => {
  const bench = await setUp(t);
  const clock = new ManualClock();
  const seen: string[] = [];
  const election = stand(t, bench, clock, seen);
  await until('it leads', () => election.isLeader);
  await election.close();
  assert.equal(bench.lease?.spec.holderIdentity, '');
  assert.deepEqual(seen, ['leads', 'leads no more']);
  assert.equal(clock.waiting, 0);
});

test('times that could let two lead are refused', async (t) => {
  const bench = await setUp(t);
  for (const [leaseMs, renewDeadlineMs, retryMs] of [
    [10_000, 10_000, 2_000],
    [15_000, 2_000, 2_000],
  ] as const)
    assert.throws(
      () =>
        new Election({
          api: bench.api,
          namespace: 'default',
          name: 'l',
          identity: 'us',
          onStartedLeading: () => {},
          onStoppedLeading: () => {},
          log: memoryLog().log,
          metrics: createMetrics({ process: false }),
          pace: { leaseMs, renewDeadlineMs, retryMs },
        }),
      TypeError,
    );
});
