import type { Snapshot } from './snapshot.ts';
import { LongLivedResponses } from '../exchange/longLivedResponses.ts';

/** The reference that is swapped: what the next request runs on. */
export class Live {
  readonly longLived = new LongLivedResponses();
  private snapshot: Snapshot | undefined;

  get current(): Snapshot {
    if (this.snapshot === undefined) throw new Error('no snapshot yet');
    return this.snapshot;
  }

  /** The same; undefined before the first one and after the last. */
  get now(): Snapshot | undefined {
    return this.snapshot;
  }

  /** The current snapshot, entered: who calls this calls `leave` on it later. */
  enter(): Snapshot {
    const snapshot = this.current;
    snapshot.enter();
    return snapshot;
  }

  swap(next: Snapshot): void {
    const previous = this.snapshot;
    this.snapshot = next;
    previous?.retire();
    this.longLived.review(next);
  }

  close(): void {
    this.snapshot?.retire();
    this.snapshot = undefined;
  }
}
