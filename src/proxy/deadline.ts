/** What a connection waits for. */
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

/** What a connection waits for and until when, looked at by one coarse clock; and how fast a body comes. */
export class Deadline {
  phase: Phase = PHASE.idle;
  /** By `Date.now()`. */
  at: number;
  /** When something has moved last, by `Date.now()`. */
  since: number;
  /** Where the rate of the present body is measured from; 0: from the next look on. */
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

  /** Something has moved. */
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
