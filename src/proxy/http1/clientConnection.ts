import { GatewayError, type ErrorCode } from '../../errors.ts';
import { COMPLETE, FRAMING, INCOMPLETE, parseRequest, refusal, type Head } from '../../http/index.ts';
import type { UpstreamConnection } from '../../upstream/index.ts';
import { type ClientSide, LiveExchange } from '../exchange/liveExchange.ts';
import { ClientSocket, LINGER_BYTES } from './clientSocket.ts';
import { PHASE } from '../connections/deadline.ts';
import { isPreface } from './preface.ts';
import { openExchange, serveExchange } from './receive.ts';
import { bareAnswer } from '../exchange/reply.ts';
import { Tunnel, type TunnelClient } from '../connections/tunnel.ts';
import { ReadBuffer } from './readBuffer.ts';
import type { BodyConsumer } from '../exchange/receivedRequest.ts';

/** Bytes read ahead of the present request: reading on is how we learn that the client has left. */
const AHEAD_BYTES = 65_536;

const EMPTY = Buffer.alloc(0);
const CR = 13;
const LF = 10;

/**
 * The client's side of one connection: reads heads, hands each request to `handle`, and moves body bytes to whoever
 * consumes them. One request at a time; pipelined ones wait unread, and until the client has read enough.
 */
export class ClientConnection extends ClientSocket implements ClientSide, TunnelClient {
  readonly http2 = false;
  /** No further request after the present one. */
  draining = false;
  private exchange: LiveExchange | undefined;
  private head: Head | undefined;
  private readonly unread = new ReadBuffer();
  private running = false;
  /** The next request waits until the client has taken what was written. */
  private held = false;
  /** Requests begun. */
  private served = 0;
  private readonly openedAt = Date.now();
  /** The tunnel that the connection became after a 101. */
  private tunnel: Tunnel | undefined;

  /** Gives the request body to `consumer`, from its first byte. */
  consume(exchange: LiveExchange, consumer: BodyConsumer): void {
    if (this.gone || exchange !== this.exchange) return;
    exchange.consumer = consumer;
    if (exchange.body.done) {
      consumer.take(EMPTY, 0, 0, true);
      return;
    }
    const pending = this.unread.take();
    if (pending !== undefined) {
      this.deadline.phase = PHASE.body;
      this.feed(exchange, consumer, pending);
      // The consumer may have refused the body, which ends the connection, or be full.
      if (this.deadline.phase !== PHASE.body || exchange.consumer !== consumer) return;
    } else if (exchange.head.expectContinue && !exchange.started) this.write('HTTP/1.1 100 Continue\r\n\r\n');
    if (exchange.body.done) return;
    this.deadline.expect(PHASE.body, this.port.limits.bodyTimeoutMs);
    this.socket.resume();
  }

  /** The consumer cannot take more for now. */
  pauseBody(): void {
    this.socket.pause();
    this.deadline.expect(PHASE.blocked, this.port.limits.bodyTimeoutMs);
  }

  resumeBody(exchange: LiveExchange): void {
    if (exchange.body.done || this.gone) return;
    this.deadline.expect(PHASE.body, this.port.limits.bodyTimeoutMs);
    this.socket.resume();
  }

  /** The answer to the present request is complete. */
  answered(exchange: LiveExchange): void {
    if (this.gone) return;
    if (!exchange.keepAlive) this.closeGracefully();
    else if (exchange.body.done) this.next();
    else this.consume(exchange, this.discard);
  }

  /** Is more of the request to come than we would read to keep the connection? Asked when the answer begins. */
  restIsTooMuch(exchange: LiveExchange): boolean {
    if (exchange.body.done) return false;
    // A client that waits for leave to send a body may or may not send it still.
    if (exchange.head.expectContinue && exchange.consumer === undefined) return true;
    return exchange.body.remaining > LINGER_BYTES;
  }

  /** The exchange has switched protocols: from here on the bytes of both sides pass as they are. */
  tunnelTo(
    exchange: LiveExchange,
    upstream: UpstreamConnection,
    bytes: Buffer,
    from: number,
    to: number,
  ): void {
    if (this.gone) return;
    const tunnel = new Tunnel(this, upstream, this.port.limits.bodyTimeoutMs);
    this.tunnel = tunnel;
    this.untilClose = true;
    this.port.tunnelOpened();
    exchange.tunnelled(tunnel);
    this.deadline.phase = PHASE.tunnel;
    this.touch();
    if (!tunnel.onBytes(bytes, from, to)) upstream.pause();
    // The bytes that the client sent without waiting for the 101.
    const early = this.unread.take();
    this.socket.resume();
    if (early !== undefined) tunnel.fromClient(early);
  }

  touch(): void {
    const { tunnel, port } = this;
    if (tunnel !== undefined) this.deadline.extend(tunnel.patience(port.limits));
  }

  cut(error: GatewayError): void {
    this.exchange?.noteError(error);
    this.destroy();
  }

  get idleSince(): number | undefined {
    return this.exchange === undefined || this.tunnel !== undefined ? this.deadline.since : undefined;
  }

