import { GatewayError } from '../../errors.ts';
import { stackOf } from '../../errorText.ts';
import {
  HTTP2_CODE as CODE,
  lastChunk,
  type Head,
  type HeadLimits,
  type Http2Trailers,
  type RequestText,
  type ServerStream,
  type StreamUser,
} from '../../http/index.ts';
import type { UpstreamConnection } from '../../upstream/index.ts';
import { type ClientSide, LiveExchange } from '../exchange/liveExchange.ts';
import { LINGER_BYTES, LINGER_MS } from '../http1/clientSocket.ts';
import { isGrpc } from '../exchange/grpc.ts';
import { Http2Response } from './http2Response.ts';
import { Http2Tunnel } from './http2Tunnel.ts';
import { asChunk, readHead } from './http2Request.ts';
import { Http2ClientSide, type StreamConnection } from './http2ClientSide.ts';
import { openExchange, serveExchange, type Refusal } from '../http1/receive.ts';
import { bareAnswer } from '../exchange/reply.ts';
import { Tunnel } from '../connections/tunnel.ts';
import type { BodyConsumer } from '../exchange/receivedRequest.ts';

const EMPTY = Buffer.alloc(0);

/** The functions of its connection that a stream needs. */
interface StreamSession extends StreamConnection {
  /** The limits of a head. */
  readonly headLimits: HeadLimits;
  /** A stream is over. */
  ended(stream: Http2Stream): void;
  /** Both sides of a stream have ended, and its exchange has not yet. */
  completed(stream: Http2Stream): void;
  /** The rest of a request is not wanted. */
  notWanted(stream: ServerStream): void;
}

/**
 * A request of an HTTP/2 connection and its answer. The request is read as the message of HTTP/1.1 that it stands
 * for, and the answer is written as one: above this, both versions are the same.
 */
export class Http2Stream extends Http2ClientSide implements ClientSide, StreamUser {
  /** When `expire` is due, by `Date.now()`. */
  deadline = Number.POSITIVE_INFINITY;
  protected readonly session: StreamSession;
  private readonly answer: Http2Response;
  private exchange: LiveExchange | undefined;
  private head: Head | undefined;
  private chunked = false;
  /** Set once a consumer has asked for the body. */
  private reading = false;
  private tunnel: Tunnel | undefined;
  private gone = false;
  /** A call of gRPC: both sides may be silent for long between two messages. */
  private call = false;
  /** The answer is complete and the request is not; bytes read of it since. */
  private lingering = false;
  private lingered = 0;
  /** A body of no bytes has not ended yet. */
  private awaiting = false;
  /** Bytes of a whole answer that wait behind those that the stream has. */
  private rest = 0;
  /** The start of the rate measurement of the body; 0: from the next look on. */
  private rateSince = 0;
  private rateFrom = 0;

  constructor(session: StreamSession, stream: ServerStream, headRequest: boolean) {
    super(session, stream);
    this.session = session;
    stream.user = this;
    this.answer = new Http2Response(stream, headRequest);
  }

  /** @param bodyless the stream has ended with its head */
  serve(request: RequestText, bodyless: boolean): void {
    // It may have been reset while it waited for its turn.
    if (this.gone) return;
    try {
      this.begin(request, bodyless);
    } catch (error) {
      this.broken(error);
    }
  }

  /** Answers what is no request that could be served. */
  refuse({ code, detail }: Refusal): void {
    this.answer.writeText(bareAnswer(code));
    this.port.refused(this, code, detail);
    this.releaseHead();
    this.linger();
  }

  /**
   * Reads the rest of an answered request for a moment, then refuses it (RFC 9113 §8.1): some clients lose the
   * answer when their upload is reset. As long as they have not taken it, it is not cut short.
   */
  private linger(): void {
    this.lingering = true;
    this.deadline = Date.now() + (this.stream.pending === 0 ? LINGER_MS : this.port.limits.bodyTimeoutMs);
    this.stream.inbound.resume();
  }

  // The answer

  /** Timers and other sockets write answers, too: an error that is thrown there would end the process. */
  write(data: string | Buffer, release?: () => void): boolean {
    const { answer } = this;
    try {
      return this.taken(
        typeof data === 'string' ? answer.writeText(data) : answer.write(data, data.length, release),
      );
    } catch (error) {
      this.broken(error);
      return true;
    }
  }

  writeText(text: string): boolean {
    return this.write(Buffer.from(text));
  }

  waits(bytes: number): void {
    if (this.gone) return;
    this.port.unread(bytes - this.rest);
    this.rest = bytes;
  }

  writeLent(bytes: Buffer, release: () => void): boolean {
    return this.write(bytes, release);
  }

  private taken(more: boolean): boolean {
    if (!more) this.wait();
    return more;
  }

  answered(exchange: LiveExchange): void {
    if (exchange !== this.exchange) return;
    this.exchange = undefined;
    this.releaseHead();
    if (this.stream.closed) this.lost();
    else if (!this.stream.inbound.ended) this.linger();
  }

