/** Counts the calls in progress by budget and key, for one process: the counts survive a reload of the configuration. */
export class CallsInProgress {
  private readonly counts = new Map<string, number>();

  /** Keys with calls in progress. */
  get size(): number {
    return this.counts.size;
  }

  /**
   * @param budget names the budget: the same after a reload
   * @returns what ends the call, once; undefined where `most` calls of the key are in progress
   */
  enter(budget: string, key: string, most: number): (() => void) | undefined {
    const name = `${budget}\n${key}`;
    const before = this.counts.get(name) ?? 0;
    if (before >= most) return undefined;
    this.counts.set(name, before + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const left = (this.counts.get(name) ?? 1) - 1;
      if (left === 0) this.counts.delete(name);
      else this.counts.set(name, left);
    };
  }
}
