import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry, type Metric } from 'prom-client';
import type * as contract from './contract.ts';

const prefix = 'portcullis_';

/**
 * Label values can come from a peer (a tool's name, a method). Beyond this many series of one metric the values
 * are folded into one series, so that a peer cannot grow the process.
 */
const maxSeries = 2_000;
const folded = 'other';

export interface MetricsOptions {
  /** CPU, memory, garbage collection, event loop lag and file descriptors; on unless switched off. */
  readonly process?: boolean;
}

type Labels = contract.Labels;
type Kind = 'counter' | 'gauge' | 'histogram';
type Read = () => Iterable<contract.Sample>;

/** The functions of a metric that prom-client's registry calls. */
interface CollectedValues {
  readonly name: string;
  readonly help: string;
  readonly type: Kind;
  readonly aggregator: contract.AcrossProcesses;
  readonly values: readonly { metricName: string; labels: Labels; value: number }[];
}

/** Series of one metric that were seen; `fold` gives the labels to use. */
class SeriesLimit {
  readonly #names: readonly string[];
  readonly #seen = new Set<string>();

  constructor(names: readonly string[]) {
    this.#names = names;
  }

  fold(labels: Labels): Labels {
    if (this.#names.length === 0) return labels;
    let key = '';
    for (const name of this.#names) key += `${labels[name] ?? ''}\n`;
    if (this.#seen.has(key)) return labels;
    if (this.#seen.size < maxSeries) {
      this.#seen.add(key);
      return labels;
    }
    return Object.fromEntries(this.#names.map((name) => [name, folded]));
  }
}

/** The same for equal labels in any order. */
const seriesKey = (suffix: string, labels: Labels): string =>
  JSON.stringify([
    suffix,
    ...Object.keys(labels)
      .toSorted()
      .map((name) => [name, labels[name]]),
  ]);

/** A metric whose numbers live elsewhere and are read when somebody asks. */
class CollectedMetric {
  readonly name: string;
  readonly help: string;
  readonly type: Kind;
  readonly labels: readonly string[];
  readonly #readers: Read[] = [];
  readonly #across: contract.AcrossProcesses;
  readonly #failed: (name: string) => void;

  constructor(
    name: string,
    help: string,
    type: Kind,
    labels: readonly string[],
    across: contract.AcrossProcesses,
    failed: (name: string) => void,
  ) {
    this.name = name;
    this.help = help;
    this.type = type;
    this.labels = labels;
    this.#across = across;
    this.#failed = failed;
  }

  join(read: Read): void {
    this.#readers.push(read);
  }

  /** Called by the registry. Equal series of several readers are added up, since a series may appear only once. */
  get(): CollectedValues {
    const values = new Map<string, { metricName: string; labels: Labels; value: number }>();
    for (const read of this.#readers) {
      try {
        for (const { labels, value, suffix = '' } of read()) {
          const key = seriesKey(suffix, labels);
          const known = values.get(key);
          if (known === undefined) values.set(key, { metricName: this.name + suffix, labels, value });
          else known.value += value;
        }
      } catch {
        // A broken reader must not hide every other metric.
        this.#failed(this.name);
      }
    }
    return {
      name: this.name,
      help: this.help,
      type: this.type,
      aggregator: this.#across,
      values: [...values.values()],
    };
  }

  /** prom-client calls it on `registry.resetMetrics()`; the numbers are not ours to reset. */
  reset(): void {}
}

class PrometheusMetrics implements contract.Metrics {
  readonly #registry = new Registry();
  readonly #known = new Map<string, { readonly kind: string; readonly metric: unknown }>();

  constructor(options: MetricsOptions) {
    // Each sample of the event loop's delay wakes an idle process.
    if (options.process !== false)
      collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: 100 });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  counter(name: string, help: string, labels: readonly string[]): contract.Counter {
    return this.#once('counter', name, labels, (fullName) => {
      const counter = new Counter({
        name: fullName,
        help,
        labelNames: [...labels],
        registers: [this.#registry],
      });
      const limit = new SeriesLimit(labels);
      return { add: (values: Labels, n = 1) => counter.inc(limit.fold(values), n) };
    });
  }

  gauge(name: string, help: string, labels: readonly string[]): contract.Gauge {
    return this.#once('gauge', name, labels, (fullName) => {
      const gauge = new Gauge({ name: fullName, help, labelNames: [...labels], registers: [this.#registry] });
      const limit = new SeriesLimit(labels);
      return {
        set: (values: Labels, value: number) => gauge.set(limit.fold(values), value),
        add: (values: Labels, n: number) => gauge.inc(limit.fold(values), n),
      };
    });
  }

  histogram(
    name: string,
    help: string,
    labels: readonly string[],
    buckets: readonly number[],
  ): contract.Histogram {
    return this.#once('histogram', name, labels, (fullName) => {
      const histogram = new Histogram({
        name: fullName,
        help,
        labelNames: [...labels],
        buckets: [...buckets],
        registers: [this.#registry],
      });
      const limit = new SeriesLimit(labels);
      return { observe: (values: Labels, seconds: number) => histogram.observe(limit.fold(values), seconds) };
    });
  }

  collect(
    name: string,
    help: string,
    type: Kind,
    labels: readonly string[],
    read: Read,
    across: contract.AcrossProcesses = 'sum',
  ): void {
    const metric = this.#once(`collected ${type}`, name, labels, (fullName) => {
      const collected = new CollectedMetric(fullName, help, type, labels, across, (failed) =>
        this.#readFailed(failed),
      );
      // The registry uses a metric's name and `get`, nothing else of its class.
      this.#registry.registerMetric(collected as unknown as Metric);
      return collected;
    });
    metric.join(read);
  }

  async expose(): Promise<string> {
    return await this.#registry.metrics();
  }

  async snapshot(): Promise<contract.MetricsSnapshot> {
    return (await this.#registry.getMetricsAsJSON()) as unknown as contract.MetricsSnapshot;
  }

  #readFailed(metric: string): void {
    this.counter('metric_read_failures_total', 'Metrics that could not be read when asked for.', [
      'metric',
    ]).add({ metric });
  }

  /** The metric of that name, made at the first call. @throws Error when the name is in use for something else. */
  #once<T>(kind: string, name: string, labels: readonly string[], make: (fullName: string) => T): T {
    const signature = `${kind} (${labels.join(', ')})`;
    const known = this.#known.get(name);
    if (known === undefined) {
      const metric = make(prefix + name);
      this.#known.set(name, { kind: signature, metric });
      return metric;
    }
    if (known.kind !== signature)
      throw new Error(`metric ${name} is already a ${known.kind}, not a ${signature}`);
    // The signature is equal, so `make` would have given the same type.
    return known.metric as T;
  }
}

/** A registry of its own with Prometheus metrics named `portcullis_…`, and `process_…`/`nodejs_…` of the process. */
export const createMetrics = (options: MetricsOptions = {}): contract.Metrics =>
  new PrometheusMetrics(options);
