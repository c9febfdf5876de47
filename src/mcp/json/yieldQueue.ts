/**
 * Lets large work be done piece by piece, one piece in a turn of the event loop however many pieces wait: requests and
 * timers of others come in between.
 */
export class YieldQueue {
  private waiting: (() => void)[] = [];

  /** Resolves when it is the next piece's turn. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      if (this.waiting.push(resolve) === 1) setImmediate(this.one);
    });
  }

  private readonly one = (): void => {
    this.waiting.shift()!();
    if (this.waiting.length > 0) setImmediate(this.one);
  };
}
