/** A changing value, and the waiters for the value they want. */
export class Changes {
  private readonly waiting = new Set<() => void>();

  /** Reports a change. */
  changed(): void {
    for (const look of this.waiting) look();
  }

  /** Waits until a condition holds; for so long at most. @returns whether it holds */
  until(condition: () => boolean, ms: number): Promise<boolean> {
    if (condition()) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => done(false), ms);
      const look = (): void => {
        if (condition()) done(true);
      };
      const done = (holds: boolean): void => {
        clearTimeout(timer);
        this.waiting.delete(look);
        resolve(holds);
      };
      this.waiting.add(look);
    });
  }
}
