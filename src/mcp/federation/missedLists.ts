/** Lists that a client got without a target, because the target had failed or was slow. */

/** Ticks between two attempts, at most: about a minute. */
const maxPause = 12;

/** Asks the target for the lists again, so that the client can be told when they are back. */
export class MissedLists {
  private readonly methods = new Set<string>();
  /** Ticks to wait after the next failure, and until the next attempt. */
  private pause = 1;
  private left = 0;
  private isAsking = false;

  /** @param method the method of the list, such as `tools/list` */
  add(method: string): void {
    this.methods.add(method);
  }

  /** A client has the list of the target again. */
  found(method: string): void {
    this.methods.delete(method);
    if (this.methods.size === 0) this.clear();
  }

  /** The client is told to read all lists anyway. */
  clear(): void {
    this.methods.clear();
    this.pause = 1;
    this.left = 0;
  }

  /**
   * Runs every few seconds.
   * @param answers asks for the list, and tells whether it came (never rejects)
   * @param onBack hears of each list that came
   */
  tick(answers: (method: string) => Promise<boolean>, onBack: (method: string) => void): void {
    if (this.methods.size === 0 || this.isAsking) return;
    if (this.left > 0) this.left--;
    else void this.ask(answers, onBack);
  }

  private async ask(
    answers: (method: string) => Promise<boolean>,
    onBack: (method: string) => void,
  ): Promise<void> {
    this.isAsking = true;
    for (const method of [...this.methods]) {
      if (!(await answers(method))) {
        this.left = this.pause;
        this.pause = Math.min(2 * this.pause, maxPause);
        break;
      }
      if (!this.methods.has(method)) continue;
      this.found(method);
      onBack(method);
    }
    this.isAsking = false;
  }
}