  /** The rest of the body is refused by itself, without ending the connection. */
  restIsTooMuch(): boolean {
    return false;
  }

  destroy(): void {
    if (this.gone) return;
    this.stream.reset(this.exchange?.started === true ? CODE.internal : CODE.cancel);
    this.lost();
  }

  broken(error: unknown): void {
    this.port.log.error('internal error', { stack: stackOf(error) });
    this.destroy();
  }

  // The request body

  consume(exchange: LiveExchange, consumer: BodyConsumer): void {
    if (this.gone || exchange !== this.exchange) return;
    exchange.consumer = consumer;
    if (exchange.body.done) {
      consumer.take(EMPTY, 0, 0, true);
      return;
    }
    if (exchange.head.expectContinue && !exchange.started) this.stream.respondStatus(100);
    this.call = isGrpc(exchange);
    this.rateSince = 0;
    this.expectBody();
    this.reading = true;
    this.stream.inbound.resume();
  }

  pauseBody(): void {
    this.stream.inbound.pause();
    this.wait();
  }

  resumeBody(exchange: LiveExchange): void {
    if (exchange.body.done || this.gone) return;
    this.rateSince = 0;
    this.expectBody();
    this.stream.inbound.resume();
  }

  /** Starts the clock for the next part of the body. */
  private expectBody(): void {
    const { bodyTimeoutMs, tunnelIdleTimeoutMs } = this.port.limits;
    this.deadline = Date.now() + (this.call ? tunnelIdleTimeoutMs : bodyTimeoutMs);
  }

  /** Runs at every tick of the coarse clock. */
  look(now: number): void {
    try {
      if (now >= this.deadline) this.expire();
      else if (this.reading && !this.call) this.checkRate(now);
    } catch (error) {
      this.broken(error);
    }
  }

  /** As for connections of HTTP/1.1: a body may come slowly, but not a byte at a time for hours. */
  private checkRate(now: number): void {
    const { minBodyRate, minBodyRateWindowMs } = this.port.limits;
    const { exchange } = this;
    if (minBodyRate === 0 || exchange === undefined || exchange.body.done || this.stream.inbound.paused)
      return;
    if (this.rateSince !== 0) {
      const ms = now - this.rateSince;
      if (ms < minBodyRateWindowMs) return;
      if ((exchange.requestBytes - this.rateFrom) * 1_000 < minBodyRate * ms) {
        exchange.abort(
          new GatewayError('request_timeout', { detail: 'the body came at less than limits.minBodyRate' }),
        );
        return;
      }
    }
    this.rateSince = now;
    this.rateFrom = exchange.requestBytes;
  }

  // A tunnel (RFC 8441)

  tunnelTo(
    exchange: LiveExchange,
    upstream: UpstreamConnection,
    bytes: Buffer,
    from: number,
    to: number,
  ): void {
    if (this.gone) return;
    const tunnel = new Tunnel(
      { socket: new Http2Tunnel(this.stream), touch: () => this.touch(), cut: (error) => this.cut(error) },
      upstream,
      this.port.limits.bodyTimeoutMs,
    );
    this.tunnel = tunnel;
    this.port.tunnelOpened();
    exchange.tunnelled(tunnel);
    this.touch();
    if (!tunnel.onBytes(bytes, from, to)) upstream.pause();
    this.stream.inbound.resume();
  }

  private touch(): void {
    const { tunnel, port } = this;
    if (tunnel !== undefined) this.deadline = Date.now() + tunnel.patience(port.limits);
  }

  /** Since when the client has taken nothing of what waits for it; undefined where nothing does. */
  get idleSince(): number | undefined {
    return this.stream.held === 0 ? undefined : this.stream.movedAt;
  }

  /** The bytes that wait for the client take up too much memory. */
  evict(): void {
    this.exchange?.noteError(
      new GatewayError('request_timeout', {
        detail: 'the answer was not read, and limits.maxUnreadBytes is reached',
      }),
    );
    this.stream.reset(CODE.enhanceYourCalm);
    this.lost();
  }

  private cut(error: GatewayError): void {
    this.exchange?.noteError(error);
    this.destroy();
  }

  /** Time is up for what the stream was doing. */
  expire(): void {
    const { exchange } = this;
    if (this.lingering && this.stream.pending === 0) this.session.notWanted(this.stream);
    else if (this.tunnel !== undefined) {
      exchange?.noteReason('the tunnel was idle');
      this.destroy();
    } else if (exchange === undefined || exchange.started) {
      exchange?.noteError(new GatewayError('request_timeout', { detail: 'the answer was not read' }));
      this.destroy();
    } else if (this.stream.inbound.paused)
      exchange.abort(new GatewayError('upstream_timeout', { detail: 'the body was not taken' }));
    else exchange.abort(new GatewayError('request_timeout', { detail: 'body' }));
  }

