import type { Socket } from 'node:net';
import { catalogue, GatewayError, type ErrorCode } from '../errors.ts';
import {
  COMPLETE,
  FRAMING,
  httpDate,
  INCOMPLETE,
  parseRequest,
  refusal,
  statusLine,
  type ClientCertificate,
  type Head,
} from '../http/index.ts';
import type { UpstreamConnection } from '../upstream/index.ts';
import { clientCertificateOf, type Arrival } from './arrival.ts';
import type { ClientSide } from './clientSide.ts';
import { LiveExchange, type BodyConsumer } from './exchange.ts';
import type { Port } from './port.ts';
import { openExchange, serveExchange } from './receive.ts';
import { peerOf, type ToldEnds } from './toldEnds.ts';
import { Tunnel, type TunnelClient } from './tunnel.ts';

/** What the deadline of a connection is for. */
const IDLE = 0;
const HEAD = 1;
const BODY = 2;
const STALLED = 3;
const CLOSING = 4;
const BLOCKED = 5;
const TUNNEL = 6;

/** A refused or answered-early request: how much of it is read so that the client sees the answer, and how long. */
const LINGER_BYTES = 262_144;
const LINGER_MS = 2_000;

/** Bytes read ahead of the present request: reading on is how we learn that the client has left. */
const AHEAD_BYTES = 65_536;

/** How a connection of HTTP/2 begins (RFC 9113 §3.4), as far as it could be a request. */
const PREFACE = 'PRI * HTTP/2.0\r\n';

const EMPTY = Buffer.alloc(0);
const CR = 13;
const LF = 10;

/**
 * The client's side of one connection: reads heads, hands each request to `handle`, and moves body bytes to whoever
 * consumes them. One request at a time; pipelined ones wait in `stash`, and until the client has read enough.
 */
export class ClientConnection implements ClientSide, TunnelClient {
  readonly http2 = false;
  readonly port: Port;
  readonly socket: Socket;
  /** Absent where the connection is plain TCP. */
  readonly arrival: Arrival | undefined;
  readonly told: ToldEnds | undefined;
  readonly remoteAddress: string;
  /** The end of an X-Forwarded-For line for this client. */
  readonly forwardedFor: string;
  /** When `expire` is due, by `Date.now()`. */
  deadline: number;
  /** No further request after the present one. */
  draining = false;
  /** The end of the connection is the end of the present answer: cutting it short takes a reset. */
  untilClose = false;
  private phase = IDLE;
  private exchange: LiveExchange | undefined;
  private head: Head | undefined;
  /** Bytes read and not yet consumed. */
  private stash: Buffer | undefined;
  /** Pieces of a head that grew without finishing a line: parsing them again would find nothing new. */
  private pieces: Buffer[] | undefined;
  private piecesLength = 0;
  private running = false;
  private gone = false;
  private lingered = 0;
  /** The client has not yet taken what was written. */
  private full = false;
  /** The next request waits until it has. */
  private held = false;
  /** Bytes the client had not taken when that was last looked at. */
  private owed = 0;
  /** Requests begun. */
  private served = 0;
  private readonly openedAt = Date.now();
  /** Where the rate of the present body is measured from; 0: from the next look on. */
  private rateSince = 0;
  private rateFrom = 0;
  /** What the connection has become after a 101. */
  private tunnel: Tunnel | undefined;
  private readonly reader: (bytes: Buffer) => void;
  private certificate: { readonly found: ClientCertificate | undefined } | undefined;

  constructor(port: Port, socket: Socket, arrival: Arrival | undefined, told: ToldEnds | undefined) {
    this.port = port;
    this.socket = socket;
    this.arrival = arrival;
    this.told = told;
    this.remoteAddress = told?.address ?? peerOf(socket);
    this.forwardedFor = `${this.remoteAddress}\r\n`;
    this.deadline = Date.now() + port.limits.idleTimeoutMs;
    this.reader = (bytes: Buffer) => {
      // Whatever is thrown in here ends this connection, not the process.
      try {
        this.onData(bytes);
      } catch (error) {
        this.broken(error);
      }
    };
    socket.on('data', this.reader);
    socket.on('drain', () => {
      try {
        this.onDrain();
      } catch (error) {
        this.broken(error);
      }
    });
    // A client that hangs up does not wait for its answer (Envoy and nginx see it the same way).
    socket.on('end', () => this.onEnd());
    socket.on('error', () => this.destroy());
    socket.on('close', () => this.destroy());
  }

