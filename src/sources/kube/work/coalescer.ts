import type { Logger } from '../../../telemetry/index.ts';
import { systemClock, type Clock } from './clock.ts';

export interface CoalescerOptions {
  /** What changes ask for. A rejection is logged; the next change asks again. */
  readonly run: () => Promise<void> | void;
  readonly log: Logger;
  /** Runs when nothing has changed for so long, in milliseconds … */
  readonly quietMs?: number;
  /** … or when the first change is so old: a change each few milliseconds must not put it off for ever. */
  readonly maxWaitMs?: number;
  readonly clock?: Clock;
}

/** Turns a burst of changes into one run. Runs never overlap; changes that come during one cause another. */
export class Coalescer {
  readonly #options: Required<CoalescerOptions>;
  #firstMark: number | undefined;
  #cancel: (() => void) | undefined;
  #running: Promise<void> | undefined;
  #closed = false;

  constructor(options: CoalescerOptions) {
    this.#options = { quietMs: 50, maxWaitMs: 250, clock: systemClock, ...options };
  }

  /** Something changed. */
  mark(): void {
    if (this.#closed) return;
    const { clock, quietMs, maxWaitMs } = this.#options;
    const now = clock.now();
    this.#firstMark ??= now;
    // What runs looks again when it has ended.
    if (this.#running !== undefined) return;
    this.#cancel?.();
    const ms = Math.max(0, Math.min(quietMs, this.#firstMark + maxWaitMs - now));
    this.#cancel = clock.after(ms, () => {
      this.#cancel = undefined;
      // A turn later, so that the run cannot end before it is known to run.
      this.#running = Promise.resolve().then(() => this.#run());
    });
  }

  /** Lets go of what waits and resolves when what runs has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancel?.();
    this.#cancel = undefined;
    await this.#running;
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    this.#firstMark = undefined;
    try {
      await this.#options.run();
    } catch (error) {
      this.#options.log.error('a run that changes asked for failed', {
        reason: error instanceof Error ? (error.stack ?? error.message) : String(error),
      });
    }
    this.#running = undefined;
    if (this.#firstMark !== undefined) this.mark();
  }
}
