import type { GatewayError } from '../../errors.ts';
import { eventStreamHeaders, type HeaderLine, type HttpReply } from '../../http/index.ts';
import { withId, type Envelope, type RpcId } from '../json/envelope.ts';
import type { Accepted } from '../messages/accept.ts';
import type { CallAnswer, OperationNote } from './callAnswer.ts';
import type { PostAudit } from './postAudit.ts';
import { EventSink } from './eventSink.ts';
import { EventParts, JsonParts, nobody, type ResponseParts } from './largeAnswer.ts';
import { PacedStream, type PressureGauge } from './pacedStream.ts';
import type { Journal } from './journal.ts';
import type { ItemRules } from '../items/itemRules.ts';
import type { ItemNameSource } from '../items/itemVisibility.ts';
import { rpcCodeOf, sendError } from '../messages/rpcError.ts';

/** The session, as its answers see it. */
export interface PostResponseHost extends PressureGauge {
  /** A journal for a stream that begins. */
  openJournal(answer: PostResponse): Journal;
  /** Does the client know events without data (2025-11-25)? */
  readonly primes: boolean;
}

/** A call that waits this long gets a stream, so that nobody between takes the silence for death. */
const streamAfterMs = 15_000;
/** Bytes of a response in parts that may wait for a slow client. */
const partsHighWater = 262_144;
const jsonType: HeaderLine = ['content-type', 'application/json'];

/**
 * The answer to one POST that holds requests. It is plain JSON when the response is the first thing to say and the
 * client takes JSON and does not prefer a stream, and becomes an event stream as soon as something else belongs on it.
 */
export class PostResponse implements CallAnswer {
  /** Headers of the session, such as Mcp-Session-Id on initialize. */
  headers: readonly HeaderLine[] = [];
  /** Decides which items the caller may know of; undefined where no rule is about items. */
  readonly itemRules: ItemRules | undefined;
  /** The ids of its requests, as the client wrote them. */
  readonly requests: () => readonly string[];
  /** Records its requests; undefined where nothing is recorded. */
  audit: PostAudit | undefined;
  private readonly reply: HttpReply;
  private readonly accepted: Accepted;
  private readonly host: PostResponseHost;
  private readonly since: number;
  private left: number;
  /** Responses of a batch so far; undefined where there is one message. */
  private readonly parts: string[] | undefined;
  private sink: EventSink | undefined;
  /** The response that is sent as JSON while it arrives. */
  private jsonParts: JsonParts | undefined;

  /**
   * @param count requests to be answered; `batch`: as a list, even when it is one
   * @param requests the ids of the requests, as the client wrote them
   */
  constructor(
    reply: HttpReply,
    accepted: Accepted,
    count: number,
    batch: boolean,
    host: PostResponseHost,
    itemRules?: ItemRules,
    requests: () => readonly string[] = () => [],
  ) {
    this.requests = requests;
    this.itemRules = itemRules;
    this.reply = reply;
    this.accepted = accepted;
    this.left = count;
    this.parts = batch ? [] : undefined;
    this.host = host;
    this.since = performance.now();
  }

  /** Tells whether the answer is closed: it is complete, or the client left an answer that it cannot resume. */
  get closed(): boolean {
    return this.left === 0 || (this.reply.closed && this.sink === undefined);
  }

  /** Its head has been sent. */
  get started(): boolean {
    return this.reply.started;
  }

  /** Tells whether the client has gone; a client that lost a stream may come back to it. */
  get gone(): boolean {
    return this.left === 0 || (this.reply.closed && (this.sink === undefined || this.sink.closed));
  }

  /** May messages other than responses go here, to be read now? */
  get takesEvents(): boolean {
    return !this.gone && this.takesProgress;
  }

  /** May progress of its call go here, be it for a client that has yet to come back? */
  get takesProgress(): boolean {
    return this.accepted.events && !this.closed && !(this.reply.started && this.sink === undefined);
  }

  /** The requests are on their way: a client that prefers a stream gets it now, so that it can resume it from here. */
  begun(): void {
    if (this.accepted.prefersEvents && !this.closed) this.stream();
  }

  /** Sends a notification or request of the server; the caller has asked `takesEvents` or `takesProgress`. */
  push(message: string, names?: ItemNameSource): void {
    this.stream().send(message, names);
  }

  withdraw(_askedId: RpcId, notice: string): void {
    this.push(notice);
  }

  failed(error: GatewayError, idText: string): void {
    this.audit?.failed(error, idText);
    // A client that left, or took its request back, is no failure.
    if (error.code !== 'mcp_cancelled' && !this.closed) this.reply.callFailed?.(error, rpcCodeOf(error));
  }

