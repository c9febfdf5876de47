import { ThrottledLog, type Logger } from '../../telemetry/index.ts';
import { StoreError, type Reply, type Store } from '../../store/index.ts';
import { lifeSignScript, readEventsScript, writeEventsScript } from './eventScripts.ts';
import { TextSeal } from './sealing.ts';

/** A stored event, or a stream that was opened or is complete. */
type Entry =
  | { readonly kind: 'open'; readonly stream: number; readonly text: string }
  | { readonly kind: 'event'; readonly stream: number; readonly seq: number; readonly text: string }
  | { readonly kind: 'done'; readonly stream: number; readonly seq: number };

/** The place of the events of a session. */
export interface EventPlace {
  /** Names the session in the store; tells nothing of it. */
  readonly name: string;
  /** Names the holder of the budgets, in the same way. */
  readonly holder: string;
  /** 32 bytes, of this session and its principal alone. */
  readonly key: Buffer;
}

/** An event of a stream as another process reads it. */
export interface StoredEvent {
  readonly seq: number;
  /** As it was given to `wrote`. */
  readonly text: string;
}

/** A stream of another process. */
export interface StoredStream {
  /** The events after the asked one that are still kept. */
  readonly events: readonly StoredEvent[];
  /** As it was given to `opened`. */
  readonly requests: string;
  /** The number of the last event; undefined while the stream is not complete. */
  readonly last: number | undefined;
  /** The process that writes the stream was heard of a moment ago. */
  readonly alive: boolean;
}

export interface StoredEventsOptions {
  readonly store: Store;
  /** Names this process. */
  readonly owner: string;
  /** The lifetime of events after the last one of their session, in milliseconds. */
  readonly ageMs: number;
  readonly log: Logger;
  /** Hears how many events were written, or lost to other gateways. */
  readonly onWritten: (outcome: 'written' | 'lost', count: number) => void;
}

/** Limits of one session: events, bytes as they are stored, streams. */
const maxEvents = 256;
const maxBytes = 2_097_152;
const maxStreams = 64;
/** Characters of one event: a larger one would push out all others. */
const maxEvent = 1_048_576;
/** Sessions of one principal with events in the store, over all gateways. */
const maxSessions = 32;
/** Bytes that wait for the store or are on their way to it; events beyond that stay in this process. */
const maxWaiting = 4_194_304;
/** Entries in one script. */
const maxEntries = 256;
/** A process gives a sign of life so often, and counts as dead after so long without one, in milliseconds. */
const lifeSignMs = 1_500;
const deadMs = 6_000;

const aliveKey = 'mcp:alive:';
/** About what a short entry takes besides its text. */
const entryLength = 64;

/**
 * Events of sessions in the store, for clients that come back at another gateway. Writing never holds up a call:
 * entries are collected, sent without waiting for the answer, and given up where the store does not take them.
 */
export class StoredEvents {
  private readonly options: StoredEventsOptions;
  private readonly timer: NodeJS.Timeout;
  private readonly trouble: ThrottledLog;
  private readonly waiting = new Map<SessionEvents, Entry[]>();
  private bytes = 0;
  private flushing: NodeJS.Immediate | undefined;
  private closed = false;

  constructor(options: StoredEventsOptions) {
    this.options = options;
    this.trouble = new ThrottledLog(
      options.log,
      'Events not stored: clients can resume their streams at this gateway only',
    );
    const { store, owner } = options;
    const sign = (): void => {
      store.run(lifeSignScript, [aliveKey + owner], [deadMs]).catch(() => undefined);
    };
    this.timer = setInterval(sign, lifeSignMs).unref();
  }

  of(place: EventPlace): SessionEvents {
    return new SessionEvents(place, this, this.options.store);
  }

  /** Called by the events of a session. */
  add(session: SessionEvents, entry: Entry): void {
    const length = lengthOf(entry);
    const refusal = this.refusal(entry, length);
    if (refusal !== undefined) {
      this.lost(entry.kind === 'event' ? 1 : 0, refusal);
      return;
    }
    this.bytes += length;
    const entries = this.waiting.get(session);
    if (entries === undefined) this.waiting.set(session, [entry]);
    else entries.push(entry);
    this.flushing ??= setImmediate(() => this.flush());
  }

  private refusal(entry: Entry, length: number): string | undefined {
    if (this.closed) return 'the gateway ends';
    if (this.options.store.connection === 0) return 'not connected to the store';
    if (entry.kind === 'event' && entry.text.length > maxEvent) return 'the event is too large';
    return this.bytes + length > maxWaiting ? 'the store is behind' : undefined;
  }

