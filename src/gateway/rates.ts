import type { Rates } from '../admin/index.ts';
import type { MetricsSnapshot } from '../telemetry/index.ts';

/** The statuses of refusals by policies. */
const refusedStatuses: ReadonlySet<string> = new Set(['401', '403', '429']);

/** Upper bound of a bucket in seconds → requests that took no longer. */
export type Buckets = ReadonlyMap<number, number>;

/** Makes totals and durations of requests out of the metrics of the gateway. @param before durations are those since then */
export function ratesOf(metrics: MetricsSnapshot, before: Buckets): Rates {
  const recent = sinceThen(bucketsOf(metrics), before);
  return {
    ...totalsOf(metrics),
    mcpCalls: totalOf(metrics, 'portcullis_mcp_requests_total'),
    p50Ms: quantile(recent, 0.5),
    p99Ms: quantile(recent, 0.99),
  };
}

/** Requests since the start. */
export function totalsOf(metrics: MetricsSnapshot): Pick<Rates, 'requests' | 'refusals' | 'errors'> {
  const requests = valuesOf(metrics, 'portcullis_requests_total');
  const sum = (wanted: (status: string) => boolean): number =>
    requests.reduce((all, { labels, value }) => (wanted(String(labels['status'])) ? all + value : all), 0);
  return {
    requests: sum(() => true),
    refusals: sum((status) => refusedStatuses.has(status)),
    errors: sum((status) => status >= '500') + totalOf(metrics, 'portcullis_mcp_error_answers_total'),
  };
}

const totalOf = (metrics: MetricsSnapshot, name: string): number =>
  valuesOf(metrics, name).reduce((all, { value }) => all + value, 0);

const valuesOf = (metrics: MetricsSnapshot, name: string): MetricsSnapshot[number]['values'] =>
  metrics.find((metric) => metric.name === name)?.values ?? [];

/** The requests that came after a moment. */
export const sinceThen = (buckets: Buckets, before: Buckets): Buckets =>
  new Map([...buckets].map(([bound, count]) => [bound, Math.max(0, count - (before.get(bound) ?? 0))]));

export function bucketsOf(metrics: MetricsSnapshot): Buckets {
  const buckets = new Map<number, number>();
  for (const { metricName = '', labels, value } of valuesOf(metrics, 'portcullis_request_duration_seconds')) {
    if (!metricName.endsWith('_bucket')) continue;
    const bound = labels['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels['le']);
    buckets.set(bound, (buckets.get(bound) ?? 0) + value);
  }
  return buckets;
}

/** In milliseconds, within a bucket by its share; null without requests. The last bound stands for all that is longer. */
export function quantile(buckets: Buckets, share: number): number | null {
  const sorted = [...buckets].toSorted(([a], [b]) => a - b);
  const total = sorted.at(-1)?.[1] ?? 0;
  if (total === 0) return null;
  let [lower, below] = [0, 0];
  for (const [bound, count] of sorted) {
    if (count >= share * total) {
      if (bound === Number.POSITIVE_INFINITY || count === below) return lower * 1_000;
      return (lower + ((share * total - below) / (count - below)) * (bound - lower)) * 1_000;
    }
    [lower, below] = [bound, count];
  }
  return lower * 1_000;
}
