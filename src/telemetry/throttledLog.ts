import type { Fields, Logger } from './contract.ts';

/** Limits a log line that peers can cause at will: at most one line in `everyMs` milliseconds. */
export class LogThrottle {
  private readonly everyMs: number;
  private last = Number.NEGATIVE_INFINITY;
  private refused = 0;

  constructor(everyMs = 10_000) {
    this.everyMs = everyMs;
  }

  /** Says whether the line may be written now. After a line, `take` refuses until the time has passed. */
  take(): boolean {
    const now = performance.now();
    if (now - this.last < this.everyMs) {
      this.refused++;
      return false;
    }
    this.last = now;
    return true;
  }

  /** The number of refusals since the last call. */
  takeRefused(): number {
    const { refused } = this;
    this.refused = 0;
    return refused;
  }
}

/** A warning that a peer can cause at will. The log gets it at most so often, with the number of lines left out. */
export class ThrottledLog {
  private readonly log: Logger;
  private readonly message: string;
  private readonly throttle: LogThrottle;

  constructor(log: Logger, message: string, everyMs?: number) {
    this.log = log;
    this.message = message;
    this.throttle = new LogThrottle(everyMs);
  }

  warn(fields: Fields): void {
    if (!this.throttle.take()) return;
    const skipped = this.throttle.takeRefused();
    this.log.warn(this.message, skipped === 0 ? fields : { ...fields, skipped });
  }
}