  /** True while no request is being read or answered. */
  get idle(): boolean {
    return this.exchange === undefined && this.stash === undefined && this.pieces === undefined;
  }

  /** What the client showed in the handshake, verified; read when it is asked for. */
  get clientCertificate(): ClientCertificate | undefined {
    if (this.arrival === undefined) return undefined;
    return (this.certificate ??= { found: clientCertificateOf(this.arrival) }).found;
  }

  /** @returns false when the client reads slower than we write */
  write(data: string | Buffer): boolean {
    const { socket } = this;
    return (typeof data === 'string' ? socket.write(data, 'latin1') : socket.write(data)) || this.isTaken();
  }

  /** The same for text outside latin1. */
  writeText(text: string): boolean {
    return this.socket.write(text, 'utf8') || this.isTaken();
  }

  /** The same for bytes that belong to somebody else, who gets them back when they are written. */
  writeLent(bytes: Buffer, release: () => void): boolean {
    return this.socket.write(bytes, release) || this.isTaken();
  }

  /** Gives the request body to `consumer`, from its first byte. */
  consume(x: LiveExchange, consumer: BodyConsumer): void {
    if (this.gone || x !== this.exchange) return;
    x.consumer = consumer;
    if (x.body.done) {
      consumer.take(EMPTY, 0, 0, true);
      return;
    }
    const pending = this.stash;
    this.stash = undefined;
    if (pending !== undefined) {
      this.phase = BODY;
      this.feed(x, consumer, pending);
      // The consumer may have refused the body, which ends the connection, or be full.
      if (this.phase !== BODY || x.consumer !== consumer) return;
    } else if (x.head.expectContinue && !x.started) this.write('HTTP/1.1 100 Continue\r\n\r\n');
    if (x.body.done) return;
    this.expect(BODY, this.port.limits.bodyTimeoutMs);
    this.socket.resume();
  }

  /** The consumer cannot take more for now. */
  pauseBody(): void {
    this.socket.pause();
    this.expect(BLOCKED, this.port.limits.bodyTimeoutMs);
  }

  resumeBody(x: LiveExchange): void {
    if (x.body.done || this.gone) return;
    this.expect(BODY, this.port.limits.bodyTimeoutMs);
    this.socket.resume();
  }

  /** The answer to the present request is complete. */
  answered(x: LiveExchange): void {
    if (this.gone) return;
    if (!x.keepAlive) this.closeGracefully();
    else if (x.body.done) this.next();
    else this.consume(x, this.discard);
  }

  /** Is more of the request to come than we would read to keep the connection? Asked when the answer begins. */
  restIsTooMuch(x: LiveExchange): boolean {
    if (x.body.done) return false;
    // Somebody who waits for leave to send a body will not send it any more, or will: nobody can tell.
    if (x.head.expectContinue && x.consumer === undefined) return true;
    return x.body.remaining > LINGER_BYTES;
  }

  /** The exchange has switched protocols: from here on the bytes of both sides pass as they are. */
  tunnelTo(x: LiveExchange, upstream: UpstreamConnection, bytes: Buffer, from: number, to: number): void {
    if (this.gone) return;
    const tunnel = new Tunnel(this, upstream, this.port.limits.bodyTimeoutMs);
    this.tunnel = tunnel;
    this.untilClose = true;
    this.port.tunnelOpened();
    x.tunnelled(tunnel);
    this.phase = TUNNEL;
    this.touch();
    if (!tunnel.onBytes(bytes, from, to)) upstream.pause();
    // What the client sent without waiting for the 101.
    const early = this.stash;
    this.stash = undefined;
    this.socket.resume();
    if (early !== undefined) tunnel.fromClient(early);
  }

  touch(): void {
    this.deadline = Date.now() + this.port.limits.tunnelIdleTimeoutMs;
  }

  cut(error: GatewayError): void {
    this.exchange?.noteError(error);
    this.destroy();
  }

