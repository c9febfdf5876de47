import type { Socket } from 'node:net';
import { stackOf } from '../../errorText.ts';
import {
  HTTP2_CODE as CODE,
  ServerConnection,
  type ClientCertificate,
  type ConnectionOwner,
  type HeadLimits,
  type RequestText,
  type ServerStream,
} from '../../http/index.ts';
import { clientCertificateOf, type TlsDetails } from '../connections/tlsDetails.ts';
import { firstRequestMs, LINGER_BYTES, type ConnectionPort } from '../http1/clientSocket.ts';
import { Http2Stream } from './http2Stream.ts';
import { Http2FloodGuard } from './http2FloodGuard.ts';
import { Http2Keepalive, KEEPALIVE } from './http2Keepalive.ts';
import { RelayLines } from '../connections/relayLines.ts';
import { requestScheduler, type RequestQueue } from './requestScheduler.ts';
import { peerOf, type ReportedEnds } from '../connections/reportedEnds.ts';
import { defer } from '../load/defer.ts';

/** Bytes that the client has not taken, above which nothing more is read from it. */
const OWED_MOST = 262_144;

/** The time to wait for the answer to the PING behind a first GOAWAY. */
const GOODBYE_MS = 1_000;

/** The time to read on when our side has ended. */
const LINGER_MS = 500;

/** The payload of a PING that follows a GOAWAY. */
const GOODBYE = 2;

/** A connection of HTTP/2 (RFC 9113): its streams, and the limits that hold for all of them together. */
export class Http2Session implements ConnectionOwner, RequestQueue {
  readonly port: ConnectionPort;
  readonly socket: Socket;
  readonly tls: TlsDetails | undefined;
  readonly reported: ReportedEnds | undefined;
  readonly remoteAddress: string;
  readonly forwardedFor: string;
  /** The limits of a head. */
  readonly headLimits: HeadLimits;
  draining = false;
  private readonly codec: ServerConnection;
  private readonly streams = new Set<Http2Stream>();
  /** Memory in which answers wait for the client, in bytes. */
  private held = 0;
  /** Requests that have come in and wait for a turn to be begun. */
  private unbegun: {
    readonly side: Http2Stream;
    readonly request: RequestText;
    readonly bodyless: boolean;
  }[] = [];
  private readonly waste: Http2FloodGuard;
  /** Streams whose last frame is written; whoever writes their answer has this turn to say that it is complete. */
  private complete: Http2Stream[] = [];
  /** Streams that were answered before their request was whole. */
  private early: ServerStream[] = [];
  private certificate: { readonly found: ClientCertificate | undefined } | undefined;
  private readonly openedAt = Date.now();
  /** Requests begun. */
  private served = 0;
  private emptySince = Date.now();
  private waking = false;
  private gone = false;
  private relayLines: RelayLines | undefined;
  /** When the first GOAWAY was sent; no further stream is taken after the second one. */
  private announcedAt = 0;
  private refusing = false;
  /** Our side has ended; by `Date.now()`, when that is enough. */
  private endsAt: number | undefined;
  private lingered = 0;
  private readonly watch: Http2Keepalive;

  constructor(
    port: ConnectionPort,
    socket: Socket,
    tls: TlsDetails | undefined,
    reported: ReportedEnds | undefined,
  ) {
    this.port = port;
    this.socket = socket;
    this.tls = tls;
    this.reported = reported;
    this.remoteAddress = reported?.address ?? peerOf(socket);
    this.forwardedFor = `${this.remoteAddress}\r\n`;
    const { limits } = port;
    this.watch = new Http2Keepalive(() => port.limits);
    const { http2 } = limits;
    this.headLimits = { ...limits, maxHeadBytes: http2.maxHeadBytes ?? limits.maxHeadBytes };
    this.waste = new Http2FloodGuard(socket, this.headLimits.maxHeadBytes, (reason) => this.calm(reason));
    this.codec = new ServerConnection(
      {
        maxStreams: http2.maxStreams,
        streamWindow: http2.streamWindow,
        connectionWindow: http2.connectionWindow,
        maxFrameBytes: http2.frameSize,
        head: { maxBytes: this.headLimits.maxHeadBytes, maxFields: limits.maxHeaders + 5 },
      },
      this,
    );
    // A client that hangs up does not wait for its answers.
    socket.allowHalfOpen = false;
    socket.on('data', (bytes: Buffer) => this.onData(bytes));
    socket.on('drain', () => this.onDrain());
    socket.on('end', () => this.hungUp());
    socket.on('error', () => this.clientLeft());
    socket.on('close', () => this.clientLeft());
    socket.resume();
  }

