import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from './metrics.ts';
import { addUp, countsOf, exposeSum } from './metricsSum.ts';

/** A process that has served `n` requests; `level` is what its gauges say. */
function processOf(n: number, level: number) {
  const metrics = createMetrics({ process: false });
  const one = (value: number) => () => [{ labels: {}, value }];
  metrics.counter('requests_total', 'Requests.', ['route']).add({ route: 'a' }, n);
  const seconds = metrics.histogram('seconds', 'Time.', [], [1, 2]);
  for (let i = 0; i < n; i++) seconds.observe({}, 1.5);
  metrics.collect('open', 'Open.', 'gauge', [], one(level));
  metrics.collect('worst', 'Worst.', 'gauge', [], one(level), 'max');
  metrics.collect('ready', 'Ready.', 'gauge', [], one(level), 'min');
  metrics.collect('collected_total', 'Collected.', 'counter', [], one(n));
  // It arrives as plain data.
  return metrics.snapshot().then((snapshot) => structuredClone(snapshot));
}

test('counters and histograms of several processes are added up, gauges by the rule of each', async () => {
  const text = await exposeSum([await processOf(3, 1), await processOf(4, 0)]);
  for (const line of [
    'portcullis_requests_total{route="a"} 7',
    'portcullis_seconds_bucket{le="1"} 0',
    'portcullis_seconds_bucket{le="2"} 7',
    'portcullis_seconds_bucket{le="+Inf"} 7',
    'portcullis_seconds_sum 10.5',
    'portcullis_seconds_count 7',
    'portcullis_open 1',
    'portcullis_worst 1',
    'portcullis_ready 0',
    'portcullis_collected_total 7',
  ])
    assert.ok(text.split('\n').includes(line), `${line} is missing in\n${text}`);
});

test('the counts of an ended process stay, and its gauges go', async () => {
  const gone = countsOf(await processOf(3, 1));
  const kept = await addUp([gone, countsOf(await processOf(2, 1))]);
  const text = await exposeSum([await processOf(4, 5), kept]);
  assert.match(text, /^portcullis_requests_total\{route="a"\} 9$/m);
  assert.match(text, /^portcullis_seconds_count 9$/m);
  assert.match(text, /^portcullis_open 5$/m);
});

test('metrics of the process itself have a sum, too', async () => {
  const snapshot = structuredClone(await createMetrics().snapshot());
  const text = await exposeSum([snapshot, snapshot]);
  assert.match(text, /^process_start_time_seconds \d+$/m);
  assert.match(text, /^process_cpu_seconds_total \d/m);
  assert.match(text, /^nodejs_version_info\{.*\} 1$/m);
});
