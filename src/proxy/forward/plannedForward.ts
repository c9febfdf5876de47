import { catalogue, GatewayError, type ErrorCode } from '../../errors.ts';
import { GatheredBytes } from '../../gatheredBytes.ts';
import { Body, FRAMING, idempotentMethods, type Head } from '../../http/index.ts';
import type { RetryPlan } from '../../policies/index.ts';
import type { Destination, Endpoint, UpstreamConnection } from '../../upstream/index.ts';
import { consumeBody } from '../exchange/heldBody.ts';
import type { LiveExchange } from '../exchange/liveExchange.ts';
import { Forward, signedHead } from './forward.ts';
import { Hedges, type Hedged } from './hedge.ts';
import { timeLimit } from '../exchange/timedRequest.ts';
import { BufferedResponse, mostGathered } from '../exchange/bufferedResponse.ts';
import { PIECE, writeWhole } from '../exchange/writeWhole.ts';
import type { MirroredRequest } from './mirror.ts';
import type { BufferLimit, Plan } from './plan.ts';

const EMPTY = Buffer.alloc(0);

/** The errors after which no part of the request was sent. */
const refused: ReadonlySet<ErrorCode> = new Set(['upstream_unhealthy', 'upstream_overloaded']);

/** A kept body streams on in pieces of this size: the backend has the time limit of the client's body for each. */
const REST_PIECE = 262_144;

/**
 * A request that is forwarded by a plan: tried again after failures, gathered in memory before it is sent, copied to
 * mirrors, its answer gathered. The body of the request is kept while it may have to be sent again.
 */
export class PlannedForward extends Forward implements Hedged {
  private readonly plan: Plan;
  /** Set while the request may be tried again. */
  private retry: RetryPlan | undefined;
  private triesLeft = 0;
  private tries = 0;
  private staleRetried = false;
  /** The request body so far, framing included, as long as somebody may need it again. */
  private kept: GatheredBytes | undefined;
  /** The part of the kept body that is still to be sent, while the client waits. */
  private rest: Buffer = EMPTY;
  /** The request body is complete. */
  private complete: boolean;
  /** Set while the body is gathered, which is sent when it is whole. */
  private holding: BufferLimit | undefined;
  /** No try is under way. */
  private between = true;
  /** Set while a try waits for a connection: what it begins with when there is one. */
  private pending: (() => void) | undefined;
  /** The reason why the previous try failed. */
  private lastFailure: GatewayError | undefined;
  private tryTimer: NodeJS.Timeout | undefined;
  private held: BufferedResponse | undefined;
  private hedges: Hedges | undefined;
  private copies: MirroredRequest[] = [];

  constructor(exchange: LiveExchange, destination: Destination, plan: Plan) {
    super(exchange, destination);
    this.plan = plan;
    this.complete = this.bodyless;
  }

  override start(): void {
    const { exchange, plan } = this;
    const { name, target } = this.destination;
    exchange.backend = name;
    exchange.chosen = { name, type: target.endpoints === undefined ? 'static' : 'service', protocol: 'http' };
    exchange.cancel = (why) => {
      this.hedges?.stop();
      if (this.pending !== undefined) this.leaveQueue();
      if (this.between) return;
      if (why?.code === 'upstream_timeout') this.upstream.tooSlow();
      this.upstream.abandon();
    };
    exchange.drained = () => {
      if (!this.between) this.upstream.resume();
    };
    const hold = this.bodyless || this.upgrade !== undefined ? undefined : this.heldRequest();
    if (hold !== undefined && exchange.head.contentLength > hold.maxBytes && !hold.failOpen) {
      exchange.fail(this.requestFull());
      return;
    }
    // A request that is explained ends here.
    if (exchange.trial !== undefined) exchange.backendChosen(name);
    if (plan.retry !== undefined) this.prepareRetry(plan.retry);
    this.beginCopies();
    if (hold !== undefined && exchange.head.contentLength <= hold.maxBytes) {
      this.holding = hold;
      this.kept = new GatheredBytes(exchange.head.contentLength);
      consumeBody(exchange, this);
      return;
    }
    if (this.retry !== undefined) this.kept = new GatheredBytes();
    this.begin(this.choose(false), () => super.send(this.upstream));
  }

  /** The limit of a body that is gathered; undefined where it streams. */
  private heldRequest(): BufferLimit | undefined {
    const { exchange, plan } = this;
    if (exchange.signer?.needsBody !== true) return plan.request;
    const { maxBufferBytes } = exchange.snapshot.settings.limits;
    return { maxBytes: Math.min(maxBufferBytes, plan.request?.maxBytes ?? Infinity), failOpen: false };
  }

