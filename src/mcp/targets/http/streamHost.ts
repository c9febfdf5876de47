import type { Reach } from '../../contract.ts';
import type { RequestHost } from '../conversation/inFlightRequest.ts';
import type { PinnedSession } from '../conversation/pinnedSession.ts';

/** The functions of their connection that requests need whose answers may be streams. */
export interface StreamHost extends RequestHost {
  /**
   * The stream of a call broke and can be taken up again behind an event.
   * @param reach the way of the caller of the call; absent: the way of the newest caller
   */
  broken(session: PinnedSession, wireId: number, place: StreamPlace, reach?: Reach): void;
}

/** The place and the time at which a stream is resumed. */
export interface StreamPlace {
  readonly lastId: string | undefined;
  readonly retryMs: number | undefined;
}

/** Streams that go on after their response are cut, in milliseconds: their connection is worth more. */
export const lingerMs = 5_000;
