import type { Limits } from '../model/index.ts';
import { localEndpoint, type Endpoint } from '../upstream/index.ts';

/** Another worker, for as long as it runs. */
export interface RelayPeer {
  /** Counts from 1. */
  readonly worker: number;
  /** Names this run of it in session ids. */
  readonly owner: string;
  /** Of its inlet. */
  readonly path: string;
}

/**
 * Connections to other workers that stand for one connection of a client: each is told once whom it is from, and they
 * end together.
 */
export class RelayLines {
  private readonly byOwner = new Map<string, Endpoint>();

  to({ owner, worker, path }: RelayPeer, limits: Limits): Endpoint {
    let line = this.byOwner.get(owner);
    if (line === undefined) {
      line = localEndpoint(`worker ${worker}`, path, limits);
      this.byOwner.set(owner, line);
    }
    return line;
  }

  close(): void {
    for (const line of this.byOwner.values()) line.close();
    this.byOwner.clear();
  }
}