  private requestFull(): GatewayError {
    if (this.exchange.signer?.needsBody !== true) return bufferFull('body_too_large', 'request');
    return new GatewayError('body_too_large', {
      detail: 'the signature needs the whole body: limits.maxBufferBytes',
      by: { policy: 'backendAuth', place: '.aws' },
    });
  }

  private prepareRetry(retry: RetryPlan): void {
    retry.noteRequest();
    if (!retry.applies(this.exchange)) return;
    this.retry = retry;
    this.triesLeft = retry.attempts - 1;
  }

  private beginCopies(): void {
    const { exchange } = this;
    if (this.upgrade !== undefined) return;
    for (const { share, mirror } of this.plan.mirrors) {
      if (share < 1 && Math.random() >= share) continue;
      const copy = exchange.route === undefined ? undefined : mirror.begin(exchange, exchange.route.stats);
      if (copy !== undefined) this.copies.push(copy);
    }
  }

  /**
   * A try is under way from here; its own time limit runs. Where there is no connection to be had it waits for one.
   * @param send what it begins with
   */
  private begin(upstream: UpstreamConnection | undefined, send: () => void): void {
    const { exchange } = this;
    this.tries++;
    if (exchange.backendMs !== undefined)
      this.tryTimer = exchange.after(exchange.backendMs, () => this.expired());
    if (upstream !== undefined) {
      this.go(upstream, send);
      return;
    }
    this.pending = send;
    this.destination.wait(this);
  }

  private go(upstream: UpstreamConnection, send: () => void): void {
    this.upstream = upstream;
    this.between = false;
    if (this.complete) this.beginHedges();
    send();
  }

  private leaveQueue(): void {
    this.pending = undefined;
    this.destination.waiting.forget(this);
  }

  // Waiter

  override onReady(upstream: UpstreamConnection): void {
    const { pending } = this;
    this.pending = undefined;
    if (pending !== undefined) this.go(upstream, pending);
  }

  override onRefused(code: ErrorCode, detail: string): void {
    this.pending = undefined;
    clearTimeout(this.tryTimer);
    this.failed(code, detail);
  }

  private beginHedges(): void {
    const { exchange } = this;
    const hedge = this.retry?.hedge;
    // A request that belongs to an address has no business at another one.
    if (hedge === undefined || exchange.affinity?.bound === true || this.upgrade !== undefined) return;
    if (hedge.applies(exchange)) this.hedges ??= new Hedges(this, hedge);
  }

  // Hedged

  get trying(): Endpoint | undefined {
    return this.between ? undefined : this.upstream.endpoint;
  }

  get wholeBody(): Buffer | undefined {
    return this.bodyless ? EMPTY : this.complete ? this.kept?.whole() : undefined;
  }

  wants(head: Head): boolean {
    return this.retry?.wants(this.exchange, head) === true;
  }

  adopt(upstream: UpstreamConnection, begunAt: number, timer: NodeJS.Timeout | undefined): void {
    if (!this.between) this.upstream.abandon();
    clearTimeout(this.tryTimer);
    this.tryTimer = timer;
    this.upstream = upstream;
    this.between = false;
    this.exchange.upstreamTick = begunAt;
  }

  // The request body

  override take(bytes: Buffer, from: number, to: number, done: boolean): void {
    this.complete = done;
    for (const copy of this.copies) copy.take(bytes, from, to, done);
    if (this.holding !== undefined) {
      this.hold(this.holding, bytes, from, to, done);
      return;
    }
    if (this.kept !== undefined) this.keep(this.kept, bytes, from, to);
    // Between two tries the body waits in memory, and the client with it.
    if (!this.between) {
      this.flushRest();
      super.take(bytes, from, to, done);
      if (done) this.beginHedges();
    } else if (!done) this.exchange.connection.pauseBody();
  }

  private keep(kept: GatheredBytes, bytes: Buffer, from: number, to: number): void {
    // If the request was not sent yet, the body is needed in any case; the sender is paused.
    if (this.pending !== undefined || kept.length + to - from <= (this.retry?.maxBodyBytes ?? 0)) {
      kept.add(bytes, from, to);
      return;
    }
    // Too large to be sent again.
    this.kept = undefined;
    this.retry = undefined;
    if (this.between && this.lastFailure !== undefined) this.exchange.abort(this.lastFailure);
  }

