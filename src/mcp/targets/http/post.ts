import type { ErrorCode, GatewayError } from '../../../errors.ts';
import { GatheredBytes } from '../../../gatheredBytes.ts';
import {
  EventReader,
  type EventHandler,
  type Head,
  type HeaderLine,
  type LargeEvent,
} from '../../../http/index.ts';
import type { ResponseHandler, Endpoint } from '../../../upstream/index.ts';
import { isJson } from '../../messages/accept.ts';
import { modernVersion } from '../../messages/eras.ts';
import { isRepeatable } from '../../messages/mcpMethods.ts';
import type { Reach } from '../../contract.ts';
import { idOfLongLine } from '../conversation/longLine.ts';
import { readProblem } from '../conversation/problemBody.ts';
import { targetError } from '../../messages/rpcError.ts';
import type { InFlightRequest } from '../conversation/inFlightRequest.ts';
import { lingerMs, type StreamHost } from './streamHost.ts';
import type { PinnedSession } from '../conversation/pinnedSession.ts';
import { ServerExchange } from '../conversation/serverExchange.ts';
import { connectionError, statusError, withoutSecrets } from '../conversation/failures.ts';
import { requestHead } from '../conversation/serverRequestHead.ts';

export interface PostStart {
  readonly session: PinnedSession;
  /** The message, as it goes over the wire. */
  readonly text: string;
  readonly method: string;
  /** The id of the request on the wire; 0 for notifications and responses. */
  readonly wireId: number;
  /** Header lines besides those that every request has. */
  readonly headers?: readonly HeaderLine[] | undefined;
  /** The way of its own caller; absent: the way of the newest caller. */
  readonly reach?: Reach | undefined;
  /** Hears that the answer has begun. */
  readonly begun?: (() => void) | undefined;
  /** Hears of the end of a notification or response. */
  readonly done?: (error?: GatewayError) => void;
}

/** An answer over this length goes to the client while it arrives, if possible. */
const largeBody = 1_048_576;
/** The bytes that are read of an answer that is a failure. */
const maxProblemBytes = 16_384;
/** The characters of it that go into the log. */
const maxShown = 300;

const contentType: HeaderLine = ['content-type', 'application/json'];
const accept: HeaderLine = ['accept', 'application/json, text/event-stream'];

const isEvents = (type: string | undefined): boolean =>
  type !== undefined && /^text\/event-stream\s*(?:;|$)/i.test(type.trim());
const isPlain = (id: string): boolean => /^[\x21-\x7e]{1,1024}$/.test(id);

/** The way in which the body of the answer is read. */
type Mode = 'events' | 'json' | 'problem' | 'ignored';

/** A message to the server, and its answer: a response as JSON, a stream of events, or a mere receipt. */
export class Post implements ResponseHandler, EventHandler, InFlightRequest {
  readonly wireId: number;
  readonly session: PinnedSession;
  private readonly host: StreamHost;
  private readonly start: PostStart;
  private readonly exchange: ServerExchange;
  /** The reach with which it was sent. */
  private readonly reach: Reach;
  private mode: Mode = 'ignored';
  private reader: EventReader | undefined;
  private body = new GatheredBytes();
  private length = 0;
  /** The body as the head announces it; -1 where it does not. */
  private announced = -1;
  /** The whole answer, where it came in one piece. */
  private text: string | undefined;
  /** Takes the answer as JSON, once it is large. */
  private large: LargeEvent | undefined;
  private status = 0;
  /** A hint from the head of an answer that is a failure, for the log. */
  private hint = '';
  private retryAfter: string | undefined;
  private lastByteAt = 0;
  /** When the response came; 0 before. */
  private settledAt = 0;
  private ended = false;

  constructor(start: PostStart, host: StreamHost) {
    this.start = start;
    this.host = host;
    this.wireId = start.wireId;
    this.session = start.session;
    const reach = start.reach ?? host.reach;
    this.reach = reach;
    const { session, method, wireId } = start;
    const { text, headers } = start;
    const length = Buffer.byteLength(text);
    const isAscii = length === text.length;
    const body = isAscii && reach.signer === undefined ? text : Buffer.from(text);
    const lines: HeaderLine[] = [contentType, accept, ['content-length', String(length)]];
    if (headers !== undefined) lines.push(...headers);
    this.exchange = new ServerExchange(
      {
        destination: reach.destination,
        session,
        head: requestHead('POST', reach, session, lines, typeof body === 'string' ? undefined : body),
        body,
        repeatable: isRepeatable(method),
        // A limit of the call's own takes the place of the general one.
        patient: wireId !== 0 && (reach.callTimeoutMs !== undefined || host.isLimited(wireId)),
      },
      this,
    );
    if (host.paused) this.exchange.pause();
  }

