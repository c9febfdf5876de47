import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from '../telemetry/index.ts';
import { RateHistory } from './rateHistory.ts';

test('samples have the rates and durations since the sample before, and the oldest ones go', async () => {
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
  let now = 1_000;
  const history = new RateHistory(
    () => metrics.snapshot(),
    () => now,
  );
  await history.take();
  assert.equal(history.samples.length, 0, 'one reading tells no rate');
  now = 3_000;
  counts.served = 30;
  counts.failed = 1;
  await history.take();
  now = 5_000;
  await history.take();
  assert.deepEqual(history.samples, [
    { at: 3_000, requests: 10.5, refusals: 0, errors: 0.5, p50Ms: 5, p99Ms: 9.9 },
    { at: 5_000, requests: 0, refusals: 0, errors: 0, p50Ms: null, p99Ms: null },
  ]);
  counts.served = 0;
  now = 7_000;
  await history.take();
  assert.equal(history.samples.at(-1)?.requests, 0, 'a counter that begins anew gives no rate below zero');
  for (let nth = 0; nth < 200; nth++) {
    now += 2_000;
    await history.take();
  }
  assert.equal(history.samples.length, 150);
  assert.equal(history.samples.at(-1)?.at, now);
});
