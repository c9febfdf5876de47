import { recordFilter } from '../policies/index.ts';
import type { RequestFeed } from './contract.ts';
import { RequestRing } from './requestRing.ts';

/** The records of this process, or of all workers. */
export class RequestRecords implements RequestFeed {
  private readonly ring = new RequestRing();
  private readonly watch: (watched: boolean) => void;

  /** @param watch is told when the first listener comes, and when the last one has left */
  constructor(watch: (watched: boolean) => void) {
    this.watch = watch;
  }

  get isWatched(): boolean {
    return this.ring.isWatched;
  }

  add(json: string): void {
    this.ring.add(json);
  }

  follow(listener: (json: string) => void, filter?: string): () => void {
    const wanted = filter === undefined ? undefined : recordFilter(filter);
    const hear = (json: string): void => {
      if (wanted === undefined || wanted(json)) listener(json);
    };
    for (const json of this.ring.records) hear(json);
    const end = this.ring.listen(hear);
    this.watch(true);
    return () => {
      end();
      if (!this.ring.isWatched) this.watch(false);
    };
  }
}