  /** One look of the coarse clock. */
  sweep(now: number): void {
    if (now >= this.deadline) {
      this.expire();
      return;
    }
    if (this.phase === BODY) this.checkRate(now);
    const { maxConnectionAgeMs } = this.port.limits;
    if (maxConnectionAgeMs === 0 || this.draining || now - this.openedAt < maxConnectionAgeMs) return;
    this.port.ended('age');
    this.drain();
  }

  /** A body may come slowly, but not a byte at a time for hours. Pauses that we ask for do not count. */
  private checkRate(now: number): void {
    const { minBodyRate, minBodyRateWindowMs } = this.port.limits;
    const x = this.exchange;
    if (minBodyRate === 0 || x === undefined || x.consumer === undefined || x.body.done) return;
    if (this.rateSince !== 0) {
      const ms = now - this.rateSince;
      if (ms < minBodyRateWindowMs) return;
      if ((x.requestBytes - this.rateFrom) * 1_000 < minBodyRate * ms) {
        this.port.ended('rate');
        this.giveUp(
          new GatewayError('request_timeout', { detail: 'the body came at less than limits.minBodyRate' }),
        );
        return;
      }
    }
    this.rateSince = now;
    this.rateFrom = x.requestBytes;
  }

  /** Time is up for what the connection was doing. */
  expire(): void {
    switch (this.phase) {
      case HEAD:
        this.refuse('request_timeout', 'head');
        break;
      case BODY:
        this.giveUp(new GatewayError('request_timeout', { detail: 'body' }));
        break;
      case BLOCKED:
        this.giveUp(new GatewayError('upstream_timeout', { detail: 'the body was not taken' }));
        break;
      case STALLED:
        this.exchange?.noteError(new GatewayError('request_timeout', { detail: 'the answer was not read' }));
        // By a reset: otherwise the system keeps what was written for whoever reads a byte now and then.
        this.untilClose = true;
        this.destroy();
        break;
      case CLOSING:
        // Slow is not dead: as long as the client takes something, it gets the rest.
        if (this.socket.writableLength > 0 && this.socket.writableLength < this.owed) this.flushing();
        else this.destroy();
        break;
      case TUNNEL:
        this.exchange?.noteReason('the tunnel was idle');
        this.destroy();
        break;
      default:
        this.destroy();
    }
  }

  /** Asks for the end: at once when idle, after the present exchange otherwise. */
  drain(): void {
    this.draining = true;
    if (this.idle) this.closeGracefully();
  }

  destroy(): void {
    if (this.gone) return;
    this.gone = true;
    const { exchange } = this;
    this.exchange = undefined;
    this.stash = undefined;
    this.pieces = undefined;
    if (this.untilClose && (exchange !== undefined || this.socket.writableLength > 0)) this.reset();
    else this.socket.destroy();
    exchange?.lost();
    if (this.tunnel !== undefined) this.port.tunnelClosed();
    this.releaseHead();
    this.port.closed(this);
  }

  /** The client sees that what it got is not all. */
  private reset(): void {
    const { arrival, socket } = this;
    // The platform resets TCP only; under TLS the connection below is reset.
    if (arrival === undefined) socket.resetAndDestroy();
    else {
      arrival.raw.resetAndDestroy();
      socket.destroy();
    }
  }

  /** A defect of ours: it ends this connection and nothing else. */
  broken(error: unknown): void {
    this.port.log.error('internal error', { stack: error instanceof Error ? error.stack : String(error) });
    this.destroy();
  }

  /** The client keeps its end open and is silent, or has hung up. */
  private onEnd(): void {
    if (this.gone) return;
    if (this.tunnel !== undefined) {
      this.tunnel.endOfClient();
      return;
    }
    // What is answered already is still delivered; an answer under way is for nobody.
    if (this.exchange === undefined && this.socket.writableLength > 0) this.closeGracefully();
    else this.destroy();
  }

  /** The stream says false of every large write, also where the system has taken all of it at once. */
  private isTaken(): boolean {
    if (this.socket.writableLength === 0) return true;
    this.full = true;
    this.expect(STALLED, this.port.limits.bodyTimeoutMs);
    return false;
  }

  /** The request cannot be read to its end. */
  private giveUp(error: GatewayError): void {
    const x = this.exchange;
    if (x !== undefined) {
      x.keepAlive = false;
      x.abort(error);
    }
    this.closeGracefully();
  }

