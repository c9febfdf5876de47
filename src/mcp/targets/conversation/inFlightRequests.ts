import type { InFlightRequest } from './inFlightRequest.ts';
import type { PinnedSession } from './pinnedSession.ts';

/** The requests of a connection that are in flight, and the call that each request carries. */
export class InFlightRequests {
  private readonly all = new Set<InFlightRequest>();
  private readonly byCall = new Map<number, InFlightRequest>();

  /** Bytes that the server has not taken. */
  get backlog(): number {
    let sum = 0;
    for (const request of this.all) sum += request.backlog;
    return sum;
  }

  /** Calls that are carried. */
  get calls(): number {
    return this.byCall.size;
  }

  add(request: InFlightRequest): void {
    this.all.add(request);
    if (request.wireId !== 0) this.byCall.set(request.wireId, request);
  }

  /** Forgets a request; another request may carry its call by now. */
  remove(request: InFlightRequest): void {
    this.all.delete(request);
    if (this.byCall.get(request.wireId) === request) this.byCall.delete(request.wireId);
  }

  /** The request that carries a call. */
  of(wireId: number): InFlightRequest | undefined {
    return this.byCall.get(wireId);
  }

  /** The requests that were made for a session. */
  in(session: PinnedSession): readonly InFlightRequest[] {
    return [...this.all].filter((request) => request.session === session);
  }

  pause(): void {
    for (const request of this.all) request.pause();
  }

  resume(): void {
    for (const request of this.all) request.resume();
  }

  tick(now: number): void {
    for (const request of [...this.all]) request.tick(now);
  }

  /** @param but is left alone */
  abandon(but?: InFlightRequest): void {
    for (const request of [...this.all]) if (request !== but) request.abandon();
  }
}