  begin(): void {
    this.exchange.begin();
  }

  get backlog(): number {
    return this.exchange.backlog;
  }

  pause(): void {
    this.exchange.pause();
  }

  resume(): void {
    this.lastByteAt = performance.now();
    this.exchange.resume();
  }

  abandon(): void {
    if (this.ended) return;
    this.reader?.stop();
    this.leave();
  }

  tick(now: number): void {
    const { wireId, host } = this;
    // The response may have come on another stream.
    if (this.settledAt === 0 && wireId !== 0 && !host.waits(wireId)) this.settledAt = now;
    if (this.settledAt !== 0 && now - this.settledAt > lingerMs) this.abandon();
    else if (
      this.status !== 0 &&
      this.mode !== 'events' &&
      !host.paused &&
      now - this.lastByteAt > host.limits.bodyTimeoutMs
    ) {
      this.exchange.abandon();
      this.onFailure('upstream_timeout', 'limits.bodyTimeout');
    }
  }

  // ResponseHandler

  onHead(head: Head, from: Endpoint): void {
    const { wireId, method, session } = this.start;
    const { status } = head;
    this.status = status;
    this.lastByteAt = performance.now();
    if (status < 200 || status > 299) {
      this.mode = 'problem';
      this.hint = head.get('www-authenticate') ?? head.get('location') ?? '';
      this.retryAfter = head.get('retry-after');
      return;
    }
    const id = method === 'initialize' ? head.get('mcp-session-id') : undefined;
    if (id !== undefined && !isPlain(id)) {
      // MCP, Session Management: visible ASCII only. It would have to go into every head of ours.
      const what = 'answered with a session id that cannot be used';
      this.finish(targetError('mcp_target_failed', this.host.name, what));
      return;
    }
    if (id !== undefined) {
      session.id = id;
      session.endpoint = from;
    }
    this.start.begun?.();
    if (wireId === 0) {
      // The content of a receipt is ignored; a receipt that never ends is not waited for.
      if (isEvents(head.get('content-type'))) this.finish();
      return;
    }
    const type = head.get('content-type');
    const coding = head.get('content-encoding')?.toLowerCase() ?? 'identity';
    if (coding !== 'identity') this.wrongContent(`content-encoding ${coding}`);
    else if (isJson(type)) {
      this.mode = 'json';
      this.announced = head.contentLength;
      this.body = new GatheredBytes(Math.min(this.announced, this.host.limits.maxMcpMessageBytes));
    } else if (isEvents(type)) {
      this.mode = 'events';
      this.reader = new EventReader(this, this.host.limits.maxMcpMessageBytes);
    } else this.wrongContent(`status ${status}, content-type ${type ?? 'absent'}`);
    if (this.mode === 'json' && head.contentLength > this.host.limits.maxMcpMessageBytes) this.tooLong();
  }

  onBytes(bytes: Buffer, from: number, to: number): void {
    this.lastByteAt = performance.now();
    if (this.reader !== undefined) {
      this.reader.take(bytes, from, to);
      return;
    }
    if (this.mode === 'ignored') {
      this.length += to - from;
      if (this.length > maxProblemBytes) this.finish();
      return;
    }
    const most = this.mode === 'json' ? this.host.limits.maxMcpMessageBytes : maxProblemBytes;
    const before = this.length;
    const room = most - before;
    this.length += to - from;
    if (this.mode === 'json' && this.length > most) {
      this.tooLong();
      return;
    }
    if (this.length === this.announced && before === 0 && this.length <= largeBody) {
      this.text = bytes.toString('utf8', from, to);
      return;
    }
    if (this.large !== undefined) this.large.take(Buffer.from(bytes.subarray(from, to)));
    else this.body.add(bytes, from, Math.min(to, from + room));
    if (this.length > most) this.problem();
    else if (this.mode === 'json' && before <= largeBody && this.length > largeBody) this.begunLarge();
  }

  onEnd(): void {
    if (this.ended) return;
    if (this.mode === 'problem') this.problem();
    else if (this.mode === 'json') this.response();
    else if (this.mode === 'events') this.streamOver('ended its stream before it answered', '');
    else this.finish();
  }

