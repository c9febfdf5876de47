import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace';
import { ThrottledLog, type Counter, type Logger, type Metrics } from '../telemetry/index.ts';

/** Spans that wait, spans of one export, and milliseconds between exports. */
const most = { waiting: 2_048, batch: 512, pauseMs: 1_000, closeMs: 3_000 };

/**
 * Ended spans that wait for their export, one batch at a time. A collector that does not take them costs spans, which
 * are counted, and never memory or time of requests.
 */
export class SpanQueue implements SpanProcessor {
  private readonly exporter: SpanExporter;
  private readonly log: ThrottledLog;
  private readonly exported: Counter;
  private readonly dropped: Counter;
  private waiting: ReadableSpan[] = [];
  private timer: NodeJS.Timeout | undefined;
  private underWay: Promise<void> | undefined;
  private closed = false;

  constructor(exporter: SpanExporter, { log, metrics }: { readonly log: Logger; readonly metrics: Metrics }) {
    this.exporter = exporter;
    this.log = new ThrottledLog(log, 'Spans dropped: the collector did not take them');
    this.exported = metrics.counter('spans_exported_total', 'Spans that the collector has taken.', []);
    this.dropped = metrics.counter(
      'spans_dropped_total',
      'Spans that were not exported: too many waited, or the collector did not take them.',
      ['reason'],
    );
  }

  onStart(): void {
    // Spans are of interest when they have ended.
  }

  onEnd(span: ReadableSpan): void {
    if (this.closed || this.waiting.length >= most.waiting) {
      this.dropped.add({ reason: 'queue' });
      return;
    }
    this.waiting.push(span);
    if (this.underWay !== undefined) return;
    if (this.waiting.length >= most.batch) this.next();
    else this.timer ??= setTimeout(() => this.next(), most.pauseMs).unref();
  }

  forceFlush(): Promise<void> {
    return this.shutdown();
  }

  /** Exports what waits, for a limited time; the rest is dropped. */
  async shutdown(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, most.closeMs);
    });
    await Promise.race([this.drain(), limit]);
    clearTimeout(timer);
    clearTimeout(this.timer);
    if (this.waiting.length > 0) this.dropped.add({ reason: 'queue' }, this.waiting.length);
    this.waiting = [];
    // The exporter would wait for a collector that does not answer.
    this.exporter.shutdown().catch(() => undefined);
  }

  private async drain(): Promise<void> {
    await this.underWay;
    while (this.waiting.length > 0) {
      this.next();
      await this.underWay;
    }
  }

  private next(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const batch = this.waiting.splice(0, most.batch);
    if (batch.length === 0) return;
    this.underWay = this.export(batch).then(() => {
      this.underWay = undefined;
      if (this.waiting.length === 0 || this.closed) return;
      this.timer ??= setTimeout(() => this.next(), most.pauseMs).unref();
    });
  }

  private export(batch: ReadableSpan[]): Promise<void> {
    return new Promise((resolve) => {
      this.exporter.export(batch, ({ code, error }) => {
        if (code === 0) this.exported.add({}, batch.length);
        else {
          this.dropped.add({ reason: 'export' }, batch.length);
          this.log.warn({ spans: batch.length, reason: error?.message });
        }
        resolve();
      });
    });
  }
}