  get lines(): RelayLines {
    return (this.relayLines ??= new RelayLines());
  }

  get idleSince(): number | undefined {
    return this.streams.size === 0 ? this.emptySince : undefined;
  }

  get clientCertificate(): ClientCertificate | undefined {
    if (this.tls === undefined) return undefined;
    return (this.certificate ??= { found: clientCertificateOf(this.tls) }).found;
  }

  // Calls of its streams

  /** A stream is over. */
  ended(stream: Http2Stream): void {
    this.streams.delete(stream);
    if (this.streams.size > 0) return;
    this.emptySince = Date.now();
    if (this.refusing) this.wake();
  }

  /** Both sides of a stream have ended, and its exchange has not yet. */
  completed(stream: Http2Stream): void {
    this.complete.push(stream);
    this.wake();
  }

  /**
   * The rest of a request is not wanted (RFC 9113 §8.1). That is said when the answer is out: clients that read both at
   * once take the reset for the end of all.
   */
  notWanted(stream: ServerStream): void {
    this.early.push(stream);
    this.wake();
  }

  // ConnectionOwner

  get unsent(): number {
    return this.socket.writableLength;
  }

  wake(): void {
    if (this.waking) return;
    this.waking = true;
    defer(this);
  }

  request(stream: ServerStream, request: RequestText, bodyless: boolean): void {
    const last = this.port.lastRequest(++this.served);
    if (last !== undefined && !this.draining) {
      this.port.ended(last);
      this.drain();
      // This limit is exact: what is on its way is for another connection.
      if (last === 'requests') this.refuse();
    }
    const side = this.open(stream, request.text.startsWith('HEAD '));
    if (this.unbegun.length === 0 && requestScheduler.mayStart) {
      side.serve(request, bodyless);
      return;
    }
    this.unbegun.push({ side, request, bodyless });
    if (this.unbegun.length === 1) requestScheduler.enqueue(this);
  }

  // Starter

  startNext(): boolean {
    const next = this.unbegun.shift();
    next?.side.serve(next.request, next.bodyless);
    return this.unbegun.length > 0;
  }

  refused(stream: ServerStream, problem: string): void {
    this.open(stream, false).refuse({ code: 'bad_request', detail: problem });
  }

  malformed(problem: string): void {
    this.port.refused(this, 'bad_request', problem, 0);
  }

  countControlFrame(): void {
    this.waste.countControlFrame();
  }

  useful(bytes: number): void {
    this.waste.usefulBytes += bytes;
  }

  holds(bytes: number): void {
    this.held += bytes;
    this.port.unread(bytes);
    if (bytes > 0 && this.held > this.port.limits.maxUnreadBytesPerConnection) this.wake();
  }

  pong(payload: number): void {
    if (payload === KEEPALIVE) this.watch.answered();
    else if (payload === GOODBYE && this.draining) this.refuse();
  }

  failed(code: number, reason: string): void {
    this.port.log.debug('HTTP/2 connection closed', {
      client: this.remoteAddress,
      reason: `${reason} (${code})`,
    });
    this.codec.flush(this.outlet);
    this.abandon();
    this.end();
  }

  /** The look from time to time: slow streams, an idle connection, frames that bring nothing. */
  sweep(now: number): void {
    if (this.endsAt !== undefined) {
      if (now >= this.endsAt) this.destroy();
      return;
    }
    for (const stream of this.streams) stream.look(now);
    const problem = this.watch.check(now, this.codec, this.socket.writableLength);
    if (problem !== undefined) {
      if (problem === 'keepalive') this.port.ended(problem);
      this.destroy();
      return;
    }
    const { limits } = this.port;
    const { maxConnectionAgeMs } = limits;
    const idleMs = this.served === 0 ? firstRequestMs(limits) : limits.idleTimeoutMs;
    if (this.streams.size === 0 && now - this.emptySince > idleMs) {
      if (this.served === 0 && !this.draining) this.port.ended('silent');
      this.drain();
    }
    if (maxConnectionAgeMs !== 0 && !this.draining && now - this.openedAt >= maxConnectionAgeMs) {
      this.port.ended('age');
      this.drain();
    }
    if (this.draining && !this.refusing && now - this.announcedAt >= GOODBYE_MS) this.refuse();
    this.waste.reset();
  }

