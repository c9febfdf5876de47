import { stackOf } from '../../errorText.ts';
import { systemClock, type Clock } from '../../stream/index.ts';
import type { Logger } from '../../telemetry/index.ts';

/** `soon`: what traffic waits for. `later`: what only a status says. */
export type Urgency = 'soon' | 'later';

/** All in milliseconds. */
export interface Window {
  /** Runs when nothing has changed for so long … */
  readonly quietMs: number;
  /** … or when the first change is so old: a change each few milliseconds must not put it off for ever. */
  readonly maxWaitMs: number;
}

export interface CoalescerOptions {
  /** The work that changes trigger. A rejection is logged; the next change asks again. */
  readonly run: () => Promise<void> | void;
  readonly log: Logger;
  readonly windows?: Readonly<Record<Urgency, Window>>;
  /**
   * Longest rest after a run: it rests as long as it has run, so that others get half of the time, and five times as
   * long from what can wait.
   */
  readonly maxRestMs?: Readonly<Record<Urgency, number>>;
  readonly clock?: Clock;
}

const usualWindows: Readonly<Record<Urgency, Window>> = {
  soon: { quietMs: 50, maxWaitMs: 250 },
  later: { quietMs: 250, maxWaitMs: 1_000 },
};

const usualRest: Readonly<Record<Urgency, number>> = { soon: 1_000, later: 5_000 };
/** Times as long as the last run took. */
const restShare: Readonly<Record<Urgency, number>> = { soon: 1, later: 5 };

/** Turns a burst of changes into one run. Runs never overlap; changes that come during one cause another. */
export class Coalescer {
  readonly #options: Required<CoalescerOptions>;
  /** When the first change came that asks for the next run, and when that is due on its account. */
  readonly #asked = new Map<Urgency, { readonly first: number; due: number }>();
  /** The end of the last run, and how long it took. */
  #last = { end: Number.NEGATIVE_INFINITY, ms: 0 };
  #cancel: (() => void) | undefined;
  #running: Promise<void> | undefined;
  #closed = false;

  constructor(options: CoalescerOptions) {
    this.#options = { windows: usualWindows, maxRestMs: usualRest, clock: systemClock, ...options };
  }

  /** Records a change. */
  mark(urgency: Urgency = 'soon'): void {
    if (this.#closed) return;
    const { clock, windows } = this.#options;
    const now = clock.now();
    const { quietMs, maxWaitMs } = windows[urgency];
    const first = this.#asked.get(urgency)?.first ?? now;
    this.#asked.set(urgency, { first, due: Math.min(now + quietMs, first + maxWaitMs) });
    // The run under way looks again when it has ended.
    if (this.#running === undefined) this.#schedule();
  }

  /** Lets go of what waits and resolves when what runs has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancel?.();
    this.#cancel = undefined;
    await this.#running;
  }

  #schedule(): void {
    const { clock, maxRestMs } = this.#options;
    this.#cancel?.();
    const dues = Array.from(this.#asked, ([urgency, { due }]) =>
      Math.max(due, this.#last.end + Math.min(restShare[urgency] * this.#last.ms, maxRestMs[urgency])),
    );
    const ms = Math.max(0, Math.min(...dues) - clock.now());
    this.#cancel = clock.after(ms, () => {
      this.#cancel = undefined;
      // A turn later, so that the run cannot end before it is known to run.
      this.#running = Promise.resolve().then(() => this.#run());
    });
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const { run, log, clock } = this.#options;
    this.#asked.clear();
    const begun = clock.now();
    try {
      await run();
    } catch (error) {
      log.error('Run triggered by changes failed', {
        reason: stackOf(error),
      });
    }
    const end = clock.now();
    this.#last = { end, ms: end - begun };
    this.#running = undefined;
    if (this.#asked.size > 0 && !this.#closed) this.#schedule();
  }
}
