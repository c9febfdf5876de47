import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from '../telemetry/index.ts';
import { bucketsOf, ratesOf, type Buckets } from './rates.ts';

/** Metrics as the data plane has them: requests by status, and how many of them took no longer than a bound. */
function stage() {
  const metrics = createMetrics({ process: false });
  const counts = { statuses: new Map<string, number>(), fast: 0, slow: 0, failed: 0 };
  metrics.collect('requests_total', 'h', 'counter', ['route', 'status'], () =>
    [...counts.statuses].map(([status, value]) => ({ labels: { route: 'r', status }, value })),
  );
  metrics.collect('mcp_requests_total', 'h', 'counter', ['method'], () => [
    { labels: { method: 'tools/call' }, value: 4 },
    { labels: { method: 'tools/list' }, value: 3 },
  ]);
  metrics.collect('mcp_error_answers_total', 'h', 'counter', [], () => [
    { labels: {}, value: counts.failed },
  ]);
  metrics.collect('request_duration_seconds', 'h', 'histogram', ['route', 'le'], () => {
    const { fast, slow } = counts;
    return [
      { labels: { route: 'r', le: '0.01' }, value: fast, suffix: '_bucket' },
      { labels: { route: 'r', le: '0.1' }, value: fast, suffix: '_bucket' },
      { labels: { route: 'r', le: '1' }, value: fast + slow, suffix: '_bucket' },
      { labels: { route: 'r', le: '+Inf' }, value: fast + slow, suffix: '_bucket' },
      { labels: { route: 'r' }, value: 1, suffix: '_sum' },
      { labels: { route: 'r' }, value: fast + slow, suffix: '_count' },
    ];
  });
  return { metrics, counts };
}

test('totals tell refusals and errors from other requests', async () => {
  const { metrics, counts } = stage();
  for (const [status, count] of [
    ['200', 5],
    ['0', 1],
    ['401', 1],
    ['403', 2],
    ['429', 4],
    ['404', 1],
    ['500', 8],
    ['503', 16],
  ] as const)
    counts.statuses.set(status, count);
  counts.failed = 2;
  const rates = ratesOf(await metrics.snapshot(), new Map());
  assert.deepEqual(rates, { requests: 38, refusals: 7, errors: 26, mcpCalls: 7, p50Ms: null, p99Ms: null });
});

test('durations are those of requests after a moment', async () => {
  const { metrics, counts } = stage();
  const durations = async (before: Buckets) => {
    const { p50Ms, p99Ms } = ratesOf(await metrics.snapshot(), before);
    return [p50Ms, p99Ms].map((ms) => ms && Math.round(ms));
  };
  counts.fast = 100;
  assert.deepEqual(await durations(new Map()), [5, 10]);
  counts.slow = 100;
  assert.deepEqual(await durations(new Map()), [10, 982]);
  const before = bucketsOf(await metrics.snapshot());
  assert.deepEqual(await durations(before), [null, null]);
  counts.slow = 110;
  assert.deepEqual(await durations(before), [550, 991]);
});
