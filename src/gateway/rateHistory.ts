import type { Rates, RateSample } from '../admin/index.ts';
import type { MetricsSnapshot } from '../telemetry/index.ts';
import { bucketsOf, quantile, ratesOf, sinceThen, totalsOf, type Buckets } from './rates.ts';

/** Five minutes at one sample in two seconds. */
const mostSamples = 150;
const periodMs = 2_000;
/** Samples of a gateway with very many routes take long: it reads them less often. */
const restFactor = 100;
/** Durations of now are those of requests since so many milliseconds. */
const recentMs = 30_000;

interface Reading extends ReturnType<typeof totalsOf> {
  readonly at: number;
  readonly buckets: Buckets;
}

/** The rates and durations of the last minutes, so that a chart has a past when a page opens. */
export class RateHistory {
  private readonly counts: () => Promise<MetricsSnapshot>;
  private readonly now: () => number;
  private readonly kept: RateSample[] = [];
  /** Readings of the last `recentMs`, and the one before them. */
  private readonly recent: Reading[] = [];
  private timer: NodeJS.Timeout | undefined;
  private closed = false;

  /** @param now milliseconds since the epoch */
  constructor(counts: () => Promise<MetricsSnapshot>, now: () => number = Date.now) {
    this.counts = counts;
    this.now = now;
  }

  /** The oldest sample comes first. */
  get samples(): readonly RateSample[] {
    return this.kept;
  }

  /** The rates of now. @param metrics as the gateway has them now */
  ratesOf(metrics: MetricsSnapshot): Rates {
    this.forget(this.now());
    return ratesOf(metrics, this.recent[0]?.buckets ?? new Map());
  }

  start(): void {
    if (this.closed) return;
    this.timer = setTimeout(() => void this.run(), periodMs).unref();
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
  }

  private async run(): Promise<void> {
    const begin = performance.now();
    await this.take().catch(() => undefined);
    if (this.closed) return;
    const rest = Math.max(periodMs, (performance.now() - begin) * restFactor);
    this.timer = setTimeout(() => void this.run(), rest).unref();
  }

  /** Takes a sample of the time since the last one. */
  async take(): Promise<void> {
    const metrics = await this.counts();
    const reading: Reading = { at: this.now(), ...totalsOf(metrics), buckets: bucketsOf(metrics) };
    const last = this.recent.at(-1);
    this.recent.push(reading);
    this.forget(reading.at);
    if (last === undefined || reading.at <= last.at) return;
    const seconds = (reading.at - last.at) / 1_000;
    // The counters of a worker that was replaced begin at zero.
    const rate = (name: 'requests' | 'refusals' | 'errors'): number =>
      rounded(Math.max(0, reading[name] - last[name]) / seconds);
    const buckets = sinceThen(reading.buckets, last.buckets);
    this.kept.push({
      at: reading.at,
      requests: rate('requests'),
      refusals: rate('refusals'),
      errors: rate('errors'),
      p50Ms: rounded(quantile(buckets, 0.5)),
      p99Ms: rounded(quantile(buckets, 0.99)),
    });
    if (this.kept.length > mostSamples) this.kept.shift();
  }

  private forget(now: number): void {
    while (now - (this.recent[1]?.at ?? now) >= recentMs) this.recent.shift();
  }
}

const rounded = <Value extends number | null>(value: Value): Value =>
  (value === null ? value : Math.round(value * 100) / 100) as Value;
