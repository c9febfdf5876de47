import type { ErrorCode, GatewayError } from '../../../errors.ts';
import { GatheredBytes } from '../../../gatheredBytes.ts';
import type { Head, HeaderLine } from '../../../http/index.ts';
import type { ResponseHandler } from '../../../upstream/index.ts';
import type { Reach } from '../../contract.ts';
import { isRepeatable } from '../../messages/mcpMethods.ts';
import { targetError } from '../../messages/rpcError.ts';
import { connectionError, statusError, withoutSecrets } from '../conversation/failures.ts';
import type { InFlightRequest, RequestHost } from '../conversation/inFlightRequest.ts';
import { ServerExchange } from '../conversation/serverExchange.ts';
import { requestHead } from '../conversation/serverRequestHead.ts';
import type { SseSession } from './sseSession.ts';

export interface SsePostStart {
  readonly session: SseSession;
  /** The message, as it goes over the wire. */
  readonly text: string;
  readonly method: string;
  /** The id of the request on the wire; 0 for notifications and responses. */
  readonly wireId: number;
  /** Header lines besides those that every request has. */
  readonly headers: readonly HeaderLine[] | undefined;
  /** The way of its own caller; undefined: the way of the newest caller. */
  readonly reach: Reach | undefined;
  /** Hears of the end of a notification or response, and of a call that was not accepted. */
  readonly done: (error?: GatewayError) => void;
}

/** The bytes that are read of a receipt, or of an answer that is a failure. */
const maxBytes = 16_384;
/** The characters of a failure that go into the log. */
const maxShown = 300;
/** A receipt that is still under way when the call is answered is waited for so long, in milliseconds. */
const lingerMs = 5_000;

/**
 * A message to the server. The server answers the POST with a mere receipt; the response to a call comes on the event
 * stream, and the call is under way until then.
 */
export class SsePost implements ResponseHandler, InFlightRequest {
  readonly wireId: number;
  readonly session: SseSession;
  private readonly start: SsePostStart;
  private readonly host: RequestHost;
  private readonly body: Buffer;
  private reach: Reach;
  private exchange: ServerExchange | undefined;
  private status = 0;
  private retryAfter: string | undefined;
  private readonly received = new GatheredBytes();
  private length = 0;
  private lastByteAt = 0;
  /** The receipt is complete. */
  private accepted = false;
  /** When the call was answered; 0 before. */
  private answeredAt = 0;
  private ended = false;

  constructor(start: SsePostStart, host: RequestHost) {
    this.start = start;
    this.host = host;
    this.wireId = start.wireId;
    this.session = start.session;
    this.body = Buffer.from(start.text);
    this.reach = host.reach;
  }

  /** Sends it to the path that the server named. */
  send(path: string, reach: Reach): void {
    if (this.ended) return;
    const { session, method, wireId, headers = [] } = this.start;
    const { host, body } = this;
    this.reach = reach;
    this.exchange = new ServerExchange(
      {
        destination: reach.destination,
        session,
        head: requestHead(
          'POST',
          { ...reach, path },
          session,
          [
            ['content-type', 'application/json'],
            ['accept', 'application/json'],
            ['content-length', String(body.length)],
            ...headers,
          ],
          body,
        ),
        body,
        repeatable: isRepeatable(method),
        // A limit of the call's own takes the place of the general one.
        patient: wireId !== 0 && (reach.callTimeoutMs !== undefined || host.isLimited(wireId)),
      },
      this,
    );
    if (host.paused) this.exchange.pause();
    this.exchange.begin();
  }

  /** The call was answered, or has failed; the receipt may still be on its way. */
  answered(): void {
    this.answeredAt = performance.now();
    if (this.accepted) this.leave();
  }

  // InFlightRequest

  get backlog(): number {
    return this.exchange?.backlog ?? this.body.length;
  }

  pause(): void {
    this.exchange?.pause();
  }

  resume(): void {
    this.exchange?.resume();
  }

  abandon(): void {
    if (!this.ended) this.leave();
  }

  tick(now: number): void {
    if (this.answeredAt !== 0 && now - this.answeredAt > lingerMs) this.abandon();
    else if (
      this.status !== 0 &&
      !this.accepted &&
      !this.host.paused &&
      now - this.lastByteAt > this.host.limits.bodyTimeoutMs
    ) {
      this.exchange?.abandon();
      this.onFailure('upstream_timeout', 'limits.bodyTimeout');
    }
  }

  // ResponseHandler

  onHead(head: Head): void {
    this.status = head.status;
    this.retryAfter = head.get('retry-after');
    this.lastByteAt = performance.now();
  }

  onBytes(bytes: Buffer, from: number, to: number): void {
    this.lastByteAt = performance.now();
    this.length += to - from;
    if (!this.isReceipt) this.received.add(bytes, from, to);
    if (this.length <= maxBytes) return;
    this.exchange?.abandon();
    this.onEnd();
  }

  onEnd(): void {
    if (this.ended) return;
    if (!this.isReceipt) {
      this.problem();
      return;
    }
    this.accepted = true;
    if (this.wireId !== 0 && this.answeredAt === 0) return;
    this.leave();
    if (this.wireId === 0) this.start.done();
  }

  onFailure(code: ErrorCode, detail: string): void {
    if (this.answeredAt !== 0) this.abandon();
    else this.refuse(connectionError(this.host.name, code, detail));
  }

  private get isReceipt(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  /** The server did not accept the message: the server may have lost the session. */
  private problem(): void {
    const { host, status } = this;
    const { session, method, wireId, text, headers, reach } = this.start;
    const body = this.received.takeWhole().toString();
    const isLost = status === 404 || (status === 400 && /session/i.test(body));
    if (isLost && method !== 'initialize') {
      const why = `does not know its session (${status})`;
      this.leave();
      host.lost(session, why, wireId, { text, headers, reach });
      this.start.done(targetError('mcp_target_failed', host.name, why));
      return;
    }
    const detail = withoutSecrets(body, this.reach).slice(0, maxShown);
    this.refuse(statusError(host.name, status, detail, this.retryAfter));
  }

  /** It cannot be sent, or was not accepted. */
  refuse(error: GatewayError): void {
    if (this.ended) return;
    this.leave();
    if (this.wireId !== 0) this.host.failed(this.wireId, error);
    this.start.done(error);
  }

  private leave(): void {
    this.ended = true;
    this.exchange?.abandon();
    this.host.over(this);
  }
}