  private begin(request: RequestText, bodyless: boolean): void {
    this.chunked = request.chunked;
    const head = (this.head = this.port.heads.take());
    const problem = readHead(request.text, head, this.session.headLimits);
    if (problem !== undefined) {
      this.refuse(problem);
      return;
    }
    const exchange = openExchange(this, head);
    if (!(exchange instanceof LiveExchange)) {
      this.refuse(exchange);
      return;
    }
    this.exchange = exchange;
    // The bytes of a WebSocket are no body; a request with a length has a body, and is no WebSocket.
    const expected = request.webSocket && head.contentLength === 0 ? -1 : head.contentLength;
    if (expected >= 0 && !this.stream.inbound.expect(expected)) return;
    if (bodyless || head.contentLength !== 0) serveExchange(exchange);
    else {
      // Bytes beyond the length make the request malformed (RFC 9113 §8.1.1).
      this.awaiting = true;
      this.wait();
      this.stream.inbound.resume();
    }
  }

  // StreamUser

  onData(bytes: Buffer): void {
    try {
      if (this.tunnel === undefined) this.take(bytes);
      else this.tunnel.fromClient(bytes);
    } catch (error) {
      this.broken(error);
    }
  }

  onEnd(trailers: Http2Trailers): void {
    try {
      if (this.tunnel === undefined) this.endOfBody(trailers);
      else this.tunnel.endOfClient();
    } catch (error) {
      this.broken(error);
    }
  }

  onDrain(): void {
    try {
      this.drained();
    } catch (error) {
      this.broken(error);
    }
  }

  onLeft(): void {
    this.exchange?.clientLeft();
  }

  onClosed(code: number | undefined, reason?: string): void {
    if (code === undefined && this.exchange !== undefined) {
      this.session.completed(this);
      return;
    }
    if (reason !== undefined) this.exchange?.noteError(new GatewayError('bad_framing', { detail: reason }));
    this.lost();
  }

  private take(bytes: Buffer): void {
    if (this.lingering) {
      this.lingered += bytes.length;
      if (this.lingered > LINGER_BYTES) this.session.notWanted(this.stream);
      return;
    }
    const { exchange } = this;
    const consumer = exchange?.consumer;
    if (exchange === undefined || consumer === undefined || exchange.body.done) return;
    this.feed(exchange, consumer, this.chunked ? asChunk(bytes) : bytes);
  }

  private endOfBody(trailers: Http2Trailers): void {
    const { exchange } = this;
    if (exchange === undefined) return;
    if (this.awaiting) {
      this.awaiting = false;
      this.deadline = Number.POSITIVE_INFINITY;
      serveExchange(exchange);
    } else if (exchange.consumer !== undefined && !exchange.body.done && this.chunked)
      this.feed(exchange, exchange.consumer, Buffer.from(lastChunk(trailers), 'latin1'));
  }

  private feed(exchange: LiveExchange, consumer: BodyConsumer, bytes: Buffer): void {
    const { body } = exchange;
    const payloadOnly = !consumer.raw && this.chunked;
    const to = payloadOnly
      ? body.take(bytes, 0, bytes.length, (chunk, start, end) => consumer.take(chunk, start, end, false))
      : body.take(bytes, 0, bytes.length);
    if (to < bytes.length) {
      this.endBody(exchange, consumer, new GatewayError('bad_chunk'));
      return;
    }
    exchange.requestBytes += to;
    const { maxBodyBytes } = this.port.limits;
    if (maxBodyBytes !== 0 && body.payload > maxBodyBytes) {
      this.endBody(exchange, consumer, new GatewayError('body_too_large'));
      return;
    }
    if (body.done) this.deadline = Number.POSITIVE_INFINITY;
    else this.expectBody();
    if (!payloadOnly) consumer.take(bytes, 0, to, body.done);
    else if (body.done) consumer.take(EMPTY, 0, 0, true);
  }

  private endBody(exchange: LiveExchange, consumer: BodyConsumer, error: GatewayError): void {
    exchange.noteError(error);
    consumer.fail(error);
    if (exchange.started && !exchange.closed) this.destroy();
  }

  private drained(): void {
    if (this.lingering) {
      this.deadline = Date.now() + LINGER_MS;
      return;
    }
    if (this.tunnel === undefined) this.deadline = Number.POSITIVE_INFINITY;
    const { exchange } = this;
    if (exchange?.consumer !== undefined && !exchange.body.done && this.tunnel === undefined)
      this.expectBody();
    exchange?.drained?.();
  }

  /** Starts the clock for the client. */
  private wait(): void {
    this.deadline = Date.now() + this.port.limits.bodyTimeoutMs;
  }

  /** The stream is over, for whatever reason. */
  lost(): void {
    if (this.gone) return;
    this.waits(0);
    this.gone = true;
    const { exchange } = this;
    this.exchange = undefined;
    exchange?.lost();
    if (this.tunnel !== undefined) this.port.tunnelClosed();
    this.releaseHead();
    this.session.ended(this);
  }

  private releaseHead(): void {
    if (this.head === undefined) return;
    this.port.heads.give(this.head);
    this.head = undefined;
  }
}
