import type { ResponseHandler } from '../../../upstream/index.ts';
import type { ErrorCode, GatewayError } from '../../../errors.ts';
import { EventReader, type EventHandler, type Head, type LargeEvent } from '../../../http/index.ts';
import type { Reach } from '../../contract.ts';
import { Backoff, streamRestart } from '../conversation/backoff.ts';
import { idOfLongLine } from '../conversation/longLine.ts';
import { targetError } from '../../messages/rpcError.ts';
import type { InFlightRequest } from '../conversation/inFlightRequest.ts';
import { lingerMs, type StreamHost, type StreamPlace } from './streamHost.ts';
import type { PinnedSession } from '../conversation/pinnedSession.ts';
import { ServerExchange } from '../conversation/serverExchange.ts';
import { connectionError, statusError } from '../conversation/failures.ts';
import { requestHead } from '../conversation/serverRequestHead.ts';
import type { RestartPolicy } from '../kind/targetRuntime.ts';

/** The delay before a stream that ended is reopened, in milliseconds, unless the server says otherwise. */
const usualRetryMs = 1_000;
const shortestRetryMs = 100;
const longestRetryMs = 60_000;
/** The time for the first answer to the request for a stream, in milliseconds: some servers wait for an event. */
const firstAnswerMs = 2_000;
/** A stream that lived so long was a good one, though it may have been silent. */
const goodMs = 5_000;

/** For the stream of a call: a client waits for the answer. */
const callStreamRestart: RestartPolicy = {
  firstDelayMs: 100,
  maxDelayMs: 2_000,
  maxFailures: 5,
  windowMs: 60_000,
  coolDownMs: 0,
};
/** Statuses that may be others a moment later. */
const passing: ReadonlySet<number> = new Set([401, 403, 408, 425, 429]);
const maySoonBeOther = (status: number): boolean => status >= 500 || passing.has(status);
/** Servers take one standalone stream for a session, the SDK's among them. */
const taken = 409;

export interface ServerStreamStart {
  readonly session: PinnedSession;
  /** The call whose broken stream is taken up again; 0 for the stream of what the server says by itself. */
  readonly wireId: number;
  readonly place: StreamPlace;
  /** Another process may have a stream of the same session, for now. */
  readonly contended?: boolean;
  /** The way of the caller of the call; absent: the way of the newest caller. */
  readonly reach?: Reach | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Hears of what the operator may want to know. */
  readonly note: (message: string, detail: string) => void;
}

/**
 * A stream that is asked for with GET. It is opened again wherever it ends, behind the last event that came, at the
 * time that the server asked for; ever more rarely where that fails.
 */
export class ServerStream implements ResponseHandler, EventHandler, InFlightRequest {
  readonly wireId: number;
  readonly session: PinnedSession;
  private readonly host: StreamHost;
  private readonly start: ServerStreamStart;
  private readonly backoff: Backoff;
  private exchange: ServerExchange | undefined;
  private reader: EventReader | undefined;
  private lastId: string | undefined;
  private retryMs: number | undefined;
  private timer: NodeJS.Timeout | undefined;
  private readonly firstAnswer = Promise.withResolvers<void>();
  private isAnswered = false;
  private readonly answerTimer: NodeJS.Timeout;
  private openedAt = 0;
  /** Set when an event came since the stream was opened. */
  private fruitful = false;
  private settledAt = 0;
  private givenUp = false;
  private ended = false;

  constructor(start: ServerStreamStart, host: StreamHost) {
    this.start = start;
    this.host = host;
    this.wireId = start.wireId;
    this.session = start.session;
    this.lastId = start.place.lastId;
    this.retryMs = start.place.retryMs;
    this.backoff = new Backoff(start.wireId === 0 ? streamRestart : callStreamRestart, start.now);
    this.answerTimer = setTimeout(() => this.answered(), firstAnswerMs).unref();
  }

  /** Resolves when the server has opened or refused the stream, or takes too long; undefined after that. */
  get opening(): Promise<void> | undefined {
    return this.isAnswered ? undefined : this.firstAnswer.promise;
  }

  private answered(): void {
    this.isAnswered = true;
    clearTimeout(this.answerTimer);
    this.firstAnswer.resolve();
  }

  /** Opens it at once, or takes it up again when its time has come. */
  begin(): void {
    if (this.lastId === undefined) this.open();
    else this.later(this.waitMs);
  }

  /** Reports activity in the session: a stream that was given up may work again. */
  wake(): void {
    if (!this.givenUp || this.ended || !this.backoff.mayTry) return;
    this.givenUp = false;
    this.open();
  }

  readonly backlog = 0;

  pause(): void {
    this.exchange?.pause();
  }

  resume(): void {
    this.exchange?.resume();
  }

  abandon(): void {
    if (this.ended) return;
    this.ended = true;
    this.answered();
    clearTimeout(this.timer);
    this.reader?.stop();
    this.exchange?.abandon();
    this.host.over(this);
  }

