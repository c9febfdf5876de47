import { CODE, FLAG } from './codes.ts';
import type { ServerStream } from './stream.ts';
import type { StreamTable } from './streamTable.ts';

/** The connection that bodies come in on. */
interface BodyConnection {
  readonly owner: {
    /** Bytes that brought a request further. */
    useful(bytes: number): void;
  };
  readonly streams: StreamTable;
  /** Bytes of a body are coming. @returns false where the client may not send so many */
  charge(bytes: number): boolean;
  /** The gateway has handed on, or dropped, so many bytes of bodies. */
  credit(bytes: number): void;
  /** Ends the connection with an error. */
  fail(code: number, reason: string): void;
}

/** Reads DATA, frame by frame and each in whatever pieces it comes (RFC 9113 §6.1). */
export class BodyReader {
  private readonly connection: BodyConnection;
  private stream: ServerStream | undefined;
  private id = 0;
  private ends = false;
  /** The rest of the present frame. */
  private left = 0;
  private padding = 0;
  /** Set if a padding length precedes the payload. */
  private padded = false;

  constructor(connection: BodyConnection) {
    this.connection = connection;
  }

  begin(id: number, flags: number, length: number): void {
    const { connection } = this;
    const stream = (this.stream = connection.streams.get(id));
    this.id = id;
    this.ends = (flags & FLAG.endStream) !== 0;
    this.left = length;
    this.padding = 0;
    this.padded = (flags & FLAG.padded) !== 0;
    if (!connection.charge(length))
      connection.fail(CODE.flowControl, 'more than the window of the connection');
    else if (stream === undefined) {
      const code = connection.streams.lateness(id);
      if (code !== CODE.none) connection.fail(code, 'DATA of a stream that is not open');
    } else if (stream.inbound.ended) connection.fail(CODE.streamClosed, 'DATA behind the end');
    else if (!stream.inbound.charge(length))
      stream.fail(CODE.flowControl, 'more than the window of the stream');
  }

  piece(bytes: Buffer, from: number, to: number, last: boolean): void {
    const { connection, stream } = this;
    let at = from;
    if (this.padded && at < to) {
      this.padded = false;
      this.padding = bytes[at++] as number;
      if (this.padding >= this.left) {
        connection.fail(CODE.protocol, 'more padding than payload');
        return;
      }
    }
    this.left -= to - from;
    // Padding stands at the end of the frame.
    const end = Math.max(at, to - Math.max(0, this.padding - this.left));
    if (stream === undefined || stream.closed) connection.credit(to - from);
    else {
      const bare = to - from - (end - at);
      if (bare > 0) stream.inbound.credit(bare);
      if (end > at) {
        connection.owner.useful(end - at);
        stream.inbound.data(bytes, at, end);
      }
    }
    if (!last || !this.ends) return;
    if (stream === undefined || stream.closed) connection.streams.past.ended(this.id);
    else stream.inbound.end();
  }
}
