import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from './clock.ts';

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/** A clock that stands until it is turned. */
export class ManualClock implements Clock {
  #now = 0;
  readonly #timers = new Set<Timer>();

  now(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.#now + ms, run };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  get waiting(): number {
    return this.#timers.size;
  }

  /** The process is stopped for a while: time passes, and no timer runs. */
  sleep(ms: number): void {
    this.#now += ms;
  }

  /** Turns the clock, running what falls due in its order; promises settle before each step and after the last. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      await turn();
      const next = [...this.#timers].filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.run();
    }
    this.#now = end;
    await turn();
  }
}
