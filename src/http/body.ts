import { HEX, TOKEN, VALUE } from './octets.ts';

/** The framing that determines the end of a body (RFC 9112 §6.3). */
export const FRAMING = { none: 0, length: 1, chunked: 2, close: 3 } as const;

/** States of the chunk scanner: what byte is expected next. */
const SIZE = 0;
const EXTENSION_NAME = 1;
const SIZE_LF = 2;
const DATA = 3;
const DATA_CR = 4;
const DATA_LF = 5;
const LINE = 6;
const TRAILER_NAME = 7;
const TRAILER_VALUE = 8;
const TRAILER_LF = 9;
const LAST_LF = 10;
const EXTENSION_START = 11;
const EXTENSION_VALUE_START = 12;
const EXTENSION_VALUE = 13;
const EXTENSION_QUOTED = 14;
const EXTENSION_ESCAPED = 15;
const EXTENSION_QUOTED_END = 16;

const CR = 13;
const LF = 10;
const SEMICOLON = 59;
const COLON = 58;
const EQUALS = 61;
const QUOTE = 34;
const BACKSLASH = 92;

/** Bytes of extensions and trailers in one message: they carry nothing we need, so little is enough. */
const MAX_EXTENSION_BYTES = 16_384;

/** Fields that must not come as trailers (RFC 9110 §6.5.1): a reader that merges them would be fooled. */
const refusedTrailers = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-range',
  'content-type',
  'content_length',
  'keep-alive',
  'location',
  'proxy-authenticate',
  'proxy-connection',
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'transfer_encoding',
  'upgrade',
  'www-authenticate',
]);

/** Further ones of requests. In an answer they mean nothing to a client, and servers of gRPC send some of them. */
const refusedInRequests = new Set([
  'authorization',
  'cookie',
  'expect',
  'forwarded',
  'host',
  'max-forwards',
  'proxy-authorization',
  'range',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-request-id',
]);

/** Takes the payload bytes of a chunked body, without its framing. */
export type ChunkSink = (bytes: Buffer, from: number, to: number) => void;

/**
 * Follows one body through the bytes of its connection and says where it ends. The framing bytes are checked as
 * strictly as heads are: no bare CR or LF, no sign or space in a size, nothing after an extension.
 */
export class Body {
  kind: number = FRAMING.none;
  done = true;
  /** Bytes of payload taken so far, framing not counted. */
  payload = 0;
  /** Bytes still to come of the body (length) or of the chunk (chunked). */
  private left = 0;
  private state = SIZE;
  private digits = 0;
  private spare = 0;
  private trailerName = '';
  private isAnswer = false;
  /** Lines of the trailer section, where somebody wants them. */
  trailers: string | undefined;
  /** Tells the names that must not come as trailers in this message, in lower case. */
  refusesTrailer: ((lowerName: string) => boolean) | undefined;
  /**
   * Bytes of chunk extensions that the last `take` cut out. The bytes in front of the cut moved together in place, so
   * the framing to pass on ends that many bytes before the returned offset.
   */
  cut = 0;

  /** A body of a known length; of none when it is 0. */
  startLength(length: number): void {
    this.kind = length === 0 ? FRAMING.none : FRAMING.length;
    this.left = length;
    this.payload = 0;
    this.done = length === 0;
  }

  startChunked(of: 'request' | 'answer' = 'request'): void {
    this.kind = FRAMING.chunked;
    this.isAnswer = of === 'answer';
    this.left = 0;
    this.payload = 0;
    this.state = SIZE;
    this.digits = 0;
    this.spare = 0;
    this.done = false;
  }

  startUntilClose(): void {
    this.kind = FRAMING.close;
    this.payload = 0;
    this.done = false;
  }

  startNone(): void {
    this.kind = FRAMING.none;
    this.done = true;
  }

  /** Bytes that are still to come where the length is known; 0 where it is not. */
  get remaining(): number {
    return this.kind === FRAMING.length ? this.left : 0;
  }

  /**
   * Takes what belongs to the body from `bytes[from..to)`. Chunk extensions are cut out (RFC 9112 §7.1.1 lets a
   * recipient drop them): readers differ about where a hostile one ends. See `cut`.
   * @param sink gets the payload of a chunked body; left out when the framing is passed on as it is
   * @returns the offset behind the last byte taken (`done` says whether the body is complete), or -1 for bad framing
   */
  take(bytes: Buffer, from: number, to: number, sink?: ChunkSink): number {
    this.cut = 0;
    switch (this.kind) {
      case FRAMING.length: {
        const end = to - from < this.left ? to : from + this.left;
        this.left -= end - from;
        this.payload += end - from;
        this.done = this.left === 0;
        return end;
      }
      case FRAMING.chunked:
        return this.scan(bytes, from, to, sink);
      case FRAMING.close:
        this.payload += to - from;
        return to;
      default:
        return from;
    }
  }

