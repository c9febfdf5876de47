import type { ReplyStream } from '../../http/index.ts';
import { ThrottledLog, type Logger } from '../../telemetry/index.ts';
import type { CallAnswer } from './callAnswer.ts';
import type { PostResponse, PostResponseHost } from './postResponse.ts';
import { EventSink } from './eventSink.ts';
import type { PressureGauge } from './pacedStream.ts';
import type { RetainedMemory } from '../limits/retainedMemory.ts';
import { JournalStore, readEventId, unkept, type Journal, type JournalPlace } from './journal.ts';
import { FollowedStream, repeatStored, requestsOf, type StoredPlace } from './followedStream.ts';
import type { SessionEvents } from '../replicas/storedEvents.ts';
import type { ItemRules } from '../items/itemRules.ts';
import { canSeeItem, type ItemNameSource } from '../items/itemVisibility.ts';
import { Outbox } from './outbox.ts';
import type { RpcId } from '../json/envelope.ts';

/** A client may hold several GET streams; each message still goes on one of them. */
const maxGetStreams = 4;

/**
 * The streams of one session and the choice among them. A stdio server does not say which call a message of its
 * own belongs to, so a log line or a request goes on the stream of the newest call in flight, where it stands
 * before the response; other news goes on the GET stream. Nothing is sent twice.
 */
export class ClientStreams implements PostResponseHost {
  /** Does the client know events without data (2025-11-25)? */
  knowsPrimes = false;
  /** Can the client come back to a stream that it lost? */
  resumable = true;
  private readonly gets: EventSink[] = [];
  /** Answers in flight that may take events, newest last; finished ones are dropped as they are met. */
  private answers: CallAnswer[] = [];
  protected readonly outbox: Outbox;
  protected readonly onUndeliverable: (askedId: RpcId) => void;
  private readonly gauge: PressureGauge;
  private readonly dropped: ThrottledLog;
  /** The answers that carry requests of the server, for later messages about them. */
  private readonly carriers = new Map<RpcId, CallAnswer>();
  private readonly store: JournalStore;
  /** Answers that stream, by their journals: a client may come back for one. */
  private readonly streaming = new Map<Journal, PostResponse>();
  /** Streams of other processes that the client resumed here. */
  private readonly followed = new Set<FollowedStream>();
  private pressure = 0;
  private compactAt = 16;

  /**
   * @param onUndeliverable a request of a server that no stream took in time, by the client's id for it
   * @param before streams up to this number are those of others
   */
  constructor(
    gauge: PressureGauge,
    onUndeliverable: (askedId: RpcId) => void,
    log: Logger,
    room: RetainedMemory,
    before = 0,
  ) {
    this.gauge = gauge;
    this.onUndeliverable = onUndeliverable;
    this.store = new JournalStore(room, before, (journal) => this.isUsed(journal));
    this.dropped = new ThrottledLog(log, 'Messages dropped: the client has no open stream');
    this.outbox = new Outbox(room, (held) => {
      this.dropped.warn({});
      if (held.askedId !== undefined) onUndeliverable(held.askedId);
    });
  }

  get primes(): boolean {
    return this.knowsPrimes && this.resumable;
  }

  /** GET streams that are open. */
  get open(): number {
    return this.gets.length;
  }

  /** Messages that wait for a stream. */
  get held(): number {
    return this.outbox.size;
  }

  /** True while some stream is read too slowly. */
  get pressedNow(): boolean {
    return this.pressure > 0;
  }

  /** Does a client wait for something right now? */
  get attached(): boolean {
    return this.gets.length > 0 || this.followed.size > 0 || this.answers.some((answer) => !answer.gone);
  }

  /** The caller that reads a stream now, or waits for an answer; undefined where there is none. */
  get reader(): { readonly itemRules: ItemRules | undefined } | undefined {
    return this.newestGet() ?? this.answers.findLast((answer) => !answer.gone);
  }

  get full(): boolean {
    return this.gets.length >= maxGetStreams;
  }

  /** Would a resumption make one GET stream more? */
  addsGet({ journal }: JournalPlace): boolean {
    return !journal.done && !this.isUsed(journal);
  }

  pressed(): void {
    if (this.pressure++ === 0) this.gauge.pressed();
  }

  eased(): void {
    if (--this.pressure === 0) this.gauge.eased();
  }

  /** A call began: its answer may carry messages until it ends. */
  expect(answer: CallAnswer): void {
    this.forgetEnded();
    if (this.answers.length >= this.compactAt) {
      this.answers = this.answers.filter((one) => !one.gone);
      this.compactAt = Math.max(16, 2 * this.answers.length);
    }
    if (this.answers.at(-1) !== answer) this.answers.push(answer);
    if (this.outbox.size === 0 || !answer.takesEvents) return;
    // A server that asked while nobody listened still waits for the answer.
    for (const held of this.outbox.take(true)) this.give(answer, held.text, held.askedId);
  }

  private isUsed(journal: Journal): boolean {
    return this.streaming.get(journal)?.closed === false || this.gets.some((get) => get.journal === journal);
  }

  openJournal(answer: PostResponse): Journal {
    if (!this.resumable) return unkept();
    const journal = this.store.open(answer.requests);
    for (const [one, streamed] of this.streaming) if (streamed.closed) this.streaming.delete(one);
    this.streaming.set(journal, answer);
    return journal;
  }

