import { systemClock, type Clock } from '../../stream/index.ts';

/** Waits for something by key, but not for ever: a key that lacks it all the time does not hold up others. */
export class Patience {
  private readonly clock: Clock;
  private readonly mostMs: number;
  private readonly since = new Map<string, number>();

  /** @param mostMs the time that a key may wait, in milliseconds */
  constructor(mostMs: number, clock: Clock = systemClock) {
    this.clock = clock;
    this.mostMs = mostMs;
  }

  /**
   * @param lacking all keys that lack something now; the time of every other key starts anew
   * @returns the keys that may go on waiting
   */
  waiting(lacking: ReadonlySet<string>): ReadonlySet<string> {
    const now = this.clock.now();
    for (const key of this.since.keys()) if (!lacking.has(key)) this.since.delete(key);
    const waiting = new Set<string>();
    for (const key of lacking) {
      const since = this.since.get(key) ?? now;
      this.since.set(key, since);
      if (now - since < this.mostMs) waiting.add(key);
    }
    return waiting;
  }
}
