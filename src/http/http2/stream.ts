import type { Head } from '../head.ts';
import { CODE, WINDOW_MOST } from './codes.ts';
import type { HeadWriter } from './headWriter.ts';
import { PAGE_BYTES, pagePool } from './pagePool.ts';
import { Inbound, type BodyUser, type InboundConnection } from './inbound.ts';
import type { Sender, SendingStream } from './sender.ts';
import type { Trailers } from './trailers.ts';

/** Room of a piece of our own that further ones can be added to. */
const HELD_LEAST = 4_096;

/** The user of a stream. */
export interface StreamUser extends BodyUser {
  /** All that was to be sent is sent: there is room for more. */
  onDrain(): void;
  /** The client has reset the stream; `onClosed` follows. */
  onLeft(): void;
  /**
   * Both sides have ended, or `code` says with what error the stream did. Nothing comes after that.
   * @param reason what the client did wrong
   */
  onClosed(code: number | undefined, reason?: string): void;
}

/** The connection that a stream belongs to. */
export interface StreamConnection extends InboundConnection {
  readonly owner: {
    /** A frame that asks for work and brings no request. */
    countControlFrame(): void;
    /** Memory more, or less, of answers waits for the client to take them. */
    holds(bytes: number): void;
  };
  readonly sender: Sender;
  readonly heads: HeadWriter;
  /** The bytes that the client takes of a stream before it says more. */
  readonly clientWindow: number;
  /** Writes a reset of the stream with this id. */
  resetStream(id: number, code: number): void;
  /** The stream is over. */
  forget(stream: ServerStream): void;
}

/** Bytes that wait for the client to take them. */
interface Piece {
  readonly bytes: Buffer;
  from: number;
  to: number;
  readonly release: (() => void) | undefined;
  /** Memory that it keeps: a page counts whole. */
  readonly memory: number;
}

/** A request of a client and its answer (RFC 9113 §5). */
export class ServerStream implements SendingStream {
  readonly id: number;
  readonly inbound: Inbound;
  sendWindow: number;
  waiting = false;
  user!: StreamUser;
  closed = false;
  /** Set when the end of the stream was sent. */
  private ended = false;
  /** Its end was asked for. */
  private ending = false;
  private readonly connection: StreamConnection;
  private queue: Piece[] | undefined;
  private queued = 0;
  private trailers: Trailers | undefined;
  private thirsty = false;
  /** Set when the answer is complete: the missing part of the request is not wanted. */
  private closing = false;

  constructor(connection: StreamConnection, id: number) {
    this.connection = connection;
    this.id = id;
    this.sendWindow = connection.clientWindow;
    this.inbound = new Inbound(this, connection);
  }

  /** Memory that waits for the client, in bytes: pages count whole. */
  held = 0;
  /** When something was handed on last, or began to wait, by `Date.now()`. */
  movedAt = 0;

  /** Bytes that wait for the client. */
  get pending(): number {
    return this.queued;
  }

  /**
   * The head of an answer, which was parsed from `bytes`.
   * @param status in the place of its own
   * @param ends there is nothing behind it
   */
  respond(head: Head, bytes: Buffer, start: number, status: number, ends: boolean, except?: string): void {
    if (this.closed || this.ending) return;
    this.connection.heads.answer(this.id, head, bytes, start, status, ends, except);
    if (ends) this.sent();
  }

  /** A head of nothing but a status. */
  respondStatus(status: number): void {
    if (!this.closed && !this.ending) this.connection.heads.status(this.id, status);
  }

  /**
   * A part of the body of the answer.
   * @param lent is called when the bytes are not needed any more; without it they are the caller's after this call
   * @returns false when the client takes no more for now
   */
  send(bytes: Buffer, from: number, to: number, ends: boolean, lent?: () => void): boolean {
    if (this.closed || this.ending) {
      lent?.();
      return true;
    }
    this.ending = ends;
    const { sender } = this.connection;
    const at = this.queued === 0 ? sender.write(this, bytes, from, to, ends) : from;
    if (at < to) {
      this.hold(bytes, at, to, lent);
      sender.wait(this);
      this.thirsty = true;
      return false;
    }
    lent?.();
    if (ends && this.queued === 0) this.sent();
    return this.queued === 0;
  }

