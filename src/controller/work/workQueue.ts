import { messageOf } from '../../errorText.ts';
import { backoffMs, systemClock, type BackoffOptions, type Clock, type Random } from '../../stream/index.ts';
import type { Logger, Metrics } from '../../telemetry/index.ts';
import { ApiError } from '../api/apiError.ts';
import { TokenBucket, type Rate } from './tokenBucket.ts';

export interface WorkQueueOptions {
  /** For logs and metrics. */
  readonly name: string;
  /** Does the work of a key. A rejection is logged, and the key comes again after a pause. */
  readonly handle: (key: string, signal: AbortSignal) => Promise<void>;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Asked each time where it changes; at least one then. */
  readonly maxInFlight?: number | (() => number);
  /** Whether a key is worked on before those of which this is not so. */
  readonly goesFirst?: (key: string) => boolean;
  readonly backoff?: BackoffOptions;
  /** For all keys together. */
  readonly rate?: Rate;
  readonly clock?: Clock;
  readonly random?: Random;
}

/**
 * Work by key. A key is worked on once at a time; one that is added while it waits is worked on once, and one that
 * is added while it is worked on is worked on again. Keys come in the order they were first added, but for those that
 * go first.
 */
export class WorkQueue {
  readonly #options: Required<Omit<WorkQueueOptions, 'rate' | 'metrics'>>;
  readonly #bucket: TokenBucket | undefined;
  /** Keys that can be worked on: those that go first, and the others. */
  readonly #first = new Set<string>();
  readonly #others = new Set<string>();
  readonly #running = new Map<string, Promise<void>>();
  /** Added again while they run. */
  readonly #dirty = new Set<string>();
  readonly #delayed = new Map<string, { readonly at: number; readonly cancel: () => void }>();
  /** Key → failures in a row. */
  readonly #failures = new Map<string, number>();
  readonly #ended = new AbortController();
  readonly #count: (result: 'done' | 'failed') => void;
  #idle: (() => void)[] = [];
  #refill: (() => void) | undefined;

  constructor(options: WorkQueueOptions) {
    const { rate, metrics, ...rest } = options;
    this.#options = {
      maxInFlight: 4,
      goesFirst: () => false,
      backoff: { firstMs: 200, maxMs: 60_000 },
      clock: systemClock,
      random: Math.random,
      ...rest,
    };
    this.#bucket = rate === undefined ? undefined : new TokenBucket(rate, this.#options.clock);
    const queue = options.name;
    const runs = metrics.counter('kube_queue_runs_total', 'Work done by a queue of the controller', [
      'queue',
      'result',
    ]);
    this.#count = (result) => runs.add({ queue, result });
    metrics.collect(
      'kube_queue_depth',
      'Keys that wait in a queue of the controller',
      'gauge',
      ['queue'],
      () => [{ labels: { queue }, value: this.depth }],
    );
  }

  /** Keys that wait, those that wait for their time among them. */
  get depth(): number {
    return this.#first.size + this.#others.size + this.#delayed.size + this.#dirty.size;
  }

  /** Is a key worked on, or about to be? Not those that wait for their time. */
  get isBusy(): boolean {
    return this.#first.size + this.#others.size + this.#running.size > 0;
  }

  /** Is this key worked on, or about to be? */
  works(key: string): boolean {
    return this.#running.has(key) || this.#ready(key).has(key);
  }

  /** Adds a key now, also one that waits for its time: something has changed, so the old reason to wait may be gone. */
  add(key: string): void {
    if (this.#ended.signal.aborted) return;
    this.#undelay(key);
    if (this.#running.has(key)) this.#dirty.add(key);
    else this.#ready(key).add(key);
    this.#pump();
  }

  /** Adds a key after a time, or earlier if it is already due earlier. */
  addAfter(key: string, ms: number): void {
    if (this.#ended.signal.aborted || this.#ready(key).has(key) || this.#dirty.has(key)) return;
    const { clock } = this.#options;
    const at = clock.now() + ms;
    const before = this.#delayed.get(key);
    if (before !== undefined && before.at <= at) return;
    before?.cancel();
    this.#delayed.set(key, { at, cancel: clock.after(ms, () => this.add(key)) });
  }

  /** Takes a key out if it waits, and forgets its failures. */
  forget(key: string): void {
    this.#undelay(key);
    this.#ready(key).delete(key);
    this.#dirty.delete(key);
    this.#failures.delete(key);
    this.#settle();
  }

  /** Resolves when nothing runs and nothing waits, keys that wait for their time among them. */
  async idle(): Promise<void> {
    if (this.depth + this.#running.size === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Takes no more, lets go of what waits, and resolves when what runs has ended (its signal tells it to). */
  async close(): Promise<void> {
    this.#ended.abort();
    this.#refill?.();
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
    this.#first.clear();
    this.#others.clear();
    this.#dirty.clear();
    await Promise.all(this.#running.values());
    this.#settle();
  }

  #undelay(key: string): void {
    this.#delayed.get(key)?.cancel();
    this.#delayed.delete(key);
  }

  #ready(key: string): Set<string> {
    return this.#options.goesFirst(key) ? this.#first : this.#others;
  }

  #pump(): void {
    for (const ready of [this.#first, this.#others]) this.#take(ready);
  }

  #take(ready: Set<string>): void {
    const { maxInFlight } = this.#options;
    for (const key of ready) {
      const most = typeof maxInFlight === 'number' ? maxInFlight : maxInFlight();
      if (this.#running.size >= most || this.#refill !== undefined) return;
      const waitMs = this.#bucket?.take() ?? 0;
      if (waitMs > 0) {
        this.#refill = this.#wait(waitMs);
        return;
      }
      ready.delete(key);
      // A turn later: the work may add its own key, and must be known to run by then.
      this.#running.set(
        key,
        Promise.resolve().then(() => this.#run(key)),
      );
    }
  }

  #wait(ms: number): () => void {
    return this.#options.clock.after(ms, () => {
      this.#refill = undefined;
      this.#pump();
    });
  }

  /** Never rejects. */
  async #run(key: string): Promise<void> {
    const { handle, log, name } = this.#options;
    const { signal } = this.#ended;
    try {
      await handle(key, signal);
      this.#failures.delete(key);
      this.#count('done');
    } catch (error) {
      if (!signal.aborted) {
        this.#count('failed');
        const pauseMs = this.#failed(key, error);
        log.warn('Work item failed; retrying', {
          queue: name,
          key,
          pauseMs,
          reason: messageOf(error),
        });
      }
    }
    this.#running.delete(key);
    if (this.#dirty.delete(key)) this.add(key);
    else this.#pump();
    this.#settle();
  }

  /** Puts a failed key back; returns its pause. */
  #failed(key: string, error: unknown): number {
    const { backoff, random } = this.#options;
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
    const pauseMs = Math.round(Math.max(asked, backoffMs(failures, backoff, random)));
    this.addAfter(key, pauseMs);
    return pauseMs;
  }

  #settle(): void {
    if (this.depth + this.#running.size > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}