  tick(now: number): void {
    const { wireId, host } = this;
    // The response may have come on another stream.
    if (this.settledAt === 0 && wireId !== 0 && !host.waits(wireId)) this.settledAt = now;
    if (this.settledAt !== 0 && now - this.settledAt > lingerMs) this.abandon();
  }

  private open(): void {
    const { host, lastId } = this;
    const { session, reach = host.reach } = this.start;
    this.reader = undefined;
    this.fruitful = false;
    this.openedAt = performance.now();
    const lines = [
      ['accept', 'text/event-stream'] as const,
      // Header text is one character a byte.
      ...(lastId === undefined ? [] : [['last-event-id', Buffer.from(lastId).toString('latin1')] as const]),
    ];
    this.exchange = new ServerExchange(
      {
        destination: reach.destination,
        session,
        head: requestHead('GET', reach, session, lines),
        repeatable: true,
        // Some servers send the head of a stream with its first event.
        patient: true,
      },
      this,
    );
    if (host.paused) this.exchange.pause();
    this.exchange.begin();
  }

  // ResponseHandler

  onHead(head: Head): void {
    this.answered();
    const { status } = head;
    const type = head.get('content-type') ?? '';
    if (status === 200 && /^\s*text\/event-stream\s*(?:;|$)/i.test(type)) {
      this.reader = new EventReader(this, this.host.limits.maxMcpMessageBytes);
      return;
    }
    this.exchange?.abandon();
    const detail = `status ${status}, content-type ${type === '' ? 'absent' : type.slice(0, 100)}`;
    if (status === 404 && this.start.session.id !== undefined) {
      const { session } = this.start;
      this.give(targetError('mcp_target_failed', this.host.name, 'lost the session of the call'));
      this.host.lost(session, 'does not know its session (404)', 0);
    } else if (maySoonBeOther(status) || (status === taken && this.start.contended === true))
      this.failed(statusError(this.host.name, status, detail));
    else this.give(statusError(this.host.name, status, detail));
  }

  onBytes(bytes: Buffer, from: number, to: number): void {
    const { reader } = this;
    if (reader === undefined) return;
    reader.take(bytes, from, to);
    if (reader.lastId !== undefined && reader.lastId !== this.lastId) {
      this.lastId = reader.lastId;
      this.fruitful = true;
    }
    this.retryMs = reader.retryMs ?? this.retryMs;
  }

  onEnd(): void {
    const what = 'ended its stream before it answered';
    this.streamOver(targetError('mcp_target_failed', this.host.name, what));
  }

  onFailure(code: ErrorCode, detail: string): void {
    this.answered();
    const error = connectionError(this.host.name, code, detail);
    if (this.reader === undefined) this.failed(error);
    else this.streamOver(error);
  }

  // EventHandler

  onEvent(data: string): void {
    const { host } = this;
    const { wireId } = this;
    this.fruitful = true;
    host.receive(data, wireId);
    if (wireId !== 0 && this.settledAt === 0 && !host.waits(wireId)) this.settledAt = performance.now();
  }

  onLarge(head: Buffer): LargeEvent | undefined {
    this.fruitful = true;
    return this.host.receiveLarge(head, this.wireId);
  }

  onTooLong(head: string, tail: string): void {
    const { wireId } = this;
    const error = targetError(
      'mcp_message_too_large',
      this.host.name,
      'answered with a message that is too large',
    );
    this.start.note('the target sent a message over limits.maxMcpMessageBytes; skipped', error.message);
    this.host.failed(idOfLongLine(head, tail) ?? wireId, error);
  }

  private streamOver(error: GatewayError): void {
    if (this.ended) return;
    const { wireId } = this;
    if (wireId !== 0 && !this.host.waits(wireId)) this.abandon();
    // A client that has got a part of the response cannot take it from the beginning.
    else if (wireId !== 0 && this.reader?.isInLarge === true) this.give(error);
    else if (this.fruitful || performance.now() - this.openedAt >= goodMs) this.later(this.waitMs);
    else this.failed(error);
  }

  /** It could not be opened, or was of no use. */
  private failed(error: GatewayError): void {
    if (this.ended) return;
    const { wireId } = this;
    const delay = this.backoff.failure();
    if (delay !== undefined) this.later(Math.max(delay, wireId === 0 ? this.waitMs : 0));
    else if (wireId !== 0) this.give(error);
    else {
      this.givenUp = true;
      this.start.note(
        'what the target says by itself cannot be heard for now',
        error.detail ?? error.message,
      );
    }
  }

  /** It will not be opened again. */
  private give(error: GatewayError): void {
    const { wireId } = this;
    if (wireId !== 0) this.host.failed(wireId, error);
    this.abandon();
  }

  private later(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.open(), ms).unref();
  }

  /** The delay that the server asks for, within limits. */
  private get waitMs(): number {
    return Math.min(longestRetryMs, Math.max(shortestRetryMs, this.retryMs ?? usualRetryMs));
  }
}