  /**
   * Sends the response to one of the requests; the last one ends the answer.
   * @param status of an answer in JSON; a stream has begun with 200
   */
  respond(message: string, status = 200): void {
    if (this.audit !== undefined) this.audit.responded(message);
    this.send(message, status);
  }

  relay(response: Envelope, idText: string): boolean {
    const message = withId(response, idText);
    if (this.audit !== undefined) this.audit.relayed(idText, response, message);
    this.send(message);
    return true;
  }

  private send(message: string, status = 200): void {
    if (this.closed) return;
    this.left--;
    if (this.sink === undefined && this.accepted.json && !this.accepted.prefersEvents) {
      if (this.parts === undefined) this.sendJson(message, status);
      else {
        this.parts.push(message);
        if (this.left === 0) this.sendJson(`[${this.parts.join(',')}]`);
      }
      return;
    }
    this.stream().send(message);
    if (this.left === 0) this.finish();
  }

  respondInParts(kept: string): ResponseParts | undefined {
    const parts = this.beginParts(kept);
    return parts === undefined || this.audit === undefined ? parts : this.audit.followParts(parts);
  }

  note(request: Envelope, what: OperationNote): void {
    this.audit?.note(request, what);
  }

  private beginParts(kept: string): ResponseParts | undefined {
    if (this.closed) return nobody;
    if (this.parts !== undefined || this.left !== 1 || this.reply.isShared === true) return undefined;
    if (this.sink === undefined && this.accepted.json && !this.accepted.prefersEvents) {
      const stream = this.reply.open(200, [jsonType, ...this.headers]);
      const json = new JsonParts(new PacedStream(stream, this.host, partsHighWater));
      this.reply.onClose(() => json.dropped());
      this.jsonParts = json;
      return json;
    }
    const sink = this.stream();
    if (!sink.beginParts(kept)) return undefined;
    return new EventParts(sink, () => {
      if (this.left === 0) return;
      this.left = 0;
      this.finish();
    });
  }

  /**
   * The session is not there (any more), so the whole is refused, as it would have been at once.
   * @returns false where it has begun, and goes on as it is
   */
  refuse(error: GatewayError, idText: string): boolean {
    if (this.closed || this.reply.started || this.parts?.length) return false;
    // Other requests of a batch go on, unless their session is gone.
    if (this.parts !== undefined && error.code !== 'mcp_session_unknown') return false;
    this.left = 0;
    this.audit?.refused(error);
    sendError(this.reply, error, this.parts === undefined ? idText : undefined);
    return true;
  }

  /** Skips a request that will never be answered (it was cancelled): the answer ends without it. */
  skip(refusal: string): void {
    this.audit?.cancelled(refusal);
    if (this.closed) return;
    if (this.left === 1 && this.sink === undefined && !this.accepted.events && !this.parts?.length) {
      this.respond(refusal);
      return;
    }
    this.left--;
    if (this.left > 0) return;
    if (this.sink === undefined && this.parts !== undefined && this.parts.length > 0) {
      this.sendJson(`[${this.parts.join(',')}]`);
      return;
    }
    this.stream();
    this.finish();
  }

  /** Every few seconds. */
  tick(now: number): void {
    if (this.closed) return;
    this.jsonParts?.tick();
    if (this.sink !== undefined) this.sink.tick(now);
    else if (this.takesEvents && now - this.since >= streamAfterMs) {
      const sink = this.stream();
      if (!this.host.primes) sink.comment('waiting');
    }
  }

  /** The client came back for this stream; the connection it lost may look open still. */
  resume(sink: EventSink): void {
    this.sink?.end();
    this.sink = sink;
  }

  private finish(): void {
    this.sink!.journal.finish();
    this.sink!.end();
  }

  private sendJson(body: string, status = 200): void {
    this.reply.send({ status, headers: [jsonType, ...this.headers], body });
  }

  /** The event stream, begun with what the batch has gathered. */
  private stream(): EventSink {
    if (this.sink !== undefined) return this.sink;
    const stream = this.reply.open(200, [...eventStreamHeaders, ...this.headers]);
    const sink = new EventSink(stream, this.host, this.host.openJournal(this), this.itemRules);
    this.sink = sink;
    this.reply.onClose(() => sink.dropped());
    // At once, so that the client can come back to a stream that breaks before its first message (2025-11-25).
    if (this.host.primes) sink.prime();
    for (const part of this.parts ?? []) sink.send(part);
    return sink;
  }
}
