/** Seconds over which requests count. */
const WINDOW_SECONDS = 10;

/**
 * The number of further tries that are allowed (Gateway API, GEP-3388): a share of the requests of the last ten
 * seconds, and some every second in any case, so that few requests can be repeated, too. Counted in ten slots of
 * a second.
 */
export class RetryBudget {
  private readonly share: number;
  private readonly minimum: number;
  private readonly now: () => number;
  private readonly requests = new Array<number>(WINDOW_SECONDS).fill(0);
  private readonly retries = new Array<number>(WINDOW_SECONDS).fill(0);
  private second: number;

  /** @param minRetryRate a second */
  constructor(percent: number, minRetryRate: number, now: () => number) {
    this.share = percent / 100;
    this.minimum = minRetryRate * WINDOW_SECONDS;
    this.now = now;
    this.second = Math.floor(now() / 1000);
  }

  noteRequest(): void {
    const slot = this.slot();
    this.requests[slot] = (this.requests[slot] as number) + 1;
  }

  /** @returns false where the budget is used up */
  take(): boolean {
    const slot = this.slot();
    const allowed = Math.max(this.minimum, sum(this.requests) * this.share);
    if (sum(this.retries) + 1 > allowed) return false;
    this.retries[slot] = (this.retries[slot] as number) + 1;
    return true;
  }

  /** The slot of this second; those that went by since the last look are emptied. */
  private slot(): number {
    const second = Math.floor(this.now() / 1000);
    const passed = second - this.second;
    // A clock that was set back: everything begins anew.
    const empty = passed < 0 ? WINDOW_SECONDS : Math.min(passed, WINDOW_SECONDS);
    for (let i = 0; i < empty; i++) {
      const slot = (((second - i) % WINDOW_SECONDS) + WINDOW_SECONDS) % WINDOW_SECONDS;
      this.requests[slot] = 0;
      this.retries[slot] = 0;
    }
    this.second = second;
    return second % WINDOW_SECONDS;
  }
}

const sum = (slots: readonly number[]): number => slots.reduce((total, count) => total + count, 0);