  onFailure(code: ErrorCode, detail: string): void {
    if (this.ended) return;
    if (this.mode === 'events')
      this.streamOver('broke its stream off before it answered', `${code}: ${detail}`);
    else this.finish(connectionError(this.host.name, code, detail));
  }

  private begunLarge(): void {
    const head = this.body.takeWhole();
    this.large = this.host.receiveLarge(head, this.wireId);
    if (this.large === undefined) this.body.add(head);
  }

  // EventHandler

  onEvent(data: string): void {
    const { host } = this;
    const { wireId } = this.start;
    host.receive(data, wireId);
    if (this.settledAt === 0 && !host.waits(wireId)) this.settledAt = performance.now();
  }

  onLarge(head: Buffer): LargeEvent | undefined {
    return this.host.receiveLarge(head, this.wireId);
  }

  onTooLong(head: string, tail: string): void {
    const { wireId } = this.start;
    const id = idOfLongLine(head, tail) ?? wireId;
    this.host.failed(id, tooLarge(this.host.name));
    if (!this.host.waits(wireId)) this.abandon();
  }

  /** The whole answer as JSON. */
  private response(): void {
    const { host } = this;
    const { wireId } = this.start;
    if (this.large === undefined) {
      const text = this.text ?? this.body.takeWhole().toString();
      this.text = undefined;
      host.receive(text, wireId);
    } else this.large.end();
    if (host.waits(wireId))
      this.finish(targetError('mcp_target_failed', host.name, 'answered with something that is no response'));
    else this.finish();
  }

  private streamOver(what: string, detail: string): void {
    const { host, reader } = this;
    const { session, wireId } = this.start;
    this.ended = true;
    if (host.waits(wireId)) {
      // A client that has got a part of the response cannot take it from the beginning.
      if (reader?.lastId === undefined || reader.isInLarge)
        host.failed(wireId, targetError('mcp_target_failed', host.name, what, detail));
      else host.broken(session, wireId, reader, this.start.reach);
    }
    host.over(this);
  }

  /** The answer says that something is wrong: the server may say so in the protocol, or may have lost the session. */
  private problem(): void {
    const { host, status } = this;
    const { session, wireId, text, headers, reach } = this.start;
    const body = this.body.takeWhole().toString();
    if (session.id !== undefined && (status === 404 || (status === 400 && blamesSession(body)))) {
      const why = `does not know its session (${status})`;
      this.leave();
      host.lost(session, why, wireId, { text, headers, reach });
      this.start.done?.(targetError('mcp_target_failed', host.name, why));
      return;
    }
    const said = wireId === 0 ? undefined : readProblem(body, wireId);
    if (said === 'modern refusal' && this.isOfOlderSession) {
      this.leave();
      host.lost(session, 'speaks another era of MCP now', wireId);
      return;
    }
    if (said !== undefined) {
      host.receive(body, wireId);
      this.finish();
      return;
    }
    const shown = [this.hint, body].filter((part) => part !== '').join('; ');
    const detail = withoutSecrets(shown, this.reach).slice(0, maxShown);
    this.finish(statusError(host.name, status, detail, this.retryAfter));
  }

  /** The server had agreed on a revision of the legacy era. */
  private get isOfOlderSession(): boolean {
    const { version } = this.start.session;
    return version !== undefined && version !== modernVersion;
  }

  private wrongContent(detail: string): void {
    const what = 'answered with something that is no MCP message';
    this.finish(targetError('mcp_target_failed', this.host.name, what, detail));
  }

  private tooLong(): void {
    this.finish(tooLarge(this.host.name));
  }

  private finish(error?: GatewayError): void {
    if (this.ended) return;
    this.leave();
    if (error !== undefined && this.wireId !== 0) this.host.failed(this.wireId, error);
    this.start.done?.(error);
  }

  /** Ends it, the rest of an answer that is still under way included. */
  private leave(): void {
    this.ended = true;
    this.exchange.abandon();
    this.host.over(this);
  }
}

const tooLarge = (target: string): GatewayError =>
  targetError('mcp_message_too_large', target, 'answered with a message that is too large');

/** Servers that are made after the examples of the SDK answer 400 for a session that they do not know. */
function blamesSession(body: string): boolean {
  try {
    const { error } = JSON.parse(body) as { error?: { code?: unknown; message?: unknown } };
    if (error?.code !== -32000 && error?.code !== -32001) return false;
    return typeof error.message === 'string' && /\bsession\b/i.test(error.message);
  } catch {
    return false;
  }
}