  private expect(phase: number, ms: number): void {
    // Nothing leads back from there: what still comes in belongs to no request.
    if (this.phase === CLOSING) return;
    this.phase = phase;
    this.rateSince = 0;
    this.deadline = Date.now() + ms;
  }

  private onData(bytes: Buffer): void {
    if (this.phase === CLOSING) {
      this.lingered += bytes.length;
      if (this.lingered > LINGER_BYTES) this.destroy();
      return;
    }
    const x = this.exchange;
    if (x === undefined) {
      if (this.gather(bytes)) this.run();
    } else if (x.consumer !== undefined && !x.body.done) this.feed(x, x.consumer, bytes);
    else if (this.tunnel !== undefined) this.tunnel.fromClient(bytes);
    else {
      this.stash = this.stash === undefined ? bytes : Buffer.concat([this.stash, bytes]);
      if (this.stash.length >= AHEAD_BYTES) this.socket.pause();
    }
  }

  /** Adds bytes to an unfinished head. @returns false while there is no point in parsing again */
  private gather(bytes: Buffer): boolean {
    if (this.stash === undefined) {
      this.stash = bytes;
      return true;
    }
    (this.pieces ??= []).push(bytes);
    this.piecesLength += bytes.length;
    if (!bytes.includes(LF) && this.stash.length + this.piecesLength <= this.port.limits.maxHeadBytes)
      return false;
    this.stash = Buffer.concat([this.stash, ...this.pieces]);
    this.pieces = undefined;
    this.piecesLength = 0;
    return true;
  }

  /** Serves what is in the stash, request after request, without growing the call stack for pipelined ones. */
  private run(): void {
    if (this.running) return;
    this.running = true;
    while (this.exchange === undefined && this.stash !== undefined && !this.held && this.phase !== CLOSING) {
      if (!this.readRequest(this.stash)) break;
    }
    this.running = false;
    // What is left is no whole head.
    if (!this.gone && this.exchange === undefined && !this.held && this.phase !== CLOSING) this.readOn();
  }

  /** @returns false when more bytes are needed */
  private readRequest(stash: Buffer): boolean {
    const { port } = this;
    let bytes = stash;
    // Empty lines before a request are ignored (RFC 9112 §2.2).
    while (bytes[0] === CR) {
      if (bytes.length === 1) return false;
      if (bytes[1] !== LF) break;
      bytes = bytes.subarray(2);
      this.stash = bytes.length === 0 ? undefined : bytes;
      if (this.stash === undefined) return false;
    }
    const head = (this.head ??= port.heads.take());
    const result = parseRequest(bytes, 0, bytes.length, head, port.limits);
    if (result === INCOMPLETE) {
      if (this.phase !== HEAD) this.expect(HEAD, port.limits.headTimeoutMs);
      return false;
    }
    if (result !== COMPLETE) {
      if (this.arrival === undefined && this.served === 0 && bytes.toString('latin1', 0, 16) === PREFACE) {
        this.handOver(bytes);
        return false;
      }
      this.refuse(refusal(result), head.problem);
      return true;
    }
    head.text = bytes.toString('latin1', 0, head.length);
    this.stash = bytes.length === head.length ? undefined : bytes.subarray(head.length);
    this.begin(head);
    return true;
  }

  /** A client that knows beforehand that HTTP/2 is spoken here (RFC 9113 §3.3). */
  private handOver(bytes: Buffer): void {
    const { socket } = this;
    this.gone = true;
    this.stash = undefined;
    this.releaseHead();
    socket.off('data', this.reader);
    socket.pause();
    socket.unshift(bytes);
    this.port.admitHttp2(this, socket);
  }

  private begin(head: Head): void {
    const x = openExchange(this, head);
    if (!(x instanceof LiveExchange)) {
      this.refuse(x.code, x.detail);
      return;
    }
    this.exchange = x;
    this.deadline = Number.POSITIVE_INFINITY;
    this.rateSince = 0;
    const last = this.port.lastRequest(++this.served);
    if (last !== undefined && !this.draining) {
      this.port.ended(last);
      this.draining = true;
    }
    serveExchange(x);
  }

