import { append } from './append.ts';
import { FLAG, WINDOW_MOST } from './codes.ts';

const NOTHING: Buffer = Buffer.alloc(0);

/** The encoded fields of one head, in one frame or more (RFC 9113 §4.3). */
export class HeadBlock {
  /** More is to come. */
  open = false;
  stream = 0;
  /** The stream ends with it. */
  ends = false;
  /** It opens its stream; otherwise it is one of trailers. */
  opens = false;
  /** The stream is said to depend on itself (RFC 7540 §5.3.1). */
  dependsOnItself = false;
  bytes: Buffer = NOTHING;
  from = 0;
  to = 0;

  get length(): number {
    return this.to - this.from;
  }

  begin(stream: number, ends: boolean, opens: boolean): void {
    this.open = true;
    this.stream = stream;
    this.ends = ends;
    this.opens = opens;
    this.dependsOnItself = false;
  }

  /** The payload of HEADERS. @returns what is wrong with it */
  headers(bytes: Buffer, start: number, end: number, flags: number): string | undefined {
    let from = start;
    let to = end;
    if ((flags & FLAG.padded) !== 0) to -= bytes[from++] as number;
    if ((flags & FLAG.priority) !== 0) {
      this.dependsOnItself = (bytes.readUInt32BE(from) & WINDOW_MOST) === this.stream;
      from += 5;
    }
    if (from > to) return 'more padding than payload';
    this.open = (flags & FLAG.endHeaders) === 0;
    // If more frames follow, the bytes are copied, because those of the frame are not ours to keep.
    this.bytes = this.open ? Buffer.from(bytes.subarray(from, to)) : bytes;
    this.from = this.open ? 0 : from;
    this.to = this.from + to - from;
    return undefined;
  }

  /** The payload of CONTINUATION. */
  add(bytes: Buffer, from: number, to: number, flags: number): void {
    this.open = (flags & FLAG.endHeaders) === 0;
    this.bytes = append(this.bytes, this.to, bytes, from, to, 0);
    this.to += to - from;
  }

  /** It was read. */
  release(): void {
    this.bytes = NOTHING;
    this.from = this.to = 0;
  }
}
