import type { Limits } from '../../model/index.ts';
import { localEndpoint, type Endpoint } from '../../upstream/index.ts';

/** Another worker, for as long as it runs. */
export interface RelayPeer {
  /** Counts from 1. */
  readonly worker: number;
  /** Names this run of it in session ids. */
  readonly owner: string;
  /** The path of the socket on which the worker takes relayed requests. */
  readonly path: string;
}

/**
 * Connections to other workers that stand for one connection of a client: each is told once whom it is from, and they
 * end together.
 */
export class RelayLines {
  private readonly open = new Map<string, Endpoint>();

  /** @param version of HTTP, which a client may change from request to request: each has connections of its own */
  to({ owner, worker, path }: RelayPeer, version: string, limits: Limits): Endpoint {
    const key = `${version} ${owner}`;
    let line = this.open.get(key);
    if (line === undefined) {
      line = localEndpoint(`worker ${worker}`, path, limits);
      this.open.set(key, line);
    }
    return line;
  }

  close(): void {
    for (const line of this.open.values()) line.close();
    this.open.clear();
  }
}
