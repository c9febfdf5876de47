import type { TargetState } from './target.ts';

/** The state of a connection to a server, with the time of its last change. */
export class StateClock {
  /** Milliseconds since the epoch. */
  since = Date.now();
  private current: TargetState = 'starting';

  get state(): TargetState {
    return this.current;
  }

  set state(next: TargetState) {
    if (next === this.current) return;
    this.current = next;
    this.since = Date.now();
  }
}