  /**
   * The place where a client that sends this `Last-Event-ID` stopped reading; undefined if it is not known (any
   * more).
   */
  placeOf(lastEventId: string): JournalPlace | undefined {
    return this.store.find(lastEventId);
  }

  /** From now on other processes find the events there. */
  keepElsewhere(events: SessionEvents): void {
    this.store.elsewhere = events;
  }

  /**
   * Looks for a stream of another process; undefined where none is found. Undefined instead of a promise: there is no
   * place to look at.
   * @throws StoreError (by the promise)
   */
  readElsewhere(lastEventId: string): Promise<StoredPlace | undefined> | undefined {
    const { elsewhere: events } = this.store;
    const named = readEventId(lastEventId);
    if (events === undefined || named === undefined) return undefined;
    const { stream, seq } = named;
    return events
      .read(stream, 0)
      .then((found) => (found === undefined ? undefined : { events, stream, seq, found }));
  }

  /** A GET stream opened; everything that waited goes on it. Answers what to call when it is gone. */
  add(stream: ReplyStream, itemRules?: ItemRules, missed?: StoredPlace): () => void {
    const journal = this.resumable ? this.store.open() : unkept();
    const sink = new EventSink(stream, this, journal, itemRules);
    sink.comment('open');
    if (missed !== undefined) repeatStored(missed, missed.found, sink);
    return this.join(sink);
  }

  /** The client came back for a stream of another process. Answers what to call when it is gone. */
  follow(stream: ReplyStream, place: StoredPlace, itemRules?: ItemRules): () => void {
    if (requestsOf(place).length === 0) return this.add(stream, itemRules, place);
    const followed = new FollowedStream(place, new EventSink(stream, this, unkept(), itemRules));
    this.followed.add(followed);
    return () => {
      this.followed.delete(followed);
      followed.stop();
    };
  }

  /** A client came back: it gets what it missed, and the stream goes on where it was. */
  resume(stream: ReplyStream, place: JournalPlace, itemRules?: ItemRules): () => void {
    const { journal, seq } = place;
    const sink = new EventSink(stream, this, journal, itemRules);
    sink.comment('resumed');
    sink.replay(seq);
    const answer = this.streaming.get(journal);
    if (answer !== undefined && !answer.closed) {
      answer.resume(sink);
      this.answers.push(answer);
      return () => sink.dropped();
    }
    if (journal.done) {
      sink.end();
      return () => undefined;
    }
    for (const lost of this.gets.filter((one) => one.journal === journal)) lost.end();
    return this.join(sink);
  }

  private join(sink: EventSink): () => void {
    this.gets.push(sink);
    for (const held of this.outbox.take(false)) sink.send(held.text, held.names);
    return () => {
      const at = this.gets.indexOf(sink);
      if (at >= 0) this.gets.splice(at, 1);
      sink.dropped();
    };
  }

  /**
   * @param own the answer on whose stream the server put it
   * @param names the item that it names: it goes only where the reader may know of that
   */
  deliver(
    text: string,
    kind: 'request' | 'log' | 'other',
    askedId?: RpcId,
    own?: CallAnswer,
    names?: ItemNameSource,
  ): void {
    if (own?.takesEvents === true) {
      this.give(own, text, askedId, names);
      return;
    }
    const answer = this.newestAnswer();
    const get = this.newestGet();
    if (answer !== undefined && (kind !== 'other' || get === undefined))
      this.give(answer, text, askedId, names);
    else if (get !== undefined) get.send(text, names);
    else this.outbox.hold({ text, askedId, names });
  }

  /** The client answered a request of the server. */
  answered(askedId: RpcId): void {
    this.carriers.delete(askedId);
  }

  /** A request of the server is void: it is taken out where it still waits, and called off where it was sent. */
  withdraw(askedId: RpcId, notice: string): void {
    if (this.outbox.drop(askedId)) return;
    const carrier = this.carriers.get(askedId);
    this.carriers.delete(askedId);
    if (carrier?.takesEvents === true) carrier.withdraw(askedId, notice);
    else this.deliver(notice, 'other');
  }

  tick(now: number): void {
    for (const sink of [...this.gets]) sink.tick(now);
    for (const { sink } of this.followed) sink.tick(now);
    this.forgetEnded();
    for (const answer of this.answers) answer.tick(now);
  }

  /** An answer keeps its whole request alive. Most have ended when the next call begins. */
  private forgetEnded(): void {
    while (this.answers.at(-1)?.gone === true) this.answers.pop();
  }

  close(): void {
    for (const sink of [...this.gets]) sink.end();
    for (const followed of [...this.followed]) followed.stop();
  }

  protected give(answer: CallAnswer, text: string, askedId: RpcId | undefined, names?: ItemNameSource): void {
    if (!canSeeItem(answer.itemRules, names)) return;
    answer.push(text, names, askedId);
    if (askedId === undefined) return;
    this.carriers.set(askedId, answer);
    if (this.carriers.size > 256) {
      const [oldest] = this.carriers.keys();
      this.carriers.delete(oldest!);
    }
  }

  protected newestAnswer(): CallAnswer | undefined {
    this.forgetEnded();
    return this.answers.findLast((answer) => answer.takesEvents);
  }

  private newestGet(): EventSink | undefined {
    return this.gets.findLast((sink) => !sink.closed);
  }
}
