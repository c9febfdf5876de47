import { TransientMap } from '../../limits/transientMap.ts';
import { Backlog } from './backlog.ts';
import type { InFlightRequest } from './inFlightRequest.ts';
import type { PinnedSession } from './pinnedSession.ts';

/** The requests of a connection that are in flight, and the call that each request carries. */
export class InFlightRequests {
  private readonly all = new TransientMap<InFlightRequest, true>();
  private readonly byCall = new TransientMap<number, InFlightRequest>();
  private readonly backlog = new Backlog();

  /** Does the server leave too many bytes untaken? */
  get isBehind(): boolean {
    return this.backlog.isTooLong(() => this.all.keys());
  }

  /** Calls that are carried. */
  get calls(): number {
    return this.byCall.size;
  }

  add(request: InFlightRequest): void {
    this.all.set(request, true);
    this.backlog.add(request);
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
    return this.all.keys().filter((request) => request.session === session);
  }

  pause(): void {
    for (const request of this.all.keys()) request.pause();
  }

  resume(): void {
    for (const request of this.all.keys()) request.resume();
  }

  tick(now: number): void {
    for (const request of this.all.keys()) request.tick(now);
  }

  /** @param but is left alone */
  abandon(but?: InFlightRequest): void {
    for (const request of this.all.keys()) if (request !== but) request.abandon();
  }
}
