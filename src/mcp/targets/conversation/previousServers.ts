import type { Reach } from '../../contract.ts';
import type { PinnedSession } from './pinnedSession.ts';
import type { InFlightRequests } from './inFlightRequests.ts';

interface PreviousServer<Session> {
  readonly reach: Reach;
  readonly session: Session;
  /** Calls may take so long, as `performance.now()` tells it. */
  readonly until: number;
}

/** The time for calls under way before their session is ended, in milliseconds. */
const patienceMs = 60_000;
/** Configurations change more slowly than that. */
const most = 4;

/** Sessions with servers that the configuration named before: each is ended when the calls there are done. */
export class PreviousServers<Session extends PinnedSession> {
  private readonly inFlight: InFlightRequests;
  private readonly end: (reach: Reach, session: Session) => void;
  private waiting: PreviousServer<Session>[] = [];

  /** @param end ends a session at its server */
  constructor(inFlight: InFlightRequests, end: (reach: Reach, session: Session) => void) {
    this.inFlight = inFlight;
    this.end = end;
  }

  add(reach: Reach, session: Session): void {
    this.waiting.push({ reach, session, until: performance.now() + patienceMs });
    if (this.waiting.length > most) this.endOne(this.waiting.shift()!);
    this.tick(performance.now());
  }

  /** Every few seconds, `now` being `performance.now()`. */
  tick(now: number): void {
    if (this.waiting.length === 0) return;
    const over = this.waiting.filter((one) => now >= one.until || !this.isBusy(one));
    this.waiting = this.waiting.filter((one) => !over.includes(one));
    for (const one of over) this.endOne(one);
  }

  /** Ends them all. */
  close(): void {
    for (const one of this.waiting.splice(0)) this.endOne(one);
  }

  private isBusy({ session }: PreviousServer<Session>): boolean {
    return this.inFlight.in(session).some(({ wireId }) => wireId !== 0);
  }

  private endOne({ reach, session }: PreviousServer<Session>): void {
    this.end(reach, session);
  }
}