  /** Writes what waits, and tells other processes that this one ends. Resolves (never rejects) when that was tried. */
  async close(): Promise<void> {
    if (this.closed) return;
    clearInterval(this.timer);
    const { store, owner } = this.options;
    const written = this.flush();
    this.closed = true;
    await Promise.all([
      ...written,
      store.run(lifeSignScript, [aliveKey + owner], [0]).catch(() => undefined),
    ]);
  }

  private flush(): readonly Promise<void>[] {
    clearImmediate(this.flushing);
    this.flushing = undefined;
    const all = [...this.waiting];
    this.waiting.clear();
    const written: Promise<void>[] = [];
    for (const [session, entries] of all)
      for (let at = 0; at < entries.length; at += maxEntries)
        written.push(this.write(session, entries.slice(at, at + maxEntries)));
    return written;
  }

  private async write(session: SessionEvents, entries: readonly Entry[]): Promise<void> {
    const { store, owner, ageMs, onWritten } = this.options;
    const events = entries.filter(({ kind }) => kind === 'event').length;
    try {
      const limits = [ageMs, maxEvents, maxBytes, maxStreams, maxSessions, owner, deadMs, session.name];
      const args = entries.flatMap((entry) => session.sealed(entry));
      await store.run(writeEventsScript, [...session.keys, aliveKey + owner], [...limits, ...args]);
      onWritten('written', events);
    } catch (error) {
      this.lost(events, error instanceof StoreError ? error.message : String(error));
    } finally {
      for (const entry of entries) this.bytes -= lengthOf(entry);
    }
  }

  private lost(events: number, reason: string): void {
    this.options.onWritten('lost', events);
    this.trouble.warn({ reason });
  }
}

const lengthOf = (entry: Entry): number => entryLength + ('text' in entry ? entry.text.length : 0);

/** The events of one session in the store. */
export class SessionEvents {
  readonly name: string;
  /** The hash, the streams, the events; the sessions of the principal. */
  readonly keys: readonly string[];
  private readonly seal: TextSeal;
  private readonly all: StoredEvents;
  private readonly store: Store;

  constructor({ name, holder, key }: EventPlace, all: StoredEvents, store: Store) {
    this.name = name;
    this.keys = [`mcp:session:${name}`, `mcp:streams:${name}`, `mcp:events:${name}`, `mcp:holder:${holder}`];
    this.seal = new TextSeal(key);
    this.all = all;
    this.store = store;
  }

  /** The keys that hold nothing of other sessions. */
  get ownKeys(): readonly string[] {
    return this.keys.slice(0, 3);
  }

  /** A stream begins. @param requests says which requests it answers */
  opened(stream: number, requests: string): void {
    this.all.add(this, { kind: 'open', stream, text: requests });
  }

  wrote(stream: number, seq: number, text: string): void {
    this.all.add(this, { kind: 'event', stream, seq, text });
  }

  /** The stream is complete with the event of this number. */
  finished(stream: number, seq: number): void {
    this.all.add(this, { kind: 'done', stream, seq });
  }

  /**
   * Reads a stream; undefined where the store does not know it.
   * @param after the event that the client has
   * @throws StoreError (by the promise)
   */
  async read(stream: number, after: number): Promise<StoredStream | undefined> {
    const [hash, , events] = this.keys;
    const reply = await this.store.run(readEventsScript, [hash!, events!, aliveKey], [stream, after]);
    const [, requests, alive, last, ...found] = listOf(reply);
    if (requests === undefined) return undefined;
    const opened = this.seal.open(streamPlace(stream), String(requests));
    // Written by a gateway with another key, or altered.
    if (opened === undefined) return undefined;
    return {
      requests: opened,
      alive: alive === 1,
      last: last === '' ? undefined : Number(last),
      events: found.flatMap((one) => this.eventOf(stream, String(one)) ?? []),
    };
  }

  private eventOf(stream: number, stored: string): StoredEvent | undefined {
    const space = stored.indexOf(' ');
    const seq = Number(stored.slice(0, space));
    const text = this.seal.open(eventPlace(stream, seq), stored.slice(space + 1));
    return text === undefined ? undefined : { seq, text };
  }

  /** The arguments of the script for an entry. */
  sealed(entry: Entry): readonly (string | number)[] {
    const { kind, stream } = entry;
    if (kind === 'open') return [kind, stream, this.seal.seal(streamPlace(stream), entry.text)];
    if (kind === 'done') return [kind, stream, entry.seq];
    const id = eventPlace(stream, entry.seq);
    return [kind, id, this.seal.seal(id, entry.text)];
  }
}

const streamPlace = (stream: number): string => String(stream);
const eventPlace = (stream: number, seq: number): string => `${stream}-${seq}`;

const listOf = (reply: Reply): readonly (string | number)[] =>
  Array.isArray(reply)
    ? (reply as readonly Reply[]).map((one) => (typeof one === 'number' ? one : String(one)))
    : [];