  /** Trailers, which end the answer. */
  sendTrailers(trailers: Trailers): void {
    if (this.closed || this.ending) return;
    this.ending = true;
    if (this.queued > 0) {
      this.trailers = trailers;
      return;
    }
    this.connection.heads.trailers(this.id, trailers);
    this.sent();
  }

  /** When the answer is complete, so is the stream. */
  closeWhenSent(): void {
    this.closing = true;
    if (this.ended && !this.closed) this.reset(CODE.none);
  }

  /** Ends it for what the client sent: that is work without an answer, too (CVE-2025-8671). */
  fail(code: number, reason: string): void {
    if (this.closed) return;
    this.connection.owner.countControlFrame();
    this.reset(code, reason);
  }

  /** Ends it with an error. @param reason what the client did wrong */
  reset(code: number, reason?: string): void {
    if (this.closed) return;
    this.connection.resetStream(this.id, code);
    this.close(code, reason);
  }

  // SendingStream

  turn(): boolean {
    const { queue } = this;
    const [piece] = queue ?? [];
    if (queue === undefined || piece === undefined) return false;
    const last = queue.length === 1 && this.ending && this.trailers === undefined;
    const at = this.connection.sender.frame(this, piece.bytes, piece.from, piece.to, last);
    this.queued -= at - piece.from;
    piece.from = at;
    this.movedAt = Date.now();
    if (at < piece.to) return true;
    queue.shift();
    this.count(-piece.memory);
    piece.release?.();
    if (queue.length > 0) return true;
    if (this.trailers !== undefined) this.connection.heads.trailers(this.id, this.trailers);
    if (this.ending) this.sent();
    if (this.thirsty && !this.closed) {
      this.thirsty = false;
      this.user.onDrain();
    }
    return this.queued > 0;
  }

  /** The client takes so many bytes more, or less. @returns false where that is more than can be */
  widen(bytes: number): boolean {
    this.sendWindow += bytes;
    if (this.sendWindow > WINDOW_MOST) return false;
    if (this.queued > 0) this.connection.sender.wait(this);
    return true;
  }

  /** The client has ended its side. */
  remoteEnded(): void {
    if (this.ended) this.close(undefined);
  }

  /** The client has reset it. */
  left(code: number): void {
    if (this.closed) return;
    this.user.onLeft();
    this.close(code);
  }

  /** It is over; `code` says with what error. */
  close(code: number | undefined, reason?: string): void {
    if (this.closed) return;
    this.closed = true;
    this.connection.forget(this);
    const { queue } = this;
    this.queue = undefined;
    this.queued = 0;
    this.count(-this.held);
    if (queue !== undefined) for (const { release } of queue) release?.();
    this.inbound.drop();
    this.user.onClosed(code, reason);
  }

  private sent(): void {
    this.ended = true;
    this.ending = true;
    if (this.inbound.ended) this.close(undefined);
    else if (this.closing) this.reset(CODE.none);
  }

  /** Memory more, or less, waits for the client. */
  private count(bytes: number): void {
    this.held += bytes;
    this.connection.owner.holds(bytes);
  }

  private hold(bytes: Buffer, from: number, to: number, lent: (() => void) | undefined): void {
    const queue = (this.queue ??= []);
    const length = to - from;
    const last = queue.at(-1);
    if (this.queued === 0) this.movedAt = Date.now();
    this.queued += length;
    if (lent !== undefined && 2 * length >= bytes.buffer.byteLength) {
      const memory = bytes.buffer.byteLength;
      queue.push({ bytes, from, to, release: lent, memory });
      this.count(memory);
      return;
    }
    if (last !== undefined && last.release === undefined && last.bytes.length - last.to >= length)
      last.to += bytes.copy(last.bytes, last.to, from, to);
    else {
      // Further bytes are gathered: chunks of a byte in pieces of their own would cost two hundred times as much.
      const paged = length > PAGE_BYTES / 2 && length <= PAGE_BYTES;
      const memory = paged ? PAGE_BYTES : Math.max(length, last === undefined ? 0 : HELD_LEAST);
      const own = paged ? pagePool.take() : Buffer.allocUnsafe(memory);
      const release = paged ? (): void => pagePool.give(own) : undefined;
      queue.push({ bytes: own, from: 0, to: bytes.copy(own, 0, from, to), release, memory });
      this.count(memory);
    }
    // A few bytes do not keep a whole page waiting for a client that reads nothing.
    lent?.();
  }
}
