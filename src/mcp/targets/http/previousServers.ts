import type { Logger } from '../../../telemetry/index.ts';
import type { Reach } from '../../contract.ts';
import type { PinnedSession } from './pinnedSession.ts';
import type { InFlightRequests } from './inFlightRequests.ts';
import { endSession } from './endSession.ts';

interface PreviousServer {
  readonly reach: Reach;
  readonly session: PinnedSession;
  /** Calls may take so long, as `performance.now()` tells it. */
  readonly until: number;
}

/** The time for calls under way before their session is ended, in milliseconds. */
const patienceMs = 60_000;
/** Configurations change more slowly than that. */
const most = 4;

/** Sessions with servers that the configuration named before: each is told of its end when the calls there are done. */
export class PreviousServers {
  private readonly inFlight: InFlightRequests;
  private readonly log: Logger;
  private waiting: PreviousServer[] = [];

  constructor(inFlight: InFlightRequests, log: Logger) {
    this.inFlight = inFlight;
    this.log = log;
  }

  add(reach: Reach, session: PinnedSession): void {
    this.waiting.push({ reach, session, until: performance.now() + patienceMs });
    if (this.waiting.length > most) this.end(this.waiting.shift()!);
    this.tick(performance.now());
  }

  /** Every few seconds, `now` being `performance.now()`. */
  tick(now: number): void {
    if (this.waiting.length === 0) return;
    const over = this.waiting.filter((one) => now >= one.until || !this.isBusy(one));
    this.waiting = this.waiting.filter((one) => !over.includes(one));
    for (const one of over) this.end(one);
  }

  /** Ends them all. */
  close(): void {
    for (const one of this.waiting.splice(0)) this.end(one);
  }

  private isBusy({ session }: PreviousServer): boolean {
    return this.inFlight.in(session).some(({ wireId }) => wireId !== 0);
  }

  private end({ reach, session }: PreviousServer): void {
    void endSession(reach, session, 0, this.log);
  }
}
