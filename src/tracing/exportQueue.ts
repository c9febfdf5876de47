import { ThrottledLog, type Counter, type Logger, type Metrics } from '../telemetry/index.ts';
import { within } from '../within.ts';
import type { Exporter, PartialSuccess } from './exporter.ts';

/** Items that wait, items of one export, and milliseconds between exports. */
const most = { waiting: 2_048, batch: 512, pauseMs: 1_000, closeMs: 3_000 };

export interface QueueTools {
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** The items of a queue, and their counters. */
export interface Items {
  /** For the log. */
  readonly name: string;
  readonly exported: Counter;
  /** By reason. */
  readonly dropped: Counter;
}

/**
 * Items that wait for their export, one batch at a time. A collector that does not take them costs items, which are
 * counted, and never memory or time of requests.
 */
export class ExportQueue<T> {
  private readonly exporter: Exporter<T>;
  private readonly name: string;
  private readonly log: Logger;
  private readonly failures: ThrottledLog;
  private readonly overflows: ThrottledLog;
  private readonly warnings: ThrottledLog;
  private readonly exported: Counter;
  private readonly dropped: Counter;
  private waiting: T[] = [];
  private timer: NodeJS.Timeout | undefined;
  private underWay: Promise<void> | undefined;
  private closed = false;

  constructor(exporter: Exporter<T>, { name, exported, dropped }: Items, log: Logger) {
    this.exporter = exporter;
    this.name = name;
    this.log = log;
    this.failures = new ThrottledLog(log, `${name} dropped: the collector did not take them`);
    this.overflows = new ThrottledLog(log, `${name} dropped: too many wait for the collector`);
    this.warnings = new ThrottledLog(log, `${name} exported: the collector warns`);
    this.exported = exported;
    this.dropped = dropped;
  }

  add(item: T): void {
    if (this.closed || this.waiting.length >= most.waiting) {
      this.drop();
      return;
    }
    this.waiting.push(item);
    if (this.underWay !== undefined) return;
    if (this.waiting.length >= most.batch) this.next();
    else this.timer ??= setTimeout(() => this.next(), most.pauseMs).unref();
  }

  /** Counts an item that found no place. */
  drop(): void {
    this.dropped.add({ reason: 'queue' }, 1);
    this.overflows.warn({ waiting: this.waiting.length });
  }

  /** Exports the items that wait, for a limited time; the rest is dropped. */
  async shutdown(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    await within(most.closeMs, this.drain());
    clearTimeout(this.timer);
    this.dropRest();
    this.exporter.close('the gateway shut down before the collector answered');
  }

  /** The time for the last exports is over. */
  private dropRest(): void {
    const items = this.waiting.length;
    if (items === 0) return;
    this.waiting = [];
    this.dropped.add({ reason: 'queue' }, items);
    this.log.warn(`${this.name} dropped: the gateway shut down before the collector took them`, { items });
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

  /** The collector answered that it took a batch, or a part of it. */
  private taken(items: number, partial: PartialSuccess | undefined): void {
    const rejected = Math.min(items, partial?.rejected ?? 0);
    if (items > rejected) this.exported.add({}, items - rejected);
    if (partial === undefined) return;
    const { message: reason } = partial;
    if (rejected === 0) {
      this.warnings.warn({ reason });
      return;
    }
    this.dropped.add({ reason: 'rejected' }, rejected);
    this.failures.warn({ items: rejected, reason });
  }

  private export(batch: T[]): Promise<void> {
    return new Promise((resolve) => {
      const failed = (reason: string): void => {
        this.dropped.add({ reason: 'export' }, batch.length);
        this.failures.warn({ items: batch.length, reason });
      };
      try {
        this.exporter.export(batch, (failure, partial) => {
          if (failure === undefined) this.taken(batch.length, partial);
          else failed(failure);
          resolve();
        });
      } catch (error) {
        // The library encodes the batch at once.
        failed(String(error));
        resolve();
      }
    });
  }
}