  /** Runs at every tick of the coarse clock. */
  sweep(now: number): void {
    if (now >= this.deadline.at) {
      this.expire();
      return;
    }
    if (this.deadline.phase === PHASE.body) this.checkRate(now);
    const { maxConnectionAgeMs } = this.port.limits;
    if (maxConnectionAgeMs === 0 || this.draining || now - this.openedAt < maxConnectionAgeMs) return;
    this.port.ended('age');
    this.drain();
  }

  private checkRate(now: number): void {
    const { minBodyRate, minBodyRateWindowMs } = this.port.limits;
    const { exchange } = this;
    if (minBodyRate === 0 || exchange === undefined || exchange.consumer === undefined || exchange.body.done)
      return;
    if (!this.deadline.isTooSlow(now, exchange.requestBytes, minBodyRate, minBodyRateWindowMs)) return;
    this.port.ended('rate');
    this.giveUp(
      new GatewayError('request_timeout', { detail: 'the body came at less than limits.minBodyRate' }),
    );
  }

  /** Time is up for what the connection was doing. */
  expire(): void {
    switch (this.deadline.phase) {
      case PHASE.head:
        this.refuse('request_timeout', 'head');
        break;
      case PHASE.body:
        this.giveUp(new GatewayError('request_timeout', { detail: 'body' }));
        break;
      case PHASE.blocked:
        this.giveUp(new GatewayError('upstream_timeout', { detail: 'the body was not taken' }));
        break;
      case PHASE.stalled:
        this.exchange?.noteError(new GatewayError('request_timeout', { detail: 'the answer was not read' }));
        // By a reset: otherwise the system keeps what was written for whoever reads a byte now and then.
        this.untilClose = true;
        this.destroy();
        break;
      case PHASE.closing:
        this.expireClosing();
        break;
      case PHASE.tunnel:
        this.destroy('the tunnel was idle');
        break;
      default:
        if (this.served === 0) this.port.ended('silent');
        this.destroy();
    }
  }

  /** Asks for the end: at once when idle, after the present exchange otherwise. */
  drain(): void {
    this.draining = true;
    if (this.exchange === undefined && this.unread.empty) this.closeGracefully();
  }

  // ClientSocket

  protected override noteReason(reason: string): void {
    this.exchange?.noteReason(reason);
  }

  protected override get busy(): boolean {
    return this.exchange !== undefined;
  }

  protected override forget(): void {
    this.exchange = undefined;
    this.unread.clear();
    this.releaseHead();
  }

  protected override lost(): void {
    const { exchange } = this;
    this.exchange = undefined;
    this.unread.clear();
    exchange?.lost();
    if (this.tunnel !== undefined) this.port.tunnelClosed();
    // The log line of the exchange was written from it.
    this.releaseHead();
  }

  /** The client keeps its end open and is silent, or has hung up. */
  protected override onEnd(): void {
    if (this.gone) return;
    if (this.tunnel !== undefined) {
      this.tunnel.endOfClient();
      return;
    }
    // Answers that are there are still delivered; nobody waits for one that is yet to come.
    if (this.exchange?.isReady === true) this.draining = true;
    else if (this.exchange === undefined && this.socket.writableLength > 0) this.closeGracefully();
    else this.clientLeft();
  }

  protected override clientLeft(): void {
    this.exchange?.clientLeft();
    this.destroy();
  }

  /** The request cannot be read to its end. */
  private giveUp(error: GatewayError): void {
    const { exchange } = this;
    if (exchange !== undefined) {
      exchange.keepAlive = false;
      exchange.abort(error);
    }
    this.closeGracefully();
  }

  protected override onData(bytes: Buffer): void {
    const { exchange } = this;
    if (exchange === undefined) {
      if (this.unread.gather(bytes, this.port.limits.maxHeadBytes)) this.run();
    } else if (exchange.consumer !== undefined && !exchange.body.done)
      this.feed(exchange, exchange.consumer, bytes);
    else if (this.tunnel !== undefined) this.tunnel.fromClient(bytes);
    else {
      this.unread.append(bytes);
      if (this.unread.length >= AHEAD_BYTES) this.socket.pause();
    }
  }

  /** Serves what is unread, request after request, without growing the call stack for pipelined ones. */
  private run(): void {
    if (this.running) return;
    this.running = true;
    const { unread, deadline } = this;
    while (this.exchange === undefined && unread.bytes !== undefined && !this.held && !deadline.closing) {
      if (!this.readRequest(unread.bytes)) break;
    }
    this.running = false;
    // The remaining bytes are no complete head.
    if (!this.gone && this.exchange === undefined && !this.held && !deadline.closing) this.readOn();
  }

