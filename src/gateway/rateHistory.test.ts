import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from '../telemetry/index.ts';
import { RateHistory } from './rateHistory.ts';

/** The history of a gateway, its counters, and its clock. */
function stage() {
  const metrics = createMetrics({ process: false });
  const counts = { served: 10, failed: 0 };
  metrics.collect('requests_total', 'h', 'counter', ['status'], () => [
    { labels: { status: '200' }, value: counts.served },
    { labels: { status: '502' }, value: counts.failed },
  ]);
  metrics.collect('request_duration_seconds', 'h', 'histogram', ['le'], () => [
    { labels: { le: '0.01' }, value: counts.served, suffix: '_bucket' },
    { labels: { le: '+Inf' }, value: counts.served, suffix: '_bucket' },
    { labels: {}, value: 1, suffix: '_sum' },
    { labels: {}, value: counts.served, suffix: '_count' },
  ]);
  const clock = { now: 1_000 };
  const history = new RateHistory(
    () => metrics.snapshot(),
    () => clock.now,
  );
  return { metrics, counts, clock, history };
}

test('samples have the rates and durations since the sample before, and the oldest ones go', async () => {
  const { history, counts, clock } = stage();
  await history.take();
  assert.equal(history.samples.length, 0, 'one reading tells no rate');
  clock.now = 3_000;
  counts.served = 30;
  counts.failed = 1;
  await history.take();
  clock.now = 5_000;
  await history.take();
  assert.deepEqual(history.samples, [
    { at: 3_000, requests: 10.5, refusals: 0, errors: 0.5, p50Ms: 5, p99Ms: 9.9 },
    { at: 5_000, requests: 0, refusals: 0, errors: 0, p50Ms: null, p99Ms: null },
  ]);
  counts.served = 0;
  clock.now = 7_000;
  await history.take();
  assert.equal(history.samples.at(-1)?.requests, 0, 'a counter that begins anew gives no rate below zero');
  for (let nth = 0; nth < 200; nth++) {
    clock.now += 2_000;
    await history.take();
  }
  assert.equal(history.samples.length, 150);
  assert.equal(history.samples.at(-1)?.at, clock.now);
});

test('the durations of now are those of the last half minute, however long nobody has asked', async () => {
  const { metrics, history, counts, clock } = stage();
  const median = async () => history.ratesOf(await metrics.snapshot()).p50Ms;
  assert.equal(await median(), 5, 'all requests count before the first reading');
  await history.take();
  assert.equal(await median(), null);
  clock.now += 3_600_000;
  await history.take();
  assert.equal(await median(), null);
  counts.served += 5;
  clock.now += 2_000;
  await history.take();
  clock.now += 29_000;
  assert.equal(await median(), 5, 'the reading before the requests is 31 seconds old');
  clock.now += 2_000;
  assert.equal(await median(), null, 'the reading after the requests is 31 seconds old');
});