  /**
   * Asks for the end. What the client has sent before it hears of that is served: it is told, and when it has answered a
   * PING behind that no further stream is taken (RFC 9113 §6.8). The connection ends with the last one under way.
   */
  drain(): void {
    if (this.draining || this.gone || this.endsAt !== undefined) return;
    this.draining = true;
    this.announcedAt = Date.now();
    this.codec.announceEnd();
    this.codec.ping(GOODBYE);
  }

  destroy(): void {
    if (this.gone) return;
    this.gone = true;
    this.abandon();
    this.socket.destroy();
    this.relayLines?.close();
    this.port.closed(this);
  }

  /** Writes what the streams have to say, and looks what has become of them. */
  runDeferred(): void {
    this.waking = false;
    if (this.endsAt !== undefined || this.gone) {
      this.codec.drop();
      return;
    }
    this.endUnread();
    this.codec.flush(this.outlet);
    if (this.socket.writableLength > OWED_MOST) this.socket.pause();
    const { complete } = this;
    if (complete.length > 0) {
      this.complete = [];
      for (const stream of complete) stream.lost();
    }
    const { early } = this;
    if (early.length > 0) {
      this.early = [];
      for (const stream of early) stream.closeWhenSent();
    }
    if (this.refusing && this.streams.size === 0) this.end();
  }

  *unreadStreams(): Iterable<Http2Stream> {
    for (const stream of this.streams) if (stream.idleSince !== undefined) yield stream;
  }

  /** The streams that have taken nothing for longest end, until the others are within the limit. */
  private endUnread(): void {
    const { maxUnreadBytesPerConnection } = this.port.limits;
    if (this.held <= maxUnreadBytesPerConnection) return;
    const streams = [...this.unreadStreams()].sort((a, b) => (a.idleSince ?? 0) - (b.idleSince ?? 0));
    let ended = 0;
    for (const stream of streams) {
      if (this.held <= maxUnreadBytesPerConnection) break;
      stream.evict();
      ended++;
    }
    this.port.log.debug('HTTP/2 streams reset: limits.maxUnreadBytesPerConnection exceeded', {
      client: this.remoteAddress,
      ended,
    });
  }

  private readonly outlet = {
    behind: (): boolean => this.socket.writableLength > 0,
    cork: (): void => this.socket.cork(),
    uncork: (): void => this.socket.uncork(),
    write: (bytes: Buffer, done: () => void): void => {
      this.watch.bytesWritten += bytes.length;
      this.socket.write(bytes, done);
    },
  };

  private open(stream: ServerStream, headRequest: boolean): Http2Stream {
    const side = new Http2Stream(this, stream, headRequest);
    this.streams.add(side);
    return side;
  }

  private onData(bytes: Buffer): void {
    if (this.gone) return;
    if (this.endsAt !== undefined) {
      this.lingered += bytes.length;
      if (this.lingered > LINGER_BYTES) this.destroy();
      return;
    }
    try {
      this.codec.take(bytes);
      this.waste.read(bytes.length);
    } catch (error) {
      this.broken(error);
    }
  }

  /** A defect of ours ends this connection, not the process. */
  broken(error: unknown): void {
    this.port.log.error('internal error', { stack: stackOf(error) });
    this.destroy();
  }

  private onDrain(): void {
    if (this.gone || this.endsAt !== undefined) return;
    if (this.socket.isPaused()) this.socket.resume();
    this.wake();
  }

  private hungUp(): void {
    if (this.endsAt === undefined) this.clientLeft();
    else this.socket.destroySoon();
  }

  private clientLeft(): void {
    for (const stream of this.streams) stream.onLeft();
    this.destroy();
  }

  private calm(reason: string): void {
    if (this.gone || this.endsAt !== undefined) return;
    this.port.ended('flood');
    this.port.log.warn('HTTP/2 connection closed', { client: this.remoteAddress, reason });
    this.codec.fail(CODE.enhanceYourCalm, reason);
  }

  /** No further streams. */
  private refuse(): void {
    if (this.refusing) return;
    this.refusing = true;
    this.codec.refuseNew();
    this.wake();
  }

  /** Abandons the connection and all its streams. */
  private abandon(): void {
    this.codec.drop();
    this.unbegun = [];
    for (const stream of this.streams) stream.destroy();
    for (const stream of this.complete) stream.lost();
  }

  /** Ends our side and reads on for a moment: a reset would take what was written from the client. */
  private end(): void {
    if (this.endsAt !== undefined || this.gone) return;
    this.endsAt = Date.now() + this.port.limits.bodyTimeoutMs;
    this.socket.end(() => (this.endsAt = Date.now() + LINGER_MS));
    this.socket.resume();
  }
}
