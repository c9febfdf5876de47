import { AggregatorRegistry } from 'prom-client';
import type { MetricSnapshot, MetricsSnapshot } from './contract.ts';

/**
 * Adds up the metrics of several processes, series by series: counters and histograms by addition, gauges by the rule
 * they name. Where a rule takes one value (`first`), it is that of the first process.
 */
export async function addUp(processes: readonly MetricsSnapshot[]): Promise<MetricsSnapshot> {
  return (await registryOf(processes).getMetricsAsJSON()) as unknown as MetricsSnapshot;
}

/** The sum in the Prometheus text format. */
export async function exposeSum(processes: readonly MetricsSnapshot[]): Promise<string> {
  return await registryOf(processes).metrics();
}

/**
 * The counts that remain of an ended process. A sum that lost it would fall, which readers of counters take for a
 * restart of everything.
 */
export const countsOf = (snapshot: MetricsSnapshot): MetricsSnapshot =>
  snapshot.filter(({ type }) => type === 'counter' || type === 'histogram');

function registryOf(processes: readonly MetricsSnapshot[]): ReturnType<typeof AggregatorRegistry.aggregate> {
  const known = processes.map((snapshot) => snapshot.map(withRule));
  return AggregatorRegistry.aggregate(known as unknown as object[]);
}

/** prom-client leaves the start time out of sums; the tree of processes is as old as its oldest. */
const withRule = (metric: MetricSnapshot): MetricSnapshot =>
  metric.aggregator === 'omit' ? { ...metric, aggregator: 'min' } : metric;
