import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from './metrics.ts';

const bare = () => createMetrics({ process: false });

test('counters, gauges and histograms appear under the prefix in the Prometheus text format', async () => {
  const metrics = bare();
  const requests = metrics.counter('requests_total', 'Requests.', ['route']);
  requests.add({ route: 'a "quoted" one' });
  requests.add({ route: 'a "quoted" one' }, 2);
  metrics.gauge('sessions', 'Sessions.', []).set({}, 7);
  metrics.gauge('sessions', 'Sessions.', []).add({}, -2);
  metrics.histogram('wait_seconds', 'Waiting.', [], [0.1, 1]).observe({}, 0.5);
  const text = await metrics.expose();
  assert.match(text, /^# TYPE portcullis_requests_total counter$/m);
  assert.match(text, /^portcullis_requests_total\{route="a \\"quoted\\" one"\} 3$/m);
  assert.match(text, /^portcullis_sessions 5$/m);
  assert.match(text, /^portcullis_wait_seconds_bucket\{le="0.1"\} 0$/m);
  assert.match(text, /^portcullis_wait_seconds_bucket\{le="1"\} 1$/m);
  assert.match(text, /^portcullis_wait_seconds_count 1$/m);
  assert.match(metrics.contentType, /^text\/plain; version=0\.0\.4/);
});

test('collected metrics are read when asked for, histograms with their suffixes', async () => {
  const metrics = bare();
  let count = 1;
  metrics.collect('requests_total', 'Requests.', 'counter', ['route'], () => [
    { labels: { route: 'a' }, value: count },
  ]);
  metrics.collect('duration_seconds', 'Time.', 'histogram', ['route'], () => [
    { labels: { route: 'a', le: '+Inf' }, value: count, suffix: '_bucket' },
    { labels: { route: 'a' }, value: 0.25, suffix: '_sum' },
    { labels: { route: 'a' }, value: count, suffix: '_count' },
  ]);
  await metrics.expose();
  count = 2;
  const text = await metrics.expose();
  assert.match(text, /^portcullis_requests_total\{route="a"\} 2$/m);
  assert.match(text, /^# TYPE portcullis_duration_seconds histogram$/m);
  assert.match(text, /^portcullis_duration_seconds_bucket\{route="a",le="\+Inf"\} 2$/m);
  assert.match(text, /^portcullis_duration_seconds_sum\{route="a"\} 0.25$/m);
});

test('two readers of one name give each series once, added up', async () => {
  const metrics = bare();
  for (const value of [1, 2])
    metrics.collect('open', 'Open.', 'gauge', ['a', 'b'], () => [
      { labels: value === 1 ? { a: 'x', b: 'y' } : { b: 'y', a: 'x' }, value },
    ]);
  assert.deepEqual(
    (await metrics.expose()).split('\n').filter((line) => line.startsWith('portcullis_open{')),
    ['portcullis_open{a="x",b="y"} 3'],
  );
});

test('a reader that throws is counted and hides nothing else', async () => {
  const metrics = bare();
  metrics.collect('broken', 'Broken.', 'gauge', [], () => {
    throw new Error('no');
  });
  metrics.gauge('fine', 'Fine.', []).set({}, 1);
  await metrics.expose();
  const text = await metrics.expose();
  assert.match(text, /^portcullis_fine 1$/m);
  assert.match(text, /^portcullis_metric_read_failures_total\{metric="portcullis_broken"\} [12]$/m);
});

test('a metric name is registered once: the same metric again, or an error', () => {
  const metrics = bare();
  assert.equal(metrics.counter('n_total', 'N.', ['a']), metrics.counter('n_total', 'N.', ['a']));
  assert.throws(() => metrics.gauge('n_total', 'N.', ['a']), /already a counter/);
  assert.throws(() => metrics.counter('n_total', 'N.', ['b']), /already a counter \(a\)/);
});

test('label values from peers cannot grow a metric without end', async () => {
  const metrics = bare();
  const calls = metrics.counter('calls_total', 'Calls.', ['tool']);
  for (let i = 0; i < 5_000; i++) calls.add({ tool: `tool-${String(i)}` });
  const series = (await metrics.expose())
    .split('\n')
    .filter((line) => line.startsWith('portcullis_calls_total{'));
  assert.equal(series.length, 2_001);
  assert.ok(series.includes('portcullis_calls_total{tool="other"} 3000'));
});

test('the process reports CPU, memory, garbage collection, event loop and descriptors', async () => {
  const text = await createMetrics().expose();
  for (const name of [
    'process_cpu_seconds_total',
    'process_resident_memory_bytes',
    'nodejs_eventloop_lag_p99_seconds',
    'nodejs_gc_duration_seconds',
    'nodejs_heap_size_used_bytes',
  ])
    assert.match(text, new RegExp(`^# TYPE ${name} `, 'm'));
  if (process.platform === 'linux') assert.match(text, /^process_open_fds \d+$/m);
});
