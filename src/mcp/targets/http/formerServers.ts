import type { Logger } from '../../../telemetry/index.ts';
import type { Reach } from '../../contract.ts';
import type { Home } from './home.ts';
import type { Carriers } from './carriers.ts';
import { endSession } from './endSession.ts';

interface Former {
  readonly reach: Reach;
  readonly home: Home;
  /** Calls may take so long, as `performance.now()` tells it. */
  readonly until: number;
}

/** The time for calls under way before their session is ended, in milliseconds. */
const patienceMs = 60_000;
/** Configurations change more slowly than that. */
const most = 4;

/** Sessions with servers that the configuration named before: each is told of its end when the calls there are done. */
export class FormerServers {
  private readonly carriers: Carriers;
  private readonly log: Logger;
  private waiting: Former[] = [];

  constructor(carriers: Carriers, log: Logger) {
    this.carriers = carriers;
    this.log = log;
  }

  add(reach: Reach, home: Home): void {
    this.waiting.push({ reach, home, until: performance.now() + patienceMs });
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

  private isBusy({ home }: Former): boolean {
    return this.carriers.in(home).some(({ wireId }) => wireId !== 0);
  }

  private end({ reach, home }: Former): void {
    void endSession(reach, home, 0, this.log);
  }
}
