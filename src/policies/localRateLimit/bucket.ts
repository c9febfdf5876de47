/** The size and the fill rate of a bucket. */
export interface BucketSize {
  readonly maxTokens: number;
  readonly tokensPerFill: number;
  readonly fillInterval: number;
}

/** A token bucket. It is filled when it is looked at, so that a full one costs nothing. Times in milliseconds. */
export class Bucket {
  private tokens: number;
  private filledAt: number;

  constructor({ maxTokens }: BucketSize, now: number) {
    this.tokens = maxTokens;
    this.filledAt = now;
  }

  /** Tokens that are there now. */
  available({ maxTokens, tokensPerFill, fillInterval }: BucketSize, now: number): number {
    // A clock that was set back must not stop the filling until it has caught up.
    if (now < this.filledAt) this.filledAt = now;
    const fills = Math.floor((now - this.filledAt) / fillInterval);
    if (fills > 0) {
      this.tokens = Math.min(maxTokens, this.tokens + fills * tokensPerFill);
      this.filledAt += fills * fillInterval;
    }
    return this.tokens;
  }

  /** Takes a token that is there. */
  take(): void {
    this.tokens -= 1;
  }

  /** Milliseconds to the next filling. */
  untilFill({ fillInterval }: BucketSize, now: number): number {
    return this.filledAt + fillInterval - now;
  }
}
