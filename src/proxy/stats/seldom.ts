/** Between two lines of the log, in milliseconds. */
const APART_MS = 10_000;

/** Failures that come in floods: one line of the log tells of all within some time. */
export class Seldom {
  private last = Number.NEGATIVE_INFINITY;

  /** Is it time for a line? Then the next one has to wait. */
  take(): boolean {
    const now = performance.now();
    if (now - this.last < APART_MS) return false;
    this.last = now;
    return true;
  }
}
