/** Codes of RFC 9113 §7. */
export const PROTOCOL_ERROR = 1;
export const STREAM_CLOSED = 5;

const DATA = 0;
const HEADERS = 1;
const PRIORITY = 2;
const RST_STREAM = 3;
const PING = 6;
const CONTINUATION = 9;
const ACK = 1;
const END_STREAM = 1;

const HEAD = 9;
const PREFACE = 24;
/** What of a PRIORITY frame is looked at: the stream it depends on (RFC 7540 §6.3). */
const DEPENDENCY = 4;

/** How many of the latest streams are remembered; of older ones nothing is claimed. */
const REMEMBERED = 1_024;

/** What the client has done with a stream. */
const SKIPPED = 0;
const OPEN = 1;
const ENDED = 2;

/** Who gets what was looked at. */
export interface FrameReader {
  /** Bytes that go on to the codec. */
  take(bytes: Buffer): void;
  /** Has a PING of ours no answer yet? */
  readonly pinging: boolean;
}

/**
 * Looks at the heads of the frames that a client of HTTP/2 sends, before the codec gets them, for what the codec lets
 * pass and RFC 9113 does not: frames on streams that the client itself has ended (§5.1) or passed over (§5.1.1), and
 * PRIORITY for the connection (§6.3). It takes out acknowledgements of a PING that nobody sent (§6.7: they get no answer,
 * but the codec would end the connection). Frames themselves are not kept.
 */
export class Http2Frames {
  private readonly reader: FrameReader;
  /** Bytes of the present frame, or of the preface, that go on unseen. */
  private left = PREFACE;
  /** The present frame goes nowhere. */
  private dropping = false;
  /** The head of a frame that is not whole yet. */
  private readonly held = Buffer.alloc(HEAD + DEPENDENCY);
  private heldLength = 0;
  /** The highest stream the client has opened. */
  private latest = -1;
  private readonly states = new Uint8Array(REMEMBERED);

  constructor(reader: FrameReader) {
    this.reader = reader;
  }

  /** @returns the code of the error that ends the connection; nothing behind it was passed on */
  take(bytes: Buffer): number | undefined {
    let from = 0;
    let at = 0;
    if (this.heldLength > 0) {
      at = this.complete(bytes);
      if (at === 0) return undefined;
      from = at;
      const error = this.judge(this.held, 0);
      if (error !== undefined) return error;
      if (!this.dropping) this.reader.take(Buffer.from(this.held.subarray(0, this.heldLength)));
      this.heldLength = 0;
    }
    for (;;) {
      const step = Math.min(this.left, bytes.length - at);
      at += step;
      this.left -= step;
      if (this.dropping) {
        from = at;
        this.dropping = this.left > 0;
      }
      if (at === bytes.length) break;
      if (!whole(bytes, at, bytes.length)) {
        if (at > from) this.reader.take(bytes.subarray(from, at));
        bytes.copy(this.held, 0, at);
        this.heldLength = bytes.length - at;
        return undefined;
      }
      const error = this.judge(bytes, at);
      if (error !== undefined || this.dropping) {
        if (at > from) this.reader.take(bytes.subarray(from, at));
        if (error !== undefined) return error;
      }
    }
    if (at > from) this.reader.take(from === 0 ? bytes : bytes.subarray(from, at));
    return undefined;
  }

  /** Adds to the head that is held. @returns how many bytes were taken for it, 0 where it is still not whole */
  private complete(bytes: Buffer): number {
    let taken = 0;
    while (!whole(this.held, 0, this.heldLength)) {
      if (taken === bytes.length) return 0;
      this.held[this.heldLength++] = bytes[taken++] as number;
    }
    return taken;
  }

  /** Looks at the head at `at` and sets how much of the frame there is to pass, head included. */
  private judge(bytes: Buffer, at: number): number | undefined {
    const type = bytes[at + 3] as number;
    const flags = bytes[at + 4] as number;
    const stream = bytes.readUInt32BE(at + 5) & 0x7fff_ffff;
    // What of the held bytes is already taken is not counted again.
    this.left = HEAD + bytes.readUIntBE(at, 3) - (bytes === this.held ? this.heldLength : 0);
    switch (type) {
      case HEADERS:
        return this.headers(stream, (flags & END_STREAM) !== 0);
      case DATA: {
        const error = this.known(stream);
        if ((flags & END_STREAM) !== 0) this.note(stream, ENDED);
        return error;
      }
      case CONTINUATION:
        return undefined;
      case RST_STREAM:
        this.note(stream, ENDED);
        return undefined;
      case PRIORITY:
        return stream === 0 || dependsOnItself(bytes, at, stream) ? PROTOCOL_ERROR : undefined;
      case PING:
        this.dropping = (flags & ACK) !== 0 && stream === 0 && !this.reader.pinging;
        return undefined;
      default:
        return undefined;
    }
  }

  private headers(stream: number, ends: boolean): number | undefined {
    if ((stream & 1) === 0) return undefined;
    if (stream > this.latest) {
      const passed = Math.min((stream - this.latest) / 2, REMEMBERED);
      for (let i = 1; i < passed; i++) this.states[slot(this.latest + 2 * i)] = SKIPPED;
      this.latest = stream;
    } else {
      const error = this.known(stream);
      if (error !== undefined) return error;
    }
    this.note(stream, ends ? ENDED : OPEN);
    return undefined;
  }

  /** May the client still send on this stream? Of one that was never opened, or long ago, the codec knows better. */
  private known(stream: number): number | undefined {
    if (!this.remembers(stream)) return undefined;
    const state = this.states[slot(stream)];
    if (state === SKIPPED) return PROTOCOL_ERROR;
    return state === ENDED ? STREAM_CLOSED : undefined;
  }

  private note(stream: number, state: number): void {
    if (this.remembers(stream)) this.states[slot(stream)] = state;
  }

  private remembers(stream: number): boolean {
    return (stream & 1) === 1 && stream <= this.latest && this.latest - stream < 2 * REMEMBERED;
  }
}

const slot = (stream: number): number => (stream >>> 1) % REMEMBERED;

/** Is enough of the frame there to judge it? */
function whole(bytes: Buffer, at: number, end: number): boolean {
  if (end - at < HEAD) return false;
  return bytes[at + 3] !== PRIORITY || end - at >= HEAD + Math.min(DEPENDENCY, bytes.readUIntBE(at, 3));
}

/** RFC 7540 §5.3.1; RFC 9113 has no use for priorities any more and does not say that they may be nonsense. */
const dependsOnItself = (bytes: Buffer, at: number, stream: number): boolean =>
  bytes.readUIntBE(at, 3) >= DEPENDENCY && (bytes.readUInt32BE(at + HEAD) & 0x7fff_ffff) === stream;
