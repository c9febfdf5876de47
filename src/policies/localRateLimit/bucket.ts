/** A token bucket. It is filled when it is looked at, so that a full one costs nothing. Times in milliseconds. */
export class Bucket {
  private readonly maxTokens: number;
  private readonly tokensPerFill: number;
  private readonly fillInterval: number;
  private tokens: number;
  private filledAt: number;

  constructor(
    size: { readonly maxTokens: number; readonly tokensPerFill: number; readonly fillInterval: number },
    now: number,
  ) {
    this.maxTokens = size.maxTokens;
    this.tokensPerFill = size.tokensPerFill;
    this.fillInterval = size.fillInterval;
    this.tokens = size.maxTokens;
    this.filledAt = now;
  }

  /** Tokens that are there now. */
  available(now: number): number {
    // A clock that was set back must not stop the filling until it has caught up.
    if (now < this.filledAt) this.filledAt = now;
    const fills = Math.floor((now - this.filledAt) / this.fillInterval);
    if (fills > 0) {
      this.tokens = Math.min(this.maxTokens, this.tokens + fills * this.tokensPerFill);
      this.filledAt += fills * this.fillInterval;
    }
    return this.tokens;
  }

  /** Takes a token that is there. */
  take(): void {
    this.tokens -= 1;
  }

  /** Milliseconds to the next filling. */
  untilFill(now: number): number {
    return this.filledAt + this.fillInterval - now;
  }
}
