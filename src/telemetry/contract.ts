/** The small functions everyone may call; the libraries behind them are telemetry's own business. */

import type { DecidedBy } from '../errors.ts';

export type Fields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface Logger {
  debug(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
  /** A logger that adds these fields to every line. */
  child(fields: Fields): Logger;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
export type LogFormat = 'json' | 'text';

/** The logger of the process; whoever made it closes it. */
export interface RootLogger extends Logger {
  readonly level: LogLevel;
  /** Takes effect at once, for its children too. */
  setLevel(level: LogLevel): void;
  /** Writes out what is left. */
  close(): void;
}

/** Label name → value. */
export type Labels = Readonly<Record<string, string>>;

export interface Counter {
  add(labels: Labels, n?: number): void;
}

export interface Gauge {
  set(labels: Labels, value: number): void;
  add(labels: Labels, n: number): void;
}

export interface Histogram {
  observe(labels: Labels, seconds: number): void;
}

/** A sample of a collected metric; `suffix` is `_bucket`, `_sum` or `_count` for histograms. */
export interface Sample {
  readonly labels: Labels;
  readonly value: number;
  readonly suffix?: string;
}

/** The way to join a series of several processes: counters and histograms are always added up. */
export type AcrossProcesses = 'sum' | 'min' | 'max';

/** All metrics of a process at one moment, as plain data that can be sent to another. */
export type MetricsSnapshot = readonly MetricSnapshot[];

export interface MetricSnapshot {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  /** A rule of prom-client: `sum`, `min`, `max`, `average` or `first`. */
  readonly aggregator: string;
  readonly values: readonly {
    readonly value: number;
    readonly labels: Readonly<Record<string, string | number>>;
    /** The name of a series that differs from its metric: `…_bucket`. */
    readonly metricName?: string;
  }[];
}

/**
 * Metrics of the process. Names come without the prefix `portcullis_`. Asking twice for a name gives the same metric.
 * The hot path keeps plain numbers and hands them over with `collect`, which runs only when /metrics is read.
 */
export interface Metrics {
  counter(name: string, help: string, labels: readonly string[]): Counter;
  gauge(name: string, help: string, labels: readonly string[]): Gauge;
  histogram(name: string, help: string, labels: readonly string[], buckets: readonly number[]): Histogram;
  collect(
    name: string,
    help: string,
    type: 'counter' | 'gauge' | 'histogram',
    labels: readonly string[],
    read: () => Iterable<Sample>,
    /** For gauges; `sum` unless given. */
    across?: AcrossProcesses,
  ): void;
  /** Prometheus text exposition format. */
  expose(): Promise<string>;
  snapshot(): Promise<MetricsSnapshot>;
  readonly contentType: string;
}

/** A finished request, for the access log. Absent parts are undefined. */
export interface AccessRecord {
  readonly time: number;
  readonly durationMs: number;
  readonly method: string;
  readonly host: string;
  /** Path only: a query may carry secrets. */
  readonly path: string;
  readonly status: number;
  readonly requestBytes: number;
  readonly responseBytes: number;
  readonly client: string;
  readonly requestId: string;
  readonly traceparent: string | undefined;
  readonly bind: string;
  readonly listener: string | undefined;
  readonly route: string | undefined;
  /** `host:port` or the MCP backend's key. */
  readonly backend: string | undefined;
  readonly upstreamMs: number | undefined;
  readonly subject: string | undefined;
  /** Code of the catalogue when the gateway answered with an error, and its log-only detail. */
  readonly error: string | undefined;
  readonly reason: string | undefined;
  /** The policy and the rule that answered or refused the request, with their place in the configuration. */
  readonly decidedBy: DecidedBy | undefined;
  /** Fields that the configuration adds: JSON data. */
  readonly added: Readonly<Record<string, string | number | boolean | object>> | undefined;
  readonly extra: Readonly<Record<string, string | number>> | undefined;
}

export interface AccessLog {
  write(record: AccessRecord): void;
  close(): void;
}
