/** How long calls may take, where that is limited. Calls go by their ids on the wire, which are never used again. */
export class Deadlines {
  private readonly timers = new Map<number, NodeJS.Timeout>();

  /** @param late runs once, after so many milliseconds, unless the call was settled before */
  set(wireId: number, ms: number, late: () => void): void {
    const timer = setTimeout(() => {
      this.timers.delete(wireId);
      late();
    }, ms);
    this.timers.set(wireId, timer.unref());
  }

  settled(wireId: number): void {
    if (this.timers.size === 0) return;
    clearTimeout(this.timers.get(wireId));
    this.timers.delete(wireId);
  }

  clear(): void {
    for (const timer of this.timers.values()) clearTimeout(timer);
    this.timers.clear();
  }
}