  private feed(x: LiveExchange, consumer: BodyConsumer, bytes: Buffer): void {
    const { body } = x;
    const payloadOnly = !consumer.raw && body.kind === FRAMING.chunked;
    const to = payloadOnly
      ? body.take(bytes, 0, bytes.length, (chunk, start, end) => consumer.take(chunk, start, end, false))
      : body.take(bytes, 0, bytes.length);
    if (to < 0) {
      this.endBody(x, consumer, new GatewayError('bad_chunk'));
      return;
    }
    x.requestBytes += to;
    const { maxBodyBytes, bodyTimeoutMs } = this.port.limits;
    if (maxBodyBytes !== 0 && body.payload > maxBodyBytes && consumer !== this.discard) {
      this.endBody(x, consumer, new GatewayError('body_too_large'));
      return;
    }
    if (body.done) {
      this.deadline = Number.POSITIVE_INFINITY;
      if (to < bytes.length) this.stash = bytes.subarray(to);
    } else this.deadline = Date.now() + bodyTimeoutMs;
    if (payloadOnly) {
      if (body.done) consumer.take(EMPTY, 0, 0, true);
    } else consumer.take(bytes, 0, to, body.done);
  }

  /** The body cannot be read to its end: whatever follows on this connection cannot be trusted either. */
  private endBody(x: LiveExchange, consumer: BodyConsumer, error: GatewayError): void {
    x.keepAlive = false;
    x.noteError(error);
    consumer.fail(error);
    if (x.started && !x.closed) this.destroy();
  }

  /** Reads the rest of a request that was answered early, within bounds. */
  private readonly discard: BodyConsumer = {
    raw: true,
    take: (_bytes, from, to, done) => {
      this.lingered += to - from;
      if (done) this.next();
      else if (this.lingered > LINGER_BYTES) this.closeGracefully();
    },
    fail: () => this.closeGracefully(),
  };

  /** Ready for another request. */
  private next(): void {
    this.exchange = undefined;
    this.lingered = 0;
    this.releaseHead();
    if (this.draining) {
      this.closeGracefully();
      return;
    }
    if (this.full) {
      // Who sends request after request and reads no answer would fill our memory.
      this.held = true;
      this.socket.pause();
      this.expect(STALLED, this.port.limits.bodyTimeoutMs);
      return;
    }
    this.expect(IDLE, this.port.limits.idleTimeoutMs);
    // One more read for each answer would let the stash of a client that pipelines grow without end, and each read
    // copies all of it.
    if (this.stash === undefined || this.stash.length < AHEAD_BYTES) this.readOn();
    this.run();
  }

  private readOn(): void {
    if (this.socket.isPaused()) this.socket.resume();
  }

  private onDrain(): void {
    if (!this.full && this.tunnel === undefined) return;
    const x = this.exchange;
    this.full = false;
    if (this.held) {
      this.held = false;
      this.next();
      return;
    }
    if (this.phase === STALLED) {
      this.phase = BODY;
      this.deadline = Number.POSITIVE_INFINITY;
      if (x !== undefined && x.consumer !== undefined && !x.body.done)
        this.expect(BODY, this.port.limits.bodyTimeoutMs);
    }
    x?.drained?.();
  }

  /** An answer to something that is no request; nothing after it on this connection can be trusted. */
  private refuse(code: ErrorCode, detail: string): void {
    const { status, message } = catalogue[code];
    const body = `${message}\n`;
    this.write(
      `${statusLine(status)}content-type: text/plain; charset=utf-8\r\ncontent-length: ${body.length}\r\n` +
        `date: ${httpDate(Date.now())}\r\nconnection: close\r\n\r\n${body}`,
    );
    this.port.refused(this, code, detail);
    this.closeGracefully();
  }

  /** Ends our side and reads on for a moment: a reset would take the answer from the client (RFC 9112 §9.6). */
  private closeGracefully(): void {
    if (this.gone || this.phase === CLOSING) return;
    this.exchange = undefined;
    this.stash = undefined;
    this.pieces = undefined;
    this.releaseHead();
    this.flushing();
    this.socket.end(() => (this.deadline = Date.now() + LINGER_MS));
    this.socket.resume();
  }

  /** What was written must still reach the client. */
  private flushing(): void {
    this.phase = CLOSING;
    this.owed = this.socket.writableLength;
    this.deadline = Date.now() + this.port.limits.bodyTimeoutMs;
  }

  private releaseHead(): void {
    if (this.head === undefined) return;
    this.port.heads.give(this.head);
    this.head = undefined;
  }
}
