import { GatheredBytes } from '../gatheredBytes.ts';

const newline = 0x0a;
/** Kept of both ends of a line that is too long, to find out whose answer it was. */
const keptEdge = 512;
/** A line over this length goes to a taker for large lines, if there is one. */
const largeLine = 1_048_576;

/** Takes the bytes of a line whose end has not come. */
export interface LargeLine {
  /** @param bytes belong to the taker from now on, with their memory */
  take(bytes: Buffer): void;
  end(): void;
  /** The line is over the limit; nothing more of it comes. */
  tooLong(): void;
}

export interface LineReader {
  /** A whole line without its line break, decoded as UTF-8. */
  onLine(text: string): void;
  /** A line over the limit ended; only its ends are known. */
  onTooLong(head: string, tail: string, bytes: number): void;
  /**
   * A large line has begun.
   * @param head belongs to the taker, with its memory
   * @returns the taker of its bytes, these included; undefined if it is to be joined as others are, its head unchanged
   */
  onLarge?(head: Buffer): LargeLine | undefined;
}

/**
 * Cuts a byte stream into lines. A line that spans chunks is joined once, when it ends; a line over the limit is
 * counted and forgotten, so that memory stays within the limit and the stream goes on after it.
 */
export class LineSplitter {
  private parts = new GatheredBytes();
  private length = 0;
  private head: Buffer | undefined;
  private tail: Buffer = Buffer.alloc(0);
  /** Takes the bytes of the line. */
  private large: LargeLine | undefined;
  private askedForLarge = false;
  private readonly limit: () => number;
  private readonly reader: LineReader;

  /** @param limit the longest line in bytes; asked at every chunk, so that a reload takes effect */
  constructor(limit: () => number, reader: LineReader) {
    this.limit = limit;
    this.reader = reader;
  }

  /** The line is large, and its end has not come. */
  get isInLarge(): boolean {
    return this.length > largeLine;
  }

  push(chunk: Buffer): void {
    const rest = this.takeLines(chunk, chunk.length);
    if (rest < chunk.length) this.keep(chunk.subarray(rest), this.limit());
  }

  /** @param memory whose first `length` bytes are the next of the stream; its owner overwrites it afterwards */
  pushFrom(memory: Buffer, length: number): void {
    const rest = this.takeLines(memory, length);
    if (rest < length) this.keep(memory.subarray(rest, length), this.limit());
  }

  /** @returns the beginning of the line that does not end in these bytes */
  private takeLines(bytes: Buffer, length: number): number {
    const limit = this.limit();
    let at = 0;
    while (at < length) {
      const end = bytes.indexOf(newline, at);
      if (end < 0 || end >= length) break;
      this.finish(bytes, at, end, limit);
      at = end + 1;
    }
    return at;
  }

  /** The stream ended: what is left without a line break is a line too. */
  end(): void {
    if (this.length > 0) this.finish(Buffer.alloc(0), 0, 0, this.limit());
  }

  private finish(chunk: Buffer, start: number, end: number, limit: number): void {
    if (this.length === 0 && end - start <= limit) {
      this.emit(chunk, start, end);
      return;
    }
    if (end > start || this.length === 0) this.keep(chunk.subarray(start, end), limit);
    if (this.large !== undefined) {
      const { large } = this;
      this.reset();
      large.end();
      return;
    }
    if (this.head !== undefined) {
      const bytes = this.length;
      const head = this.head.toString('latin1');
      const tail = this.tail.toString('latin1');
      const isReported = this.askedForLarge && this.head.length === 0;
      this.reset();
      if (isReported) return;
      this.reader.onTooLong(head, tail, bytes);
      return;
    }
    const line = this.parts.whole();
    this.reset();
    this.emit(line, 0, line.length);
  }

  private emit(bytes: Buffer, start: number, end: number): void {
    const stop = end > start && bytes[end - 1] === 0x0d ? end - 1 : end;
    if (stop > start) this.reader.onLine(bytes.toString('utf8', start, stop));
  }

  private keep(part: Buffer, limit: number): void {
    this.length += part.length;
    if (this.large !== undefined) {
      this.keepLarge(this.large, part, limit);
      return;
    }
    if (this.head === undefined) {
      this.parts.add(part);
      if (this.length > largeLine && this.length <= limit && !this.askedForLarge) this.askForLarge();
      if (this.length <= limit) return;
      const all = this.parts.whole();
      this.parts = new GatheredBytes();
      this.head = Buffer.from(all.subarray(0, keptEdge));
      this.tail = Buffer.from(all.subarray(-keptEdge));
      return;
    }
    const joined = part.length >= keptEdge ? part : Buffer.concat([this.tail, part]);
    this.tail = Buffer.from(joined.subarray(-keptEdge));
  }

  private askForLarge(): void {
    this.askedForLarge = true;
    if (this.reader.onLarge === undefined) return;
    const head = this.parts.takeWhole();
    this.large = this.reader.onLarge(head);
    if (this.large === undefined) this.parts.add(head);
  }

  private keepLarge(large: LargeLine, part: Buffer, limit: number): void {
    if (this.length <= limit) {
      // The taker keeps the bytes, and the memory gets the next ones.
      large.take(Buffer.from(part));
      return;
    }
    // The rest is skipped, as that of every line over the limit; the taker has reported it.
    this.large = undefined;
    this.head = Buffer.alloc(0);
    large.tooLong();
  }

  private reset(): void {
    this.parts = new GatheredBytes();
    this.length = 0;
    this.head = undefined;
    this.large = undefined;
    this.askedForLarge = false;
  }
}
