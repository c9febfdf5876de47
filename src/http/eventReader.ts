import { StringDecoder } from 'node:string_decoder';
import { GatheredText } from './gatheredText.ts';
import type { LargeLine } from './lineSplitter.ts';

/** Takes the data of an event whose end has not come. */
export interface LargeEvent extends LargeLine {
  /** The event has another type, which came behind its data. */
  cancel(): void;
}

/** Reads an event stream. */
export interface EventHandler {
  /** Takes an event of the type `message`, which is also that of events without a type; its data is never empty. */
  onEvent(data: string): void;
  /** Takes an event over the limit: the first and the last characters of its data, and their total number. */
  onTooLong(head: string, tail: string, length: number): void;
  /**
   * An event of the type `message` with large data has begun.
   * @param head belongs to the taker, with its memory
   * @returns the taker of its data, the beginning included; undefined if the event is to be joined as others are
   */
  onLarge?(head: Buffer): LargeEvent | undefined;
  /** Takes an event of another type, with data or without; absent: such events are passed over. */
  onTyped?(type: string, data: string): void;
}

/** The characters that are kept at either end of a skipped event. */
const shown = 512;
/** Data over this length goes to a taker for large events, if there is one. */
const largeData = 1_048_576;
/** A stream that asks for an id longer than this is not resumed from there. */
const maxIdLength = 1_024;

const isPlain = (id: string): boolean => {
  // The id goes into a header of the next request, so it must not begin another header.
  return id.length <= maxIdLength && !/[\x00-\x1f\x7f]/.test(id);
};

/**
 * Server-sent events (HTML Living Standard §9.2.6), the reading side: bytes in pieces of any size, events out. A line
 * ends with LF, CR or both; what is held back is bounded, however long a line or an event becomes.
 */
export class EventReader {
  /** The id that a client resumes from: that of the last whole event which had one. */
  lastId: string | undefined;
  /** The time that the server asks clients to wait before they come back, in milliseconds. */
  retryMs: number | undefined;
  private readonly taker: EventHandler;
  private readonly maxLength: number;
  private readonly decoder = new StringDecoder('utf8');
  /** The beginning of a line whose end has not come. */
  private readonly held = new GatheredText();
  private heldLength = 0;
  private first = true;
  /** The last line ended with CR at the end of a piece: a LF that comes next belongs to it. */
  private afterReturn = false;
  private stopped = false;
  // The event so far.
  private readonly data = new GatheredText();
  private length = 0;
  private type = '';
  private id: string | undefined;
  /** The event is over the limit: the beginning of its data is kept, the rest is counted. */
  private skipped: { readonly head: string; tail: string } | undefined;

  /** Takes the data of the event. */
  private large: LargeEvent | undefined;
  private askedForLarge = false;
  /** The line goes to `large`, and has not ended. */
  private inLargeLine = false;
  /** A taker was told that the event is over the limit. */
  private isReported = false;

  /** @param maxLength of the data of one event, in characters */
  constructor(taker: EventHandler, maxLength: number) {
    this.taker = taker;
    this.maxLength = maxLength;
  }

  /** Stops: the taker gets no further events, not even of bytes that were taken already. */
  stop(): void {
    this.stopped = true;
  }

  /** A taker has got a part of an event. */
  get isInLarge(): boolean {
    return this.large !== undefined;
  }

  take(bytes: Buffer, from: number, to: number): void {
    const text = this.decoder.write(bytes.subarray(from, to));
    if (text === '') return;
    let at = 0;
    if (this.first) {
      this.first = false;
      if (text.startsWith('\ufeff')) at = 1;
    }
    if (this.afterReturn && text.charCodeAt(at) === 10) at++;
    this.afterReturn = false;
    let feed = text.indexOf('\n', at);
    let turn = text.indexOf('\r', at);
    for (;;) {
      if (this.stopped) return;
      if (feed !== -1 && feed < at) feed = text.indexOf('\n', at);
      if (turn !== -1 && turn < at) turn = text.indexOf('\r', at);
      const end = feed === -1 ? turn : turn === -1 ? feed : Math.min(feed, turn);
      if (end === -1) {
        this.hold(text.slice(at));
        return;
      }
      this.line(text.slice(at, end));
      at = end + 1;
      if (end !== turn) continue;
      if (text.charCodeAt(at) === 10) at++;
      else if (at === text.length) this.afterReturn = true;
    }
  }

