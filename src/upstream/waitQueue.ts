import type { ErrorCode } from '../errors.ts';
import type { UpstreamConnection } from './upstreamConnection.ts';

/** Waits for a connection; one of the two is called once, unless `forget` comes before. */
export interface Waiter {
  onReady(connection: UpstreamConnection): void;
  onRefused(code: ErrorCode, detail: string): void;
}

/** Requests that wait for a connection where the number of connections is limited: first come, first served. */
export class WaitQueue {
  refused = 0;
  private readonly queue = new Map<Waiter, number>();

  get length(): number {
    return this.queue.size;
  }

  add(waiter: Waiter, until: number): void {
    this.queue.set(waiter, until);
  }

  forget(waiter: Waiter): void {
    this.queue.delete(waiter);
  }

  next(): Waiter | undefined {
    for (const waiter of this.queue.keys()) {
      this.queue.delete(waiter);
      return waiter;
    }
    return undefined;
  }

  /** Refuses those that have waited for too long; they stand in the order of their time. */
  sweep(now: number): void {
    for (const [waiter, until] of this.queue) {
      if (until > now) return;
      this.refuse(waiter, 'waited for a connection for too long');
    }
  }

  refuse(waiter: Waiter, detail: string): void {
    this.queue.delete(waiter);
    this.refused++;
    waiter.onRefused('upstream_overloaded', detail);
  }

  close(): void {
    for (const waiter of this.queue.keys()) this.refuse(waiter, 'the gateway stops');
  }
}
