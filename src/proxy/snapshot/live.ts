import type { Snapshot } from './snapshot.ts';
import { Standing } from '../exchange/standing.ts';

/** The reference that is swapped: what the next request runs on. */
export class Live {
  readonly standing = new Standing();
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
    this.standing.review(next);
  }

  close(): void {
    this.snapshot?.retire();
    this.snapshot = undefined;
  }
}
