import type { Journal, JournalEvent } from './journal.ts';
import type { ItemRules } from '../items/itemRules.ts';
import { canSeeItem, type ItemNameSource } from '../items/itemVisibility.ts';
import { PacedStream, type PressureGauge } from './pacedStream.ts';
import { formatComment, formatEvent, type ReplyStream } from '../../http/index.ts';

/** After this long without an event a comment is sent, in milliseconds: time-outs in between start at 30 s. */
const keepAliveMs = 15_000;
/** The time that a client is told to wait before it resumes a stream, in milliseconds. */
const retryMs = 1_000;

/** An event stream to the client: framing, keep-alive, and the handling of a client that does not read. */
export class EventSink {
  readonly journal: Journal;
  private readonly stream: PacedStream;
  /** Decides which items the reader of the stream may know of. */
  readonly itemRules: ItemRules | undefined;
  private lastWrite: number;
  /** Events that wait for the end of one that is sent in parts; undefined while none is. */
  private waiting: string[] | undefined;

  /** @param itemRules the rules of the caller who reads the stream */
  constructor(stream: ReplyStream, gauge: PressureGauge, journal: Journal, itemRules?: ItemRules) {
    this.itemRules = itemRules;
    this.stream = new PacedStream(stream, gauge);
    this.journal = journal;
    this.lastWrite = performance.now();
  }

  get closed(): boolean {
    return this.stream.closed;
  }

  /**
   * Sends one JSON-RPC message; a client that has lost the stream can come back for it.
   * @param names what the message tells of: it is dropped where the reader may not know of it
   */
  send(message: string, names?: ItemNameSource): void {
    if (!canSeeItem(this.itemRules, names)) return;
    const id = this.journal.record(message, names);
    this.write(formatEvent(message, { event: 'message', ...(id !== undefined && { id }) }));
  }

  /** Sends again what came after an event that the client has. */
  replay(seq: number): void {
    for (const event of this.journal.after(seq)) this.repeat(this.journal.id(event.seq), event);
  }

  /** Sends an event again under its id. */
  repeat(id: string, { text, names }: Pick<JournalEvent, 'text' | 'names'>): void {
    if (canSeeItem(this.itemRules, names)) this.write(formatEvent(text, { event: 'message', id }));
  }

  /** An event without data, whose id lets a client resume a stream that has said nothing yet (2025-11-25). */
  prime(): void {
    this.write(formatEvent('', { id: this.journal.id(0), retry: retryMs }));
  }

  comment(text: string): void {
    this.write(formatComment(text));
  }

  /**
   * Begins an event whose data comes in parts. Its data must be one line.
   * @param kept the message for a client that comes back for the event, which is too large to be kept
   * @returns false while another event is sent in parts
   */
  beginParts(kept: string): boolean {
    if (this.waiting !== undefined) return false;
    const id = this.journal.record(kept);
    this.write(`event: message\n${id === undefined ? '' : `id: ${id}\n`}data: `);
    this.waiting = [];
    return true;
  }

  /** @param release as in `ReplyStream` */
  writePart(bytes: Buffer, release?: () => void): void {
    this.stream.write(bytes, release);
    this.lastWrite = performance.now();
  }

  endParts(): void {
    this.endEvent('\n\n');
  }

  /** The data is not whole. A later field gives the event another type, which readers of messages ignore. */
  breakOffParts(): void {
    this.endEvent('\nevent: broken\n\n');
  }

  private endEvent(rest: string): void {
    const waiting = this.waiting ?? [];
    this.waiting = undefined;
    for (const text of [rest, ...waiting]) this.write(text);
  }

  end(): void {
    this.stream.end();
  }

  /** The client left, or the stream ended in another way. */
  dropped(): void {
    this.stream.ease();
  }

  /** Every few seconds: keeps the stream alive, and cuts it when the client took nothing since the last call. */
  tick(now: number): void {
    if (this.stream.closed) return;
    if (this.stream.isFull) this.stream.tick();
    else if (this.waiting === undefined && now - this.lastWrite >= keepAliveMs) this.comment('keep-alive');
  }

  private write(text: string): void {
    if (this.stream.closed) return;
    if (this.waiting !== undefined) {
      this.waiting.push(text);
      return;
    }
    this.stream.write(text);
    this.lastWrite = performance.now();
  }
}
