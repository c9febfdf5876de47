/** The memory of the process at a moment, in bytes. */
export interface MemorySample {
  /** The resident set. */
  readonly rss: number;
  /** Memory that the runtime knows to be in use: the heap, and memory outside it that objects hold. */
  readonly known: number;
}

/** Growth of the resident set that cancels this many times as much of what was thought to be free. */
const DOUBT = 4;

/**
 * The amount of memory in use. The allocator keeps freed memory for later, so the resident set stays high after a
 * peak although next to nothing is in use, and what is freed is used again before the process grows. So what has
 * been freed since the peak counts as free, as long as the resident set does not grow in spite of it.
 */
export class MemoryInUse {
  /** Memory in use at the peak, and the resident set then. */
  private peak = 0;
  private rssAtPeak = 0;

  /** @returns bytes in use: between what is known and the resident set */
  note({ rss, known }: MemorySample): number {
    const change = rss - this.rssAtPeak;
    // Memory that went back to the system is no longer there to be used again.
    if (change < 0) this.peak += change;
    // The process grows although there is free memory: other parts of it, of which the runtime knows nothing, took that.
    else this.peak -= DOUBT * change;
    this.rssAtPeak = rss;
    this.peak = Math.max(this.peak, known);
    return rss - (this.peak - known);
  }
}
