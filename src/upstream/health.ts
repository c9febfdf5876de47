import type { Eviction } from '../model/index.ts';

/** An address that cannot be connected to is left alone so long, twice as long each time, at most the second. */
const COOL_MS = 1_000;
const COOL_MOST_MS = 30_000;

/** An ejection lasts so many times its configured length at most. */
const TIMES_MOST = 10;

/** The health of an address, as seen by connections, answers and health checks. Times are those of `Date.now()`. */
export class Health {
  /** Verdict of the health checks; an address is taken for healthy until it is known not to be. */
  healthy = true;
  ejections = 0;
  private readonly eviction: Eviction | undefined;
  private readonly mayEject: () => boolean;
  private readonly onChange: () => void;
  private coolUntil = 0;
  private refused = 0;
  private ejectedUntil = 0;
  private times = 0;
  private failures = 0;

  /**
   * @param mayEject asked before every ejection: too many addresses may be out already
   * @param onChange told when the address is out or may be back
   */
  constructor(eviction: Eviction | undefined, mayEject: () => boolean, onChange: () => void) {
    this.eviction = eviction;
    this.mayEject = mayEject;
    this.onChange = onChange;
  }

  isEjected(now: number): boolean {
    return this.ejectedUntil > now;
  }

  /** Neither ejected nor cooling down. */
  isEligible(now: number): boolean {
    return this.ejectedUntil <= now && this.coolUntil <= now;
  }

  /** When it will be welcome again. */
  get backAt(): number {
    return Math.max(this.ejectedUntil, this.coolUntil);
  }

  connected(): void {
    this.refused = 0;
  }

  connectFailed(): void {
    this.coolUntil = Date.now() + Math.min(COOL_MOST_MS, COOL_MS * 2 ** Math.min(this.refused++, 10));
    this.failed();
    this.onChange();
  }

  answered(status: number): void {
    if (status >= 500) this.failed();
    else this.failures = 0;
  }

  /** A request got no answer, or one that says that the backend is broken. */
  failed(): void {
    const { eviction } = this;
    if (eviction === undefined || ++this.failures < eviction.consecutiveFailures) return;
    const now = Date.now();
    if (this.ejectedUntil > now || !this.mayEject()) return;
    // An address that has behaved for as long as it was out begins anew.
    const behaved = now - this.ejectedUntil > eviction.durationMs * Math.max(1, this.times);
    this.times = behaved ? 1 : Math.min(TIMES_MOST, this.times + 1);
    this.ejectedUntil = now + eviction.durationMs * this.times;
    this.failures = 0;
    this.ejections++;
    this.onChange();
  }

  judge(healthy: boolean): void {
    if (this.healthy === healthy) return;
    this.healthy = healthy;
    this.onChange();
  }
}