  private hold(piece: string): void {
    if (piece === '') return;
    if (this.inLargeLine) {
      this.addLarge(piece);
      return;
    }
    this.heldLength += piece.length;
    // The name of the field and the space behind its colon come on top; an event that is skipped needs its ends only.
    if (this.heldLength > this.maxLength + 16) {
      this.skip(this.held.take() + piece);
    } else {
      this.held.add(piece);
      if (this.heldLength > largeData && !this.askedForLarge) this.askForLarge();
    }
  }

  /** The line is large: its data need not wait for its end, if it is all data of a message so far. */
  private askForLarge(): void {
    this.askedForLarge = true;
    const isMessage = this.type === '' || this.type === 'message';
    if (!isMessage || this.length > 0 || this.taker.onLarge === undefined) return;
    const line = this.held.take();
    if (line.startsWith('data:'))
      this.large = this.taker.onLarge(Buffer.from(line.slice(line[5] === ' ' ? 6 : 5)));
    if (this.large === undefined) {
      this.held.add(line);
      return;
    }
    this.length = this.heldLength;
    this.heldLength = 0;
    this.inLargeLine = true;
  }

  private addLarge(piece: string): void {
    this.length += piece.length;
    if (this.large === undefined || piece === '') return;
    if (this.length <= this.maxLength) {
      this.large.take(Buffer.from(piece));
      return;
    }
    const { large } = this;
    this.large = undefined;
    this.isReported = true;
    large.tooLong();
  }

  private line(rest: string): void {
    if (this.inLargeLine) {
      this.addLarge(rest);
      this.inLargeLine = false;
      return;
    }
    const whole = this.heldLength;
    if (whole === 0) {
      this.field(rest);
      return;
    }
    this.heldLength = 0;
    if (whole > this.maxLength + 16) this.skip(rest);
    else this.field(this.held.take() + rest);
  }

  private field(line: string): void {
    if (line === '') {
      this.dispatch();
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const name = colon === -1 ? line : line.slice(0, colon);
    const from = line.charCodeAt(colon + 1) === 0x20 ? colon + 2 : colon + 1;
    const value = colon === -1 ? '' : line.slice(from);
    if (name === 'data') this.add(value);
    else if (name === 'event') this.type = value;
    else if (name === 'id' && isPlain(value)) this.id = value;
    else if (name === 'retry' && /^\d{1,9}$/.test(value)) this.retryMs = Number(value);
  }

  private add(value: string): void {
    if (this.large !== undefined || this.isReported) {
      // A line break in JSON text is white space.
      this.addLarge(` ${value}`);
      return;
    }
    if (this.skipped !== undefined || this.length + value.length > this.maxLength) {
      this.skip(value);
      return;
    }
    this.data.add(this.length === 0 ? value : `\n${value}`);
    this.length += value.length + 1;
  }

  /** Counts data of an event that is over the limit. */
  private skip(piece: string): void {
    if (this.skipped === undefined) {
      const begun = this.length === 0 ? piece : `${this.data.take()}\n${piece}`;
      this.skipped = { head: begun.replace(/^data: ?/, '').slice(0, shown), tail: piece.slice(-shown) };
    } else this.skipped.tail = (this.skipped.tail + piece).slice(-shown);
    this.length += piece.length;
  }

  /** An empty line: the event is whole. */
  private dispatch(): void {
    const { length, type, id, skipped, large, isReported } = this;
    const text = this.data.take();
    this.length = 0;
    this.type = '';
    this.id = undefined;
    this.skipped = undefined;
    this.large = undefined;
    this.askedForLarge = false;
    this.isReported = false;
    if (id !== undefined) this.lastId = id;
    if (skipped !== undefined) {
      this.taker.onTooLong(skipped.head, skipped.tail, length);
      return;
    }
    if (isReported) return;
    if (large !== undefined) {
      if (type === '' || type === 'message') large.end();
      else large.cancel();
      return;
    }
    if (type !== '' && type !== 'message') this.taker.onTyped?.(type, text);
    else if (text !== '') this.taker.onEvent(text);
  }
}