  /** @returns false when more bytes are needed */
  private readRequest(ahead: Buffer): boolean {
    const { port, unread } = this;
    let bytes = ahead;
    // Empty lines before a request are ignored (RFC 9112 §2.2).
    while (bytes[0] === CR) {
      if (bytes.length === 1) return false;
      if (bytes[1] !== LF) break;
      bytes = bytes.subarray(2);
      unread.bytes = bytes.length === 0 ? undefined : bytes;
      if (unread.bytes === undefined) return false;
    }
    const head = (this.head ??= port.heads.take());
    const result = parseRequest(bytes, 0, bytes.length, head, port.limits);
    if (result === INCOMPLETE) {
      if (this.deadline.phase !== PHASE.head) this.deadline.expect(PHASE.head, port.limits.headTimeoutMs);
      return false;
    }
    if (result !== COMPLETE) {
      if (this.tls === undefined && this.served === 0 && isPreface(bytes, head)) {
        this.handOver(bytes);
        return false;
      }
      this.refuse(refusal(result), head.problem);
      return true;
    }
    head.text = bytes.toString('latin1', 0, head.length);
    unread.bytes = bytes.length === head.length ? undefined : bytes.subarray(head.length);
    this.begin(head);
    return true;
  }

  /** A client that knows beforehand that HTTP/2 is spoken here (RFC 9113 §3.3), or tries to: then it gets GOAWAY. */
  private handOver(bytes: Buffer): void {
    this.forget();
    this.port.admitHttp2(this, this.release(bytes));
  }

  private begin(head: Head): void {
    const exchange = openExchange(this, head);
    if (!(exchange instanceof LiveExchange)) {
      this.refuse(exchange.code, exchange.detail);
      return;
    }
    this.exchange = exchange;
    this.deadline.lift();
    const last = this.port.lastRequest(++this.served);
    if (last !== undefined && !this.draining) {
      this.port.ended(last);
      this.draining = true;
    }
    serveExchange(exchange);
  }

  private feed(exchange: LiveExchange, consumer: BodyConsumer, bytes: Buffer): void {
    const { body } = exchange;
    const payloadOnly = !consumer.raw && body.kind === FRAMING.chunked;
    const to = payloadOnly
      ? body.take(bytes, 0, bytes.length, (chunk, start, end) => consumer.take(chunk, start, end, false))
      : body.take(bytes, 0, bytes.length);
    if (to < 0) {
      this.endBody(exchange, consumer, new GatewayError('bad_chunk'));
      return;
    }
    exchange.requestBytes += to;
    const { maxBodyBytes, bodyTimeoutMs } = this.port.limits;
    if (maxBodyBytes !== 0 && body.payload > maxBodyBytes && consumer !== this.discard) {
      this.endBody(exchange, consumer, new GatewayError('body_too_large'));
      return;
    }
    if (body.done) {
      this.deadline.lift();
      if (to < bytes.length) this.unread.bytes = bytes.subarray(to);
    } else this.deadline.extend(bodyTimeoutMs);
    if (payloadOnly) {
      if (body.done) consumer.take(EMPTY, 0, 0, true);
    } else consumer.take(bytes, 0, to - body.cut, body.done);
  }

  /** The body cannot be read to its end: whatever follows on this connection cannot be trusted either. */
  private endBody(exchange: LiveExchange, consumer: BodyConsumer, error: GatewayError): void {
    exchange.keepAlive = false;
    exchange.noteError(error);
    consumer.fail(error);
    if (exchange.started && !exchange.closed) this.destroy();
  }

  /** Reads the rest of a request that was answered early, within bounds. */
  private readonly discard: BodyConsumer = {
    raw: true,
    take: (_bytes, from, to, done) => {
      if (done) this.next();
      else if (this.lingers(to - from)) this.closeGracefully();
    },
    fail: () => this.closeGracefully(),
  };

  /** Ready for another request. */
  private next(): void {
    this.exchange = undefined;
    this.lingerEnds();
    this.releaseHead();
    if (this.draining) {
      this.closeGracefully();
      return;
    }
    if (this.full) {
      // A client that sends request after request and reads no answer would fill our memory.
      this.held = true;
      this.socket.pause();
      this.deadline.expect(PHASE.stalled, this.port.limits.bodyTimeoutMs);
      return;
    }
    this.deadline.expect(PHASE.idle, this.port.limits.idleTimeoutMs);
    // Another read for each answer would let pipelined bytes grow without end, copied by each read.
    if (this.unread.length < AHEAD_BYTES) this.readOn();
    this.run();
  }

  private readOn(): void {
    if (this.socket.isPaused()) this.socket.resume();
  }

  protected override onDrain(): void {
    if (!this.full && this.tunnel === undefined) return;
    const { exchange } = this;
    this.full = false;
    if (this.held) {
      this.held = false;
      this.next();
      return;
    }
    if (this.deadline.phase === PHASE.stalled) {
      this.deadline.phase = PHASE.body;
      this.deadline.lift();
      if (exchange !== undefined && exchange.consumer !== undefined && !exchange.body.done)
        this.deadline.expect(PHASE.body, this.port.limits.bodyTimeoutMs);
    }
    exchange?.drained?.();
  }

  /** An answer to something that is no request; nothing after it on this connection can be trusted. */
  private refuse(code: ErrorCode, detail: string): void {
    this.write(bareAnswer(code));
    this.port.refused(this, code, detail);
    this.closeGracefully();
  }

  private releaseHead(): void {
    if (this.head === undefined) return;
    this.port.heads.give(this.head);
    this.head = undefined;
  }
}
