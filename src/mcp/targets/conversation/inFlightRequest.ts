import type { GatewayError } from '../../../errors.ts';
import type { HeaderLine, LargeEvent } from '../../../http/index.ts';
import type { Limits } from '../../../model/index.ts';
import type { Reach } from '../../contract.ts';
import type { PinnedSession } from './pinnedSession.ts';

/** A request to the server that is under way. */
export interface InFlightRequest {
  /** The call that it carries; 0 for none. */
  readonly wireId: number;
  /** The session that it was made for. */
  readonly session: PinnedSession;
  /** Bytes that the server has not taken. */
  readonly backlog: number;
  pause(): void;
  resume(): void;
  /** Abandons the exchange: its result is not wanted any more. */
  abandon(): void;
  /** Every few seconds. */
  tick(now: number): void;
}

/** A call that the server did not carry out: it may be said again. */
export interface UnheardCall {
  readonly text: string;
  /** Its header lines besides those that every request has. */
  readonly headers: readonly HeaderLine[] | undefined;
  /** The way of its own caller; undefined: the way of the newest caller. */
  readonly reach: Reach | undefined;
}

/**
 * The functions of their connection that requests to a server need. Calls go by their ids on the wire, 0 is none.
 */
export interface RequestHost {
  /** The name of the target, for messages. */
  readonly name: string;
  readonly reach: Reach;
  readonly limits: Limits;
  /** The client cannot take more for now. */
  readonly paused: boolean;
  /** Receives messages, on the stream of a call or of none. */
  receive(text: string, wireId: number): void;
  /** A large message has begun. @returns undefined for a message that has to be read whole */
  receiveLarge(head: Buffer, wireId: number): LargeEvent | undefined;
  /** Is the call still to be answered? */
  waits(wireId: number): boolean;
  /** Has the call a time limit of its own? */
  isLimited(wireId: number): boolean;
  /** The call will not be answered. */
  failed(wireId: number, error: GatewayError): void;
  /**
   * The server does not know the session any more.
   * @param unheard a call that it did not carry out
   */
  lost(session: PinnedSession, why: string, wireId: number, unheard?: UnheardCall): void;
  /** Records that a request has ended. */
  over(request: InFlightRequest): void;
}
