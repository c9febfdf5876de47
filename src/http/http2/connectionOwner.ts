import type { RequestText } from './requestHead.ts';
import type { ServerStream } from './stream.ts';

/** The owner of a connection. */
export interface ConnectionOwner {
  /** Bytes that were handed on and are not out yet. */
  readonly unsent: number;
  /** There is something to flush. */
  wake(): void;
  /** A request; `stream.user` is to be set. @param bodyless the stream has ended with its head */
  request(stream: ServerStream, request: RequestText, bodyless: boolean): void;
  /** A request that is to be answered with an error; likewise. */
  refused(stream: ServerStream, problem: string): void;
  /** A request that was reset before it was one. */
  malformed(problem: string): void;
  /** A frame that asks for work and brings no request. */
  countControlFrame(): void;
  /** Bytes that brought a request further. */
  useful(bytes: number): void;
  /** Memory more, or less, of answers waits for the client to take them. */
  holds(bytes: number): void;
  /** The answer to a PING. */
  pong(payload: number): void;
  /** The client broke the protocol: GOAWAY is written, and nothing is read any more. */
  failed(code: number, reason: string): void;
}