  private hold(limit: BufferLimit, bytes: Buffer, from: number, to: number, done: boolean): void {
    const { exchange } = this;
    const kept = this.kept as GatheredBytes;
    kept.add(bytes, from, to);
    const tooLarge = exchange.body.payload > limit.maxBytes || kept.length > mostGathered(limit.maxBytes);
    if (tooLarge && !limit.failOpen) {
      this.holding = undefined;
      this.kept = undefined;
      exchange.fail(this.requestFull());
      return;
    }
    if (!done && !tooLarge) return;
    this.holding = undefined;
    if (exchange.signer?.needsBody === true && exchange.head.chunked) this.kept = withLength(exchange, kept);
    this.begin(this.choose(false), () => {
      this.replay();
      // A body that is gathered completely may be sent again; a body that streams on is judged by the limit.
      if (!done && kept.length > (this.retry?.maxBodyBytes ?? 0)) {
        this.kept = undefined;
        this.retry = undefined;
      }
    });
    if (!done && this.pending !== undefined) exchange.connection.pauseBody();
  }

  /** Sends the head and as much of the body as there is. */
  private replay(): void {
    const { exchange, upstream } = this;
    upstream.begin(this, exchange.method === 'HEAD', this.upgrade !== undefined);
    const body = this.kept?.whole() ?? EMPTY;
    exchange.upstreamTick = performance.now();
    if (exchange.span !== undefined) exchange.connection.port.tracing?.attempt(exchange, this.destination);
    upstream.cork();
    upstream.write(signedHead(exchange, this.destination, this.upgrade, body));
    this.rest = body;
    if (this.complete) this.flushRest();
    else this.sendRest();
    upstream.uncork();
    if (this.complete) upstream.sent();
  }

  /** Sends as much of the rest as the backend takes now. The client waits if the backend does not take all of it. */
  private sendRest(): void {
    const { exchange, upstream } = this;
    let more = true;
    while (more && this.rest.length > 0) {
      const piece = this.rest.subarray(0, REST_PIECE);
      this.rest = this.rest.subarray(piece.length);
      more = upstream.write(piece);
    }
    if (more) exchange.connection.resumeBody(exchange);
    else exchange.connection.pauseBody();
  }

  private flushRest(): void {
    const { rest } = this;
    this.rest = EMPTY;
    if (rest.length > 0) this.upstream.write(rest);
  }

  override fail(error: GatewayError): void {
    // The client's body broke off: nothing is left to try.
    this.retry = undefined;
    super.fail(error);
  }

  // The answer

  override onWritable(): void {
    if (!this.between) this.sendRest();
  }

  override onAnswer(head: Head, bytes: Buffer, from: number, to: number, body: Body): boolean {
    const { retry, upstream, hedges } = this;
    if (retry !== undefined && this.wants(head) && (hedges?.underWay === true || this.mayTryAgain())) {
      this.endTry();
      // A complete answer leaves a connection that is good for others; it goes back by itself.
      if (!body.done) upstream.abandon();
      // Others may do better; the last of them decides.
      if (hedges?.underWay === true) return true;
      const detail = `${upstream.endpoint.name}: answered ${head.status}`;
      this.tryLater(retry, new GatewayError('upstream_reset', { detail }));
      return true;
    }
    hedges?.stop();
    const { response } = this.plan;
    if (
      response === undefined ||
      body.kind === FRAMING.none ||
      (body.done && body.payload <= response.maxBytes)
    )
      return this.deliver(head, bytes, from, to, body.kind, body.done);
    const held = new BufferedResponse(head, body, response.maxBytes);
    if (held.add(bytes, from, to)) {
      this.held = held;
      return true;
    }
    return this.overflow(response, held, body.done);
  }

  override onBody(bytes: Buffer, from: number, to: number, done: boolean): boolean {
    const { held } = this;
    if (held === undefined) return super.onBody(bytes, from, to, done);
    if (!held.add(bytes, from, to)) return this.overflow(this.plan.response as BufferLimit, held, done);
    if (!done) return true;
    return this.release(held, true);
  }

  private release(held: BufferedResponse, done: boolean): boolean {
    this.held = undefined;
    const body = held.bytes;
    if (body.length <= PIECE || !done) return this.deliver(held.head, body, 0, body.length, held.kind, done);
    const { exchange } = this;
    this.deliver(held.head, body, 0, 0, held.kind, false);
    // Its connection is free for others.
    exchange.answerIsReady();
    writeWhole(exchange, body, (piece, isLast) => super.onBody(piece, 0, piece.length, isLast));
    return true;
  }

  private overflow({ failOpen }: BufferLimit, held: BufferedResponse, done: boolean): boolean {
    if (failOpen) return this.release(held, done);
    this.held = undefined;
    this.endTry();
    this.upstream.abandon();
    this.exchange.abort(bufferFull('upstream_too_large', 'response'));
    return true;
  }