  private scan(bytes: Buffer, from: number, to: number, sink: ChunkSink | undefined): number {
    let p = from;
    // Without an extension both stay: what is passed on ends where the reader is.
    let kept = from;
    let clean = this.inExtension ? to : from;
    while (p < to) {
      const code = bytes[p] as number;
      switch (this.state) {
        case SIZE: {
          const digit = HEX[code] as number;
          if (digit !== 255) {
            // 12 digits stay exact in a double.
            if (++this.digits > 12) return -1;
            this.left = this.left * 16 + digit;
          } else if (this.digits === 0) return -1;
          else if (code === CR) this.state = SIZE_LF;
          else if (code === SEMICOLON) {
            this.state = EXTENSION_START;
            // A sink got its payload already, and may still hold on to it.
            if (sink === undefined) kept = move(bytes, clean, p, kept);
          } else return -1;
          p++;
          break;
        }
        case EXTENSION_START:
        case EXTENSION_NAME:
        case EXTENSION_VALUE_START:
        case EXTENSION_VALUE:
        case EXTENSION_QUOTED:
        case EXTENSION_ESCAPED:
        case EXTENSION_QUOTED_END: {
          const next = extension(this.state, code);
          if (next < 0 || ++this.spare > MAX_EXTENSION_BYTES) return -1;
          this.state = next;
          if (next === SIZE_LF) clean = p;
          p++;
          break;
        }
        case SIZE_LF:
          if (code !== LF) return -1;
          this.state = this.left === 0 ? LINE : DATA;
          this.digits = 0;
          p++;
          break;
        case DATA: {
          const end = to - p < this.left ? to : p + this.left;
          if (sink !== undefined) sink(bytes, p, end);
          this.left -= end - p;
          this.payload += end - p;
          if (this.left === 0) this.state = DATA_CR;
          p = end;
          break;
        }
        case DATA_CR:
          if (code !== CR) return -1;
          this.state = DATA_LF;
          p++;
          break;
        case DATA_LF:
          if (code !== LF) return -1;
          this.state = SIZE;
          p++;
          break;
        case LINE:
          if (code === CR) {
            this.state = LAST_LF;
            p++;
          } else {
            this.trailerName = '';
            this.state = TRAILER_NAME;
          }
          break;
        case TRAILER_NAME: {
          const lower = TOKEN[code] as number;
          if (lower !== 0) {
            if (this.trailerName.length > 256) return -1;
            this.trailerName += String.fromCharCode(lower);
          } else if (code !== COLON || this.trailerName === '' || this.refuses(this.trailerName)) return -1;
          else this.state = TRAILER_VALUE;
          if (++this.spare > MAX_EXTENSION_BYTES) return -1;
          if (this.trailers !== undefined) this.trailers += String.fromCharCode(code);
          p++;
          break;
        }
        case TRAILER_VALUE:
          if (code === CR) this.state = TRAILER_LF;
          else if (VALUE[code] === 0 || ++this.spare > MAX_EXTENSION_BYTES) return -1;
          if (this.trailers !== undefined) this.trailers += String.fromCharCode(code);
          p++;
          break;
        case TRAILER_LF:
          if (code !== LF) return -1;
          if (this.trailers !== undefined) this.trailers += '\n';
          this.state = LINE;
          p++;
          break;
        default:
          if (code !== LF) return -1;
          this.done = true;
          p++;
          this.finish(bytes, clean, p, kept, sink);
          return p;
      }
    }
    this.finish(bytes, this.inExtension ? to : clean, p, kept, sink);
    return p;
  }

  private refuses(lowerName: string): boolean {
    if (refusedTrailers.has(lowerName) || (!this.isAnswer && refusedInRequests.has(lowerName))) return true;
    return this.refusesTrailer?.(lowerName) === true;
  }

  private get inExtension(): boolean {
    return this.state >= EXTENSION_START || this.state === EXTENSION_NAME;
  }

  /** Moves what is behind the last cut, and notes how much was cut out. */
  private finish(bytes: Buffer, clean: number, end: number, kept: number, sink: ChunkSink | undefined): void {
    if (sink === undefined && clean !== kept) this.cut = end - move(bytes, clean, end, kept);
  }
}

/** Moves `bytes[from..to)` down to `at`. @returns the offset behind it */
function move(bytes: Buffer, from: number, to: number, at: number): number {
  if (from !== at && to > from) bytes.copyWithin(at, from, to);
  return at + Math.max(0, to - from);
}

/** chunk-ext (RFC 9112 §7.1.1) without the white space it allows for old times' sake. @returns the next state, or -1 */
function extension(state: number, code: number): number {
  const token = TOKEN[code] !== 0;
  switch (state) {
    case EXTENSION_START:
      return token ? EXTENSION_NAME : -1;
    case EXTENSION_VALUE_START:
      return token ? EXTENSION_VALUE : code === QUOTE ? EXTENSION_QUOTED : -1;
    case EXTENSION_QUOTED:
      if (code === QUOTE) return EXTENSION_QUOTED_END;
      return code === BACKSLASH ? EXTENSION_ESCAPED : VALUE[code] === 1 ? EXTENSION_QUOTED : -1;
    case EXTENSION_ESCAPED:
      return VALUE[code] === 1 ? EXTENSION_QUOTED : -1;
    default:
      if (token && state !== EXTENSION_QUOTED_END) return state;
      if (code === CR) return SIZE_LF;
      if (code === SEMICOLON) return EXTENSION_START;
      return code === EQUALS && state === EXTENSION_NAME ? EXTENSION_VALUE_START : -1;
  }
}
