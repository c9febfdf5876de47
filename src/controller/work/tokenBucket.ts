import type { Clock } from '../../stream/index.ts';

export interface Rate {
  readonly perSecond: number;
  /** So many may come at once after a quiet time. */
  readonly burst: number;
}

/** Lets through so many a second. */
export class TokenBucket {
  readonly #rate: Rate;
  readonly #clock: Clock;
  #tokens: number;
  #at: number;

  constructor(rate: Rate, clock: Clock) {
    this.#rate = rate;
    this.#clock = clock;
    this.#tokens = rate.burst;
    this.#at = clock.now();
  }

  /** Gives back a token that was taken. */
  giveBack(): void {
    this.#tokens = Math.min(this.#rate.burst, this.#tokens + 1);
  }

  /** Takes one and returns 0, or takes none and returns how long to wait for it in milliseconds. */
  take(): number {
    const { perSecond, burst } = this.#rate;
    const now = this.#clock.now();
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#at) / 1_000) * perSecond);
    this.#at = now;
    // Fractions add up to a little less than a whole: without the tolerance a timer would fire just too early.
    if (this.#tokens > 1 - 1e-6) {
      this.#tokens = Math.max(0, this.#tokens - 1);
      return 0;
    }
    return Math.max(1, ((1 - this.#tokens) / perSecond) * 1_000);
  }
}
