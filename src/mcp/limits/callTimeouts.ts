import { maxDurationMs } from '../../model/index.ts';
import { TransientMap } from './transientMap.ts';

interface CallTimeout {
  /** When the call is given up, by `performance.now()`. */
  at: number;
  /** The latest time that progress can move `at` to. */
  lastAt: number;
  readonly startedAt: number;
  readonly limit: CallLimit;
}

/** The time that a call may take without progress, and the setting that says so. */
export interface CallLimit {
  /** Milliseconds; 0 is no limit. */
  readonly ms: number;
  /** The timeout policy of the route says it: the request gets the answer that the policy promises. */
  readonly ofRoute?: boolean;
}

/**
 * The remaining time of the calls of a connection, by their ids on the wire. The clocks stop while the server
 * waits for the client. One timer serves all of them: a call that ends in time costs an entry in a map and no
 * timer.
 */
export class CallTimeouts {
  private readonly clocks = new TransientMap<number, CallTimeout>();
  private readonly mostMs: () => number;
  private readonly late: (wireId: number, limit: CallLimit) => void;
  private timer: NodeJS.Timeout | undefined;
  private timerAt = Infinity;
  /** Since when the clocks are stopped; undefined while they run. */
  private heldAt: number | undefined;

  /**
   * @param mostMs what a call may take however much progress it makes, and what one wait for the client may take
   * @param late runs once for a call that was not settled in time, with the limit that it passed
   */
  constructor(mostMs: () => number, late: (wireId: number, limit: CallLimit) => void) {
    this.mostMs = mostMs;
    this.late = late;
  }

  /** A call begins. */
  start(wireId: number, limit: CallLimit): void {
    const { ms } = limit;
    if (ms === 0) return;
    const startedAt = performance.now();
    const at = startedAt + ms;
    this.clocks.set(wireId, { at, lastAt: startedAt + Math.max(ms, this.mostMs()), startedAt, limit });
    if (this.heldAt === undefined) this.arm(at);
  }

  /** The server says that a call goes on. */
  progress(wireId: number): void {
    const clock = this.clocks.get(wireId);
    if (clock !== undefined) clock.at = Math.min(performance.now() + clock.limit.ms, clock.lastAt);
  }

  settled(wireId: number): void {
    this.clocks.delete(wireId);
  }

  /** Does the call have a limit? */
  has(wireId: number): boolean {
    return this.clocks.has(wireId);
  }

  clear(): void {
    this.clocks.clear();
    clearTimeout(this.timer);
    this.timerAt = Infinity;
  }

  /** The server waits for the client, or does so no more. */
  hold(waits: boolean): void {
    if (waits === (this.heldAt !== undefined)) return;
    const now = performance.now();
    clearTimeout(this.timer);
    this.timerAt = Infinity;
    if (waits) {
      this.heldAt = now;
      // An answer may never come: the clocks go on after the longest time that a call may take.
      this.arm(now + this.mostMs());
      return;
    }
    const { heldAt = now } = this;
    this.heldAt = undefined;
    for (const clock of this.clocks.values()) {
      const waited = now - Math.max(heldAt, clock.startedAt);
      clock.at += waited;
      clock.lastAt += waited;
    }
    this.look();
  }

  private arm(at: number): void {
    if (at >= this.timerAt) return;
    clearTimeout(this.timer);
    this.timerAt = at;
    const ms = Math.min(maxDurationMs, Math.max(1, Math.ceil(at - performance.now())));
    this.timer = setTimeout(() => this.fired(), ms).unref();
  }

  private fired(): void {
    this.timerAt = Infinity;
    if (this.heldAt !== undefined) this.hold(false);
    else this.look();
  }

  /** Gives up the calls whose time is over, and waits for the next one. */
  private look(): void {
    const now = performance.now();
    let next = Infinity;
    for (const [wireId, clock] of this.clocks.entries()) {
      if (clock.at > now) next = Math.min(next, clock.at);
      else if (this.clocks.delete(wireId))
        this.late(wireId, clock.at === clock.lastAt ? this.most(clock.limit) : clock.limit);
    }
    if (next !== Infinity) this.arm(next);
  }

  private most(limit: CallLimit): CallLimit {
    const mostMs = this.mostMs();
    return mostMs > limit.ms ? { ms: mostMs } : limit;
  }
}
