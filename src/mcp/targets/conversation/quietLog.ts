import type { Fields, Logger } from '../../../telemetry/index.ts';

/** A warning that a peer can cause at will: written at most so often, the rest counted. */
export class QuietLog {
  private readonly log: Logger;
  private readonly message: string;
  private readonly everyMs: number;
  private last = -Infinity;
  private skipped = 0;

  constructor(log: Logger, message: string, everyMs = 10_000) {
    this.log = log;
    this.message = message;
    this.everyMs = everyMs;
  }

  warn(fields: Fields): void {
    const now = performance.now();
    if (now - this.last < this.everyMs) {
      this.skipped++;
      return;
    }
    this.log.warn(this.message, this.skipped === 0 ? fields : { ...fields, skipped: this.skipped });
    this.last = now;
    this.skipped = 0;
  }
}
