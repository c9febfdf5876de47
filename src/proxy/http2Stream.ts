import type { ServerHttp2Stream } from 'node:http2';
import { catalogue, GatewayError } from '../errors.ts';
import {
  COMPLETE,
  INCOMPLETE,
  lastChunk,
  parseRequest,
  refusal,
  requestText,
  type ClientCertificate,
  type Head,
} from '../http/index.ts';
import type { UpstreamConnection } from '../upstream/index.ts';
import type { Arrival } from './arrival.ts';
import type { ClientSide } from './clientSide.ts';
import { LiveExchange, type BodyConsumer } from './exchange.ts';
import { isGrpc } from './grpc.ts';
import { Http2Answer } from './http2Answer.ts';
import type { Http2Session } from './http2Session.ts';
import type { Port } from './port.ts';
import { openExchange, serveExchange, type Refusal } from './receive.ts';
import type { RelayLines } from './relayLines.ts';
import type { ToldEnds } from './toldEnds.ts';
import { Tunnel } from './tunnel.ts';

/** Codes of RFC 9113 §7. */
const NO_ERROR = 0;
const INTERNAL_ERROR = 2;
const CANCEL = 8;

const EMPTY = Buffer.alloc(0);

/**
 * One request of a connection of HTTP/2 and its answer. The request is read as the message of HTTP/1.1 that it stands
 * for, and the answer is written as one: above this, both versions are the same.
 */
export class Http2Stream implements ClientSide {
  readonly http2 = true;
  readonly port: Port;
  readonly arrival: Arrival | undefined;
  readonly told: ToldEnds | undefined;
  readonly remoteAddress: string;
  readonly forwardedFor: string;
  untilClose = false;
  /** When `expire` is due, by `Date.now()`. */
  deadline = Number.POSITIVE_INFINITY;
  private readonly session: Http2Session;
  private readonly stream: ServerHttp2Stream;
  private readonly answer: Http2Answer;
  private exchange: LiveExchange | undefined;
  private head: Head | undefined;
  private chunked = false;
  /** Somebody has wanted the body. */
  private reading = false;
  private trailers: [name: string, value: string][] = [];
  private tunnel: Tunnel | undefined;
  private gone = false;
  /** A call of gRPC: both sides may be silent for long between two messages. */
  private call = false;
  /** Where the rate of the body is measured from; 0: from the next look on. */
  private rateSince = 0;
  private rateFrom = 0;

  constructor(session: Http2Session, stream: ServerHttp2Stream, headRequest: boolean) {
    this.session = session;
    this.port = session.port;
    this.arrival = session.arrival;
    this.told = session.told;
    this.remoteAddress = session.remoteAddress;
    this.forwardedFor = session.forwardedFor;
    this.stream = stream;
    this.answer = new Http2Answer(stream, headRequest);
    stream.on('error', () => this.lost());
    stream.on('aborted', () => this.lost());
    stream.on('close', () => this.lost());
    stream.on('drain', () => this.guard(() => this.onDrain()));
    stream.on('trailers', (_headers, _flags, raw) => this.onTrailers(raw ?? []));
  }

  /**
   * @param fields names and values by turns
   * @param bodyless the stream has ended with its head
   */
  serve(fields: readonly string[], bodyless: boolean): void {
    this.guard(() => this.begin(fields, bodyless));
  }

  get socket(): ClientSide['socket'] {
    const { stream } = this;
    const { socket } = this.session;
    return {
      cork: () => stream.cork(),
      uncork: () => stream.uncork(),
      writableLength: stream.writableLength,
      remotePort: this.session.remotePort,
      localAddress: socket.localAddress,
      localPort: socket.localPort,
    };
  }

  get clientCertificate(): ClientCertificate | undefined {
    return this.session.clientCertificate;
  }

  get lines(): RelayLines {
    return this.session.lines;
  }

  get draining(): boolean {
    return this.session.draining;
  }

  // The answer

  write(data: string | Buffer): boolean {
    return this.send(typeof data === 'string' ? Buffer.from(data, 'latin1') : data, false);
  }

  writeText(text: string): boolean {
    return this.send(Buffer.from(text), false);
  }

  writeLent(bytes: Buffer, release: () => void): boolean {
    const more = this.send(bytes, true);
    release();
    return more;
  }

  answered(x: LiveExchange): void {
    this.exchange = undefined;
    this.releaseHead();
    // The rest of a request that was answered early is not wanted (RFC 9113 §8.1).
    if (x.body.done || this.stream.destroyed) return;
    const { stream } = this;
    // Not at once: the reset would overtake the answer.
    const close = (): void => void setImmediate(() => stream.close(NO_ERROR));
    if (stream.writableFinished) close();
    else stream.once('finish', close);
  }

  /** What is not wanted is refused by itself, without ending the connection. */
  restIsTooMuch(): boolean {
    return false;
  }

  destroy(): void {
    if (this.gone) return;
    this.reset(this.exchange?.started === true ? INTERNAL_ERROR : CANCEL);
    this.lost();
  }