  /** The answer goes to the client: there is no way back. */
  private deliver(head: Head, bytes: Buffer, from: number, to: number, kind: number, done: boolean): boolean {
    this.retry = undefined;
    this.kept = undefined;
    if (this.tries > 1) this.exchange.annotate('tries', this.tries);
    return this.answer(head, bytes, from, to, kind, done);
  }

  // Failures

  override onFailure(code: ErrorCode, detail: string, fresh: boolean): void {
    const { exchange, upstream } = this;
    this.endTry();
    this.held = undefined;
    const { endpoint } = upstream;
    // A kept-alive connection that died before it answered says nothing about the backend: such a try is free.
    const kept = fresh && upstream.reused && code === 'upstream_reset';
    const stale = kept && !this.staleRetried && this.bodyless && idempotentMethods.has(exchange.method);
    if (stale && !exchange.started && !exchange.closed) {
      this.staleRetried = true;
      this.tries--;
      this.again(true);
      return;
    }
    // A request that was not sent may go to another address without counting as a try.
    if (
      !upstream.connected &&
      !exchange.started &&
      !exchange.closed &&
      (this.bodyless || this.untouched || this.kept !== undefined)
    ) {
      const other = this.other(upstream);
      if (other !== undefined) {
        this.tries--;
        this.begin(other, () => this.resend());
        return;
      }
    }
    endpoint.stats.failed++;
    if (this.hedges?.underWay !== true) this.failed(code, `${endpoint.name}: ${detail}`);
  }

  /** Handles a try that took too long. */
  expired(): void {
    const { exchange } = this;
    if (this.pending !== undefined) {
      this.leaveQueue();
      this.failed('upstream_timeout', backendLimit);
      return;
    }
    if (this.between) return;
    if (exchange.started) {
      exchange.abort(timeLimit('backendRequestTimeout'));
      return;
    }
    this.endTry();
    this.held = undefined;
    this.upstream.tooSlow();
    this.upstream.abandon();
    if (this.hedges?.underWay !== true) this.failed('upstream_timeout', backendLimit);
  }

  failed(code: ErrorCode, detail: string): void {
    const { exchange, retry } = this;
    const error =
      detail === backendLimit ? timeLimit('backendRequestTimeout') : new GatewayError(code, { detail });
    const harmless =
      code === 'upstream_connect_failed' || code === 'upstream_tls_failed' || refused.has(code);
    const worthIt = catalogue[code].retry !== 'no';
    if (retry !== undefined && worthIt && (harmless || retry.repeatable(exchange)) && this.mayTryAgain()) {
      this.tryLater(retry, error);
      return;
    }
    if (this.tries > 1) exchange.annotate('tries', this.tries);
    exchange.abort(error);
  }

  private endTry(): void {
    this.between = true;
    this.rest = EMPTY;
    clearTimeout(this.tryTimer);
  }

  private mayTryAgain(): boolean {
    const { exchange, retry } = this;
    if (retry === undefined || this.triesLeft === 0 || exchange.started || exchange.closed) return false;
    const stats = exchange.route?.stats;
    if (!retry.takeRetry()) {
      if (stats !== undefined) stats.retriesRefused++;
      return false;
    }
    this.triesLeft--;
    if (stats !== undefined) stats.retries++;
    return true;
  }

  private tryLater({ backoffMs }: RetryPlan, why: GatewayError): void {
    this.lastFailure = why;
    if (!this.complete) this.exchange.connection.pauseBody();
    this.exchange.after(backoffMs, () => this.again(false));
  }

  private again(fresh: boolean): void {
    const { exchange } = this;
    if (exchange.closed || exchange.started) return;
    this.begin(this.choose(fresh), () => this.resend());
  }

  private resend(): void {
    if (this.untouched) super.send(this.upstream);
    else this.replay();
  }
}

/** A signature covers the body without its chunks, and some services of AWS want the length. Drops the trailers. */
function withLength({ requestHeaders }: LiveExchange, kept: GatheredBytes): GatheredBytes {
  const payload = new GatheredBytes();
  const framed = kept.whole();
  const chunks = new Body();
  chunks.startChunked();
  chunks.take(framed, 0, framed.length, (bytes, from, to) => payload.add(bytes, from, to));
  requestHeaders.remove('transfer-encoding');
  requestHeaders.remove('trailer');
  requestHeaders.set('content-length', String(payload.length));
  return payload;
}

const backendLimit = 'timeout.backendRequestTimeout';

const bufferFull = (code: 'body_too_large' | 'upstream_too_large', part: 'request' | 'response') =>
  new GatewayError(code, {
    detail: `buffer.${part}.maxBytes`,
    by: { policy: 'buffer', place: `.${part}.maxBytes` },
  });
