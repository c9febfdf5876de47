import { append } from './append.ts';
import { CODE } from './codes.ts';
import type { Trailers } from './trailers.ts';

const NONE: Trailers = [];
const HELD_FIRST = 4_096;
const longer = 'more than content-length says';

/** The reader of a body. */
export interface BodyUser {
  /** A part of the body of the request. */
  onData(bytes: Buffer): void;
  /** The body is complete, with these trailers. */
  onEnd(trailers: Trailers): void;
}

/** The stream that a body comes in on. */
interface InboundStream {
  readonly id: number;
  readonly user: BodyUser;
  /** The client has ended its side. */
  remoteEnded(): void;
  /** The client broke the protocol on this stream. */
  fail(code: number, reason: string): void;
}

/** The connection that a body comes in on. */
export interface InboundConnection {
  readonly settings: { readonly streamWindow: number };
  /** The bytes that the client may send of a stream before it hears of more. */
  readonly streamWindow: number;
  /** Tells the client that it may send so many bytes more. */
  widen(stream: number, bytes: number): void;
  /** The gateway has handed on, or dropped, so many bytes of bodies. */
  credit(bytes: number): void;
}

/** The body of a request on its way in: handed on as it is wanted, and the client may send more as it is taken. */
export class Inbound {
  /** The client has sent all of it. */
  ended = false;
  /** Bytes that the client may still send. */
  window: number;
  private readonly stream: InboundStream;
  private readonly connection: InboundConnection;
  private flowing = false;
  /** Was taken, and the client was not told yet. */
  private taken = 0;
  /**
   * Bytes without a reader, in one piece: single bytes in pieces of their own would cost a hundred times as much.
   */
  private held: Buffer | undefined;
  private heldLength = 0;
  /** The end is still to be told. */
  private owesEnd = false;
  private trailers = NONE;
  /** Bytes to come by the length that was said; -1 where none was. */
  private left = -1;

  constructor(stream: InboundStream, connection: InboundConnection) {
    this.stream = stream;
    this.connection = connection;
    this.window = connection.streamWindow;
  }

  get paused(): boolean {
    return !this.flowing;
  }

  /**
   * The length that the head said (RFC 9113 §8.1.1). The head may have waited for its turn while the body came.
   * @returns false where the body is longer, or has ended and is shorter: the request is malformed, and was reset
   */
  expect(length: number): boolean {
    this.left = length - this.heldLength;
    if (this.left < 0) this.stream.fail(CODE.protocol, longer);
    return this.left >= 0 && (!this.ended || this.isWhole());
  }

  /** A frame of so many bytes, padding included, has begun. @returns false where that is more than allowed */
  charge(bytes: number): boolean {
    this.window -= bytes;
    return this.window >= 0;
  }

  /** Bytes of a frame that are nobody's, such as padding. */
  credit(bytes: number): void {
    this.connection.credit(bytes);
    this.taken += bytes;
    if (this.ended || this.taken < this.connection.settings.streamWindow / 2) return;
    this.connection.widen(this.stream.id, this.taken);
    this.window += this.taken;
    this.taken = 0;
  }

  data(bytes: Buffer, from: number, to: number): void {
    if (this.left >= 0) {
      this.left -= to - from;
      if (this.left < 0) {
        this.connection.credit(to - from);
        this.stream.fail(CODE.protocol, longer);
        return;
      }
    }
    if (this.flowing && this.heldLength === 0) {
      this.credit(to - from);
      this.stream.user.onData(bytes.subarray(from, to));
    } else this.hold(bytes, from, to);
  }

  end(trailers: Trailers = NONE): void {
    this.ended = true;
    if (!this.isWhole()) return;
    this.trailers = trailers;
    this.owesEnd = true;
    this.tell();
    this.stream.remoteEnded();
  }

  pause(): void {
    this.flowing = false;
  }

  resume(): void {
    if (this.flowing) return;
    this.flowing = true;
    this.tell();
  }

  /** The stream is over: what it holds is nobody's. */
  drop(): void {
    this.connection.credit(this.heldLength);
    this.held = undefined;
    this.heldLength = 0;
    this.owesEnd = false;
  }

  private tell(): void {
    const { held, heldLength } = this;
    if (this.flowing && held !== undefined) {
      this.held = undefined;
      this.heldLength = 0;
      this.credit(heldLength);
      this.stream.user.onData(held.subarray(0, heldLength));
    }
    if (!this.flowing || this.held !== undefined || !this.owesEnd) return;
    this.owesEnd = false;
    this.stream.user.onEnd(this.trailers);
  }

  private isWhole(): boolean {
    if (this.left <= 0) return true;
    this.stream.fail(CODE.protocol, 'less than content-length says');
    return false;
  }

  private hold(bytes: Buffer, from: number, to: number): void {
    this.held = append(this.held, this.heldLength, bytes, from, to, HELD_FIRST);
    this.heldLength += to - from;
  }
}