  broken(error: unknown): void {
    this.port.log.error('internal error', { stack: error instanceof Error ? error.stack : String(error) });
    this.destroy();
  }

  // The request body

  consume(x: LiveExchange, consumer: BodyConsumer): void {
    if (this.gone || x !== this.exchange) return;
    x.consumer = consumer;
    if (x.body.done) {
      consumer.take(EMPTY, 0, 0, true);
      return;
    }
    if (x.head.expectContinue && !x.started) this.stream.additionalHeaders({ ':status': 100 });
    this.call = isGrpc(x);
    this.rateSince = 0;
    this.expectBody();
    if (this.reading) {
      this.stream.resume();
      return;
    }
    this.reading = true;
    this.stream.on('data', (bytes: Buffer) => this.guard(() => this.onData(bytes)));
    this.stream.on('end', () => this.guard(() => this.onEnd()));
  }

  pauseBody(): void {
    this.stream.pause();
    this.wait();
  }

  resumeBody(x: LiveExchange): void {
    if (x.body.done || this.gone) return;
    this.rateSince = 0;
    this.expectBody();
    this.stream.resume();
  }

  /** Somebody waits for the next part of the body from here on. */
  private expectBody(): void {
    const { bodyTimeoutMs, tunnelIdleTimeoutMs } = this.port.limits;
    this.deadline = Date.now() + (this.call ? tunnelIdleTimeoutMs : bodyTimeoutMs);
  }

  /** One look of the coarse clock. */
  look(now: number): void {
    if (now >= this.deadline) this.expire();
    else if (this.reading && !this.call) this.checkRate(now);
  }

  /** As for connections of HTTP/1.1: a body may come slowly, but not a byte at a time for hours. */
  private checkRate(now: number): void {
    const { minBodyRate, minBodyRateWindowMs } = this.port.limits;
    const x = this.exchange;
    if (minBodyRate === 0 || x === undefined || x.body.done || this.stream.isPaused()) return;
    if (this.rateSince !== 0) {
      const ms = now - this.rateSince;
      if (ms < minBodyRateWindowMs) return;
      if ((x.requestBytes - this.rateFrom) * 1_000 < minBodyRate * ms) {
        x.abort(
          new GatewayError('request_timeout', { detail: 'the body came at less than limits.minBodyRate' }),
        );
        return;
      }
    }
    this.rateSince = now;
    this.rateFrom = x.requestBytes;
  }

  // A tunnel (RFC 8441)

  tunnelTo(x: LiveExchange, upstream: UpstreamConnection, bytes: Buffer, from: number, to: number): void {
    if (this.gone) return;
    const tunnel = new Tunnel(
      { socket: this.stream, touch: () => this.touch(), cut: (error) => this.cut(error) },
      upstream,
      this.port.limits.bodyTimeoutMs,
    );
    this.tunnel = tunnel;
    this.port.tunnelOpened();
    x.tunnelled(tunnel);
    this.touch();
    if (!tunnel.onBytes(bytes, from, to)) upstream.pause();
    this.stream.on('data', (data: Buffer) => this.guard(() => tunnel.fromClient(data)));
    this.stream.on('end', () => tunnel.endOfClient());
  }

  private touch(): void {
    const { tunnel, port } = this;
    if (tunnel !== undefined) this.deadline = Date.now() + tunnel.patience(port.limits);
  }

  private cut(error: GatewayError): void {
    this.exchange?.noteError(error);
    this.destroy();
  }

  /** Time is up for what the stream was doing. */
  expire(): void {
    const x = this.exchange;
    if (this.tunnel !== undefined) {
      x?.noteReason('the tunnel was idle');
      this.destroy();
    } else if (x === undefined || x.started) {
      x?.noteError(new GatewayError('request_timeout', { detail: 'the answer was not read' }));
      this.destroy();
    } else if (this.stream.isPaused())
      x.abort(new GatewayError('upstream_timeout', { detail: 'the body was not taken' }));
    else x.abort(new GatewayError('request_timeout', { detail: 'body' }));
  }

  private begin(fields: readonly string[], bodyless: boolean): void {
    const read = requestText(fields, bodyless);
    if ('problem' in read) {
      this.refuse({ code: 'bad_request', detail: read.problem });
      return;
    }
    this.session.useful(read.text.length);
    this.chunked = read.chunked;
    const { heads } = this.port;
    const head = (this.head = heads.take());
    const bytes = Buffer.from(read.text, 'latin1');
    const result = parseRequest(bytes, 0, bytes.length, head, this.session.headLimits);
    if (result !== COMPLETE || head.length !== bytes.length) {
      this.refuse({
        code: result === COMPLETE || result === INCOMPLETE ? 'bad_request' : refusal(result),
        detail: head.problem,
      });
      return;
    }
    head.text = read.text;
    const x = openExchange(this, head);
    if (!(x instanceof LiveExchange)) {
      this.refuse(x);
      return;
    }
    this.exchange = x;
    // A length that was said and a stream that has ended do not go together.
    if (bodyless && !x.body.done) {
      x.fail(new GatewayError('bad_framing'));
      return;
    }
    if (!bodyless && head.contentLength === 0) this.awaitEnd(x);
    else serveExchange(x);
  }

