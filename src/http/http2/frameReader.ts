import { append } from './append.ts';
import { FRAME_HEAD, PREFACE } from './codes.ts';

/** The treatment of a frame's payload. */
export const WHOLE = 0;
export const PIECES = 1;
export const SKIPPED = 2;

/** Receives frames. Nothing more comes once `stopped` is true. */
export interface FrameSink {
  readonly stopped: boolean;
  /** Reports that the client did not begin with the preface of HTTP/2. */
  notHttp2(): void;
  /** The head of a frame. @returns WHOLE, PIECES or SKIPPED */
  begin(type: number, flags: number, stream: number, length: number): number;
  /** The payload of a frame that is wanted whole. */
  whole(bytes: Buffer, from: number, to: number): void;
  /** A part of a payload that is taken in pieces; `last` with its end, which may be empty. */
  piece(bytes: Buffer, from: number, to: number, last: boolean): void;
}

/** The first allocation for a payload that has not arrived yet: its length is only a claim. */
const HELD_FIRST = 1_024;

/** Finds the frames in the bytes of a connection, in whatever pieces they come (RFC 9113 §4.1). */
export class FrameReader {
  private readonly sink: FrameSink;
  private prefaceLeft = PREFACE.length;
  /** The head of a frame that is not whole yet. */
  private readonly head = Buffer.allocUnsafe(FRAME_HEAD);
  private headLength = 0;
  /** Within a payload. */
  private inside = false;
  private way = WHOLE;
  /** Bytes of the present payload to come. */
  private left = 0;
  /** The received part of a payload that is wanted whole. */
  private held: Buffer | undefined;
  private heldLength = 0;

  constructor(sink: FrameSink) {
    this.sink = sink;
  }

  take(bytes: Buffer): void {
    const { sink } = this;
    const end = bytes.length;
    let at = this.prefaceLeft > 0 ? this.preface(bytes) : 0;
    while (!sink.stopped) {
      if (this.inside) {
        at = this.payload(bytes, at, end);
        // An empty payload is complete without a further byte.
        if (this.inside) return;
        continue;
      }
      if (this.headLength === 0 && end - at >= FRAME_HEAD) {
        this.begin(bytes, at);
        at += FRAME_HEAD;
        continue;
      }
      while (at < end && this.headLength < FRAME_HEAD) this.head[this.headLength++] = bytes[at++] as number;
      if (this.headLength < FRAME_HEAD) return;
      this.headLength = 0;
      this.begin(this.head, 0);
    }
  }

  private preface(bytes: Buffer): number {
    let at = 0;
    while (this.prefaceLeft > 0 && at < bytes.length) {
      if (bytes[at++] !== PREFACE[PREFACE.length - this.prefaceLeft--]) {
        this.sink.notHttp2();
        return at;
      }
    }
    return at;
  }

  private begin(bytes: Buffer, at: number): void {
    const length =
      ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number);
    const stream = bytes.readUInt32BE(at + 5) & 0x7fff_ffff;
    this.inside = true;
    this.left = length;
    this.way = this.sink.begin(bytes[at + 3] as number, bytes[at + 4] as number, stream, length);
  }

  /** @returns the offset behind what was taken */
  private payload(bytes: Buffer, at: number, end: number): number {
    const { sink, left, way } = this;
    const step = Math.min(left, end - at);
    const to = at + step;
    this.left = left - step;
    this.inside = this.left > 0;
    if (way === SKIPPED) return to;
    if (way === PIECES) {
      if (step > 0 || left === 0) sink.piece(bytes, at, to, !this.inside);
      return to;
    }
    if (this.heldLength === 0 && !this.inside) sink.whole(bytes, at, to);
    else {
      this.hold(bytes, at, to);
      if (!this.inside) {
        const { held, heldLength } = this;
        this.held = undefined;
        this.heldLength = 0;
        sink.whole(held as Buffer, 0, heldLength);
      }
    }
    return to;
  }

  private hold(bytes: Buffer, from: number, to: number): void {
    this.held = append(this.held, this.heldLength, bytes, from, to, HELD_FIRST);
    this.heldLength += to - from;
  }
}
