import type { ErrorCode } from '../errors.ts';
import type { Body, Head } from '../http/index.ts';

/** Waits for the answer of a request. All calls are synchronous; bytes are valid during the call only. */
export interface ExchangeHandler {
  /** A 1xx answer other than 101. */
  onInformational(head: Head): void;
  /**
   * The backend switched protocols (101), as `begin` said that was asked for; `bytes[from..to)` came behind the head.
   * Whoever takes them calls `tunnel` at once: what follows is no HTTP.
   */
  onSwitch?(head: Head, bytes: Buffer, from: number, to: number): void;
  /**
   * The head of the answer with the part of the body that came along, `bytes[from..to)`.
   * @returns false to pause the reading until `resume`
   */
  onAnswer(head: Head, bytes: Buffer, from: number, to: number, body: Body): boolean;
  /** More of the body, framing included. Same result. */
  onBody(bytes: Buffer, from: number, to: number, done: boolean): boolean;
  /** The exchange is over before the answer was complete. `fresh`: not a byte of the answer had come. */
  onFailure(code: ErrorCode, detail: string, fresh: boolean): void;
  /** The backend takes bytes again after a `write` that returned false. */
  onWritable(): void;
  /** The connection, which was still being opened when it was taken, is there. */
  onConnected?(): void;
  /** The time to the head of its answer is limited by somebody else, or not at all. */
  readonly patient?: boolean;
}

/**
 * Takes the bytes of a connection that is a tunnel. All calls are synchronous; bytes are valid during the call
 * only.
 */
export interface TunnelHandler {
  /** @returns false to pause the reading until `resume` */
  onBytes(bytes: Buffer, from: number, to: number): boolean;
  /** The backend sends nothing more; it may still take bytes. */
  onEnd(): void;
  onFailure(code: ErrorCode, detail: string): void;
  onWritable(): void;
}