  /** A length of zero on a stream that goes on: what comes in spite of it makes the request malformed (RFC 9113 §8.1.1). */
  private awaitEnd(x: LiveExchange): void {
    this.wait();
    this.stream.once('end', () =>
      this.guard(() => {
        this.deadline = Number.POSITIVE_INFINITY;
        if (!x.closed) serveExchange(x);
      }),
    );
    this.stream.resume();
  }

  private onData(bytes: Buffer): void {
    this.session.useful(bytes.length);
    const x = this.exchange;
    const consumer = x?.consumer;
    // Answered already: what still comes in is let go until the stream is closed.
    if (x === undefined || consumer === undefined || x.body.done) return;
    if (this.chunked) {
      const framed = Buffer.concat([
        Buffer.from(`${bytes.length.toString(16)}\r\n`, 'latin1'),
        bytes,
        Buffer.from('\r\n', 'latin1'),
      ]);
      this.feed(x, consumer, framed);
    } else this.feed(x, consumer, bytes);
  }

  private onEnd(): void {
    const x = this.exchange;
    if (x?.consumer === undefined || x.body.done) return;
    if (this.chunked) this.feed(x, x.consumer, Buffer.from(lastChunk(this.trailers), 'latin1'));
    // Short of the length that was said.
    else this.endBody(x, x.consumer, new GatewayError('bad_framing'));
  }

  private feed(x: LiveExchange, consumer: BodyConsumer, bytes: Buffer): void {
    const { body } = x;
    const payloadOnly = !consumer.raw && this.chunked;
    const to = payloadOnly
      ? body.take(bytes, 0, bytes.length, (chunk, start, end) => consumer.take(chunk, start, end, false))
      : body.take(bytes, 0, bytes.length);
    if (to < bytes.length) {
      this.endBody(x, consumer, new GatewayError('bad_chunk'));
      return;
    }
    x.requestBytes += to;
    const { maxBodyBytes } = this.port.limits;
    if (maxBodyBytes !== 0 && body.payload > maxBodyBytes) {
      this.endBody(x, consumer, new GatewayError('body_too_large'));
      return;
    }
    if (body.done) this.deadline = Number.POSITIVE_INFINITY;
    else this.expectBody();
    if (!payloadOnly) consumer.take(bytes, 0, to, body.done);
    else if (body.done) consumer.take(EMPTY, 0, 0, true);
  }

  private endBody(x: LiveExchange, consumer: BodyConsumer, error: GatewayError): void {
    x.noteError(error);
    consumer.fail(error);
    if (x.started && !x.closed) this.destroy();
  }

  private onTrailers(raw: readonly string[]): void {
    for (let i = 0; i + 1 < raw.length; i += 2) {
      const [name = '', value = ''] = [raw[i], raw[i + 1]];
      // A pseudo-header in trailers is malformed (RFC 9113 §8.1); the reader refuses it, and line ends in values.
      this.trailers.push([name, value.replaceAll(/[\r\n]/g, '\0')]);
    }
  }

  private onDrain(): void {
    if (this.tunnel === undefined) this.deadline = Number.POSITIVE_INFINITY;
    const x = this.exchange;
    if (x?.consumer !== undefined && !x.body.done && this.tunnel === undefined) this.expectBody();
    x?.drained?.();
  }

  private send(bytes: Buffer, lent: boolean): boolean {
    if (this.stream.destroyed || this.stream.closed) return true;
    const more = this.answer.write(bytes, lent);
    if (!more) this.wait();
    return more;
  }

  /** Somebody waits for the client from here on. */
  private wait(): void {
    this.deadline = Date.now() + this.port.limits.bodyTimeoutMs;
  }

  private refuse({ code, detail }: Refusal): void {
    const { status, message } = catalogue[code];
    this.port.refused(this, code, detail);
    this.stream.respond([
      ':status',
      String(status),
      'content-type',
      'text/plain; charset=utf-8',
      'content-length',
      String(message.length + 1),
    ]);
    this.stream.end(`${message}\n`);
    this.stream.resume();
    this.releaseHead();
  }

  private reset(code: number): void {
    // `close` would end the body in order first, as if it were whole.
    if (!this.stream.destroyed) this.stream.destroy(code === NO_ERROR ? undefined : new Error('reset'));
  }

  /** The stream is over, for whatever reason. */
  private lost(): void {
    if (this.gone) return;
    this.gone = true;
    const { exchange } = this;
    this.exchange = undefined;
    exchange?.lost();
    if (this.tunnel !== undefined) this.port.tunnelClosed();
    this.releaseHead();
    this.session.ended(this, this.stream.rstCode);
  }

  /** Whatever is thrown in here ends this stream, not the process. */
  private guard(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.broken(error);
    }
  }

  private releaseHead(): void {
    if (this.head === undefined) return;
    this.port.heads.give(this.head);
    this.head = undefined;
  }
}
