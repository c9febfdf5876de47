/** The event that a connection waits for. */
export const PHASE = {
  /** The next request. */
  idle: 0,
  head: 1,
  body: 2,
  /** The client takes nothing of what is written. */
  stalled: 3,
  /** Our side has ended. Nothing leads back from there: what still comes in belongs to no request. */
  closing: 4,
  /** The backend takes nothing of the body. */
  blocked: 5,
  tunnel: 6,
} as const;

type Phase = (typeof PHASE)[keyof typeof PHASE];

/** The deadline of a connection and its reason, checked by one coarse clock; and the rate of a body. */
export class Deadline {
  phase: Phase = PHASE.idle;
  /** By `Date.now()`. */
  at: number;
  /** When something has moved last, by `Date.now()`. */
  since: number;
  /** The start of the rate measurement of the present body; 0: from the next look on. */
  private rateSince = 0;
  private rateFrom = 0;

  constructor(ms: number) {
    this.since = Date.now();
    this.at = this.since + ms;
  }

  get closing(): boolean {
    return this.phase === PHASE.closing;
  }

  expect(phase: Phase, ms: number): void {
    if (this.closing) return;
    this.phase = phase;
    this.rateSince = 0;
    this.since = Date.now();
    this.at = this.since + ms;
  }

  /** Extends the deadline because a byte has moved. */
  extend(ms: number): void {
    this.since = Date.now();
    this.at = this.since + ms;
  }

  /** Others see to it that there is an end. */
  lift(): void {
    this.at = Number.POSITIVE_INFINITY;
    this.rateSince = 0;
  }

  /** A body may come slowly, but not a byte at a time for hours. Pauses that we ask for do not count. */
  isTooSlow(now: number, bytes: number, least: number, windowMs: number): boolean {
    if (this.rateSince !== 0) {
      const ms = now - this.rateSince;
      if (ms < windowMs) return false;
      if ((bytes - this.rateFrom) * 1_000 < least * ms) return true;
    }
    this.rateSince = now;
    this.rateFrom = bytes;
    return false;
  }
}
