/** Counts for keys that come and go: a key without a count takes no memory. */
export class KeyedCounts {
  private readonly counts = new Map<string, number>();

  /** Keys with a count above zero. */
  get size(): number {
    return this.counts.size;
  }

  of(key: string): number {
    return this.counts.get(key) ?? 0;
  }

  add(key: string): void {
    this.counts.set(key, this.of(key) + 1);
  }

  /** Takes back what `add` has counted. */
  subtract(key: string): void {
    const left = this.of(key) - 1;
    if (left > 0) this.counts.set(key, left);
    else this.counts.delete(key);
  }
}
