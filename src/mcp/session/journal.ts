/** The events that were sent on streams, kept for clients that lose a stream and come back with `Last-Event-ID`. */

import type { RetainedMemory } from '../limits/retainedMemory.ts';
import type { ItemNameSource } from '../items/itemVisibility.ts';
import type { SessionEvents } from '../replicas/storedEvents.ts';
import { storedText } from './storedText.ts';

export interface JournalEvent {
  readonly seq: number;
  readonly text: string;
  /** The item that it names, for the rules of the caller who reads it again. */
  readonly names: ItemNameSource | undefined;
}

/** Events and characters kept for one session, over all of its streams. */
const maxEvents = 256;
const maxLength = 1_048_576;
/** Streams remembered for one session, beyond those in use. */
const maxJournals = 64;

/** The events of one stream. An event id is `<stream>-<number>`: unique in the session, and it names its stream. */
export class Journal {
  readonly no: number;
  readonly events: JournalEvent[] = [];
  private readonly store: JournalStore | undefined;
  private seq = 0;
  private complete = false;

  /** @param store absent: nothing is kept, and events have no ids */
  constructor(no: number, store?: JournalStore) {
    this.no = no;
    this.store = store;
  }

  /** Keeps an event that is about to be sent; answers its id, undefined where nobody can come back for it. */
  record(text: string, names?: ItemNameSource): string | undefined {
    if (this.store === undefined) return undefined;
    this.events.push({ seq: ++this.seq, text, names });
    this.store.keep(this, text.length);
    this.store.elsewhere?.wrote(this.no, this.seq, storedText(text, names));
    return this.id(this.seq);
  }

  /** True when nothing will be added: every response was sent. */
  get done(): boolean {
    return this.complete;
  }

  /** Every response was sent. */
  finish(): void {
    this.complete = true;
    this.store?.elsewhere?.finished(this.no, this.seq);
  }

  /** The id of an event, or of the beginning of the stream (0). */
  id(seq: number): string {
    return `${this.no}-${seq}`;
  }

  /** Tells whether a reader who has this event has everything. */
  over(seq: number): boolean {
    return this.done && seq >= this.seq;
  }

  /** The events after an event that are still kept. */
  after(seq: number): readonly JournalEvent[] {
    return this.events.filter((event) => event.seq > seq);
  }
}

/** The journal of a stream that nobody can resume. */
export const unkept = (): Journal => new Journal(0);

/** A place in a stream, as an event id names it. */
export interface JournalPlace {
  readonly journal: Journal;
  readonly seq: number;
}

/** The stream and the event that an event id names; undefined where it is none of ours. */
export function readEventId(eventId: string): { readonly stream: number; readonly seq: number } | undefined {
  const parts = /^(\d{1,9})-(\d{1,9})$/.exec(eventId);
  return parts === null ? undefined : { stream: Number(parts[1]), seq: Number(parts[2]) };
}

/** The journals of one session, bounded: the oldest events are forgotten first. */
export class JournalStore {
  /** The place where other processes find the events; absent: nowhere. */
  elsewhere: SessionEvents | undefined;
  private readonly journals = new Map<number, Journal>();
  private readonly order: Journal[] = [];
  private length = 0;
  private last: number;
  private readonly room: RetainedMemory;
  private readonly isUsed: (journal: Journal) => boolean;

  /**
   * @param before numbers of streams up to this one are not used
   * @param isUsed tells whether more events of a stream may come, or somebody reads it
   */
  constructor(room: RetainedMemory, before = 0, isUsed: (journal: Journal) => boolean = () => false) {
    this.room = room;
    this.last = before;
    this.isUsed = isUsed;
  }

  /** @param requests the ids of the requests that the stream answers, as their client wrote them */
  open(requests: () => readonly string[] = () => []): Journal {
    const journal = new Journal(++this.last, this);
    this.elsewhere?.opened(journal.no, JSON.stringify(requests()));
    this.journals.set(journal.no, journal);
    if (this.journals.size > maxJournals) this.forgetOne(journal);
    return journal;
  }

  /** Forgets the oldest stream that has ended, or else one that nobody uses. */
  private forgetOne(newest: Journal): void {
    const unused = [...this.journals.values()].filter((one) => one !== newest && !this.isUsed(one));
    const gone = unused.find(({ done }) => done) ?? unused[0];
    if (gone !== undefined) this.journals.delete(gone.no);
  }

  /** The place that a `Last-Event-ID` names; undefined where it is none of ours or forgotten. */
  find(eventId: string): JournalPlace | undefined {
    const named = readEventId(eventId);
    const journal = named && this.journals.get(named.stream);
    return journal === undefined ? undefined : { journal, seq: named!.seq };
  }

  /** Called by a journal for each event it took. */
  keep(journal: Journal, length: number): void {
    this.order.push(journal);
    this.length += length;
    this.room.add(length);
    while (this.order.length > maxEvents || (this.isOver && this.order.length > 0)) {
      const gone = this.order.shift()!.events.shift()!.text.length;
      this.length -= gone;
      this.room.remove(gone);
    }
  }

  private get isOver(): boolean {
    return this.length > maxLength || this.room.isOverLimit;
  }
}
