import type { Journal, JournalEvent } from './journal.ts';
import type { ItemRules } from '../items/itemRules.ts';
import { canSeeItem, type ItemNameSource } from '../items/itemVisibility.ts';
import { formatComment, formatEvent, type ReplyStream } from '../../http/index.ts';

/** Bytes waiting for a slow client at which its targets are no longer read. */
const highWater = 1_048_576;
/** After this long without an event a comment is sent, in milliseconds: time-outs in between start at 30 s. */
const keepAliveMs = 15_000;
/** The time that a client is told to wait before it resumes a stream, in milliseconds. */
const retryMs = 1_000;

/** Told when a stream begins to hold back its session and when it no longer does. */
export interface PressureGauge {
  pressed(): void;
  eased(): void;
}

/** An event stream to the client: framing, keep-alive, and the handling of a client that does not read. */
export class EventSink {
  readonly journal: Journal;
  private readonly stream: ReplyStream;
  private readonly gauge: PressureGauge;
  /** Decides which items the reader of the stream may know of. */
  readonly itemRules: ItemRules | undefined;
  private full = false;
  private lastWrite: number;
  /** Bytes pending at the tick before; 0 when the stream was not full then. */
  private pendingBefore = 0;

  /** @param itemRules the rules of the caller who reads the stream */
  constructor(stream: ReplyStream, gauge: PressureGauge, journal: Journal, itemRules?: ItemRules) {
    this.itemRules = itemRules;
    this.stream = stream;
    this.gauge = gauge;
    this.journal = journal;
    this.lastWrite = performance.now();
    stream.onDrain(() => this.ease());
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

  end(): void {
    this.ease();
    if (!this.stream.closed) this.stream.end();
  }

  /** The client left, or the stream ended in another way. */
  dropped(): void {
    this.ease();
  }

  /** Every few seconds: keeps the stream alive, and cuts it when the client took nothing since the last call. */
  tick(now: number): void {
    if (this.stream.closed) return;
    if (this.full) {
      const pending = this.stream.pendingBytes;
      if (pending < highWater) this.ease();
      else if (this.pendingBefore !== 0 && pending >= this.pendingBefore) {
        this.stream.destroy();
        this.ease();
      } else this.pendingBefore = pending;
      return;
    }
    if (now - this.lastWrite >= keepAliveMs) {
      this.comment('keep-alive');
      this.lastWrite = now;
    }
  }

  private write(text: string): void {
    if (this.stream.closed) return;
    const taken = this.stream.write(text);
    this.lastWrite = performance.now();
    if (taken || this.full || this.stream.pendingBytes < highWater) return;
    this.full = true;
    this.pendingBefore = 0;
    this.gauge.pressed();
  }

  private ease(): void {
    if (!this.full) return;
    this.full = false;
    this.gauge.eased();
  }
}
