import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import type { ErrorCode } from '../errors.ts';
import { stackOf } from '../errorText.ts';
import type { Head, HeadLimits } from '../http/index.ts';
import { ResponseReader, idleHint, type ResponseReaderHost } from './upstreamResponse.ts';
import { ReadBuffers, shared } from './buffers.ts';
import { ConnectionPool } from './connectionPool.ts';
import { ChannelError, Http2Channel } from './http2Channel.ts';
import { surviveLostWrites } from './lostWrites.ts';
import { openPlain, openTls, tlsProblem, type Reading } from './open.ts';
import { FairReader } from './fairReads.ts';
import type { TlsMaterial } from './tls.ts';
import type { TunnelHandler, ExchangeHandler } from './handlers.ts';
import { openWatchedTls, type WatchedTls } from './watchedTls.ts';

/** Failures that say nothing against the health of the backend. */
const blameless: ReadonlySet<ErrorCode> = new Set(['internal_error', 'upstream_no_upgrade']);

const closed = 'closed by the backend';
const cutOff = 'closed without an end of TLS: the answer may not be whole';

/** After a lost write the head of the answer must be here in this time: the system has received it already. */
const LOST_WRITE_MS = 1_000;

/** A socket, or what stands for one. */
type UpstreamSocket = Socket | Http2Channel;

/** An address that requests go to, and its connections. */
export class Endpoint extends ConnectionPool<UpstreamConnection> {
  protected override open(alone: boolean): UpstreamConnection {
    return new UpstreamConnection(this, this.limits, alone);
  }
}

/** A connection to an endpoint: idle in its pool, or serving one request at a time. */
export class UpstreamConnection implements ResponseReaderHost {
  readonly endpoint: Endpoint;
  readonly socket: UpstreamSocket;
  /** True once it has answered a request before. */
  reused = false;
  /** When it became idle, by the endpoint's clock. */
  idleSince = 0;
  /** The reading of the TLS files with which it was opened. */
  readonly generation: number;
  /** The time it may stay idle: the pool's limit or the backend's own hint. */
  idleLimitMs: number;
  private user: ExchangeHandler | undefined;
  private passenger: TunnelHandler | undefined;
  private watch: WatchedTls | undefined;
  private readonly answer: ResponseReader;
  private readonly buffers = new ReadBuffers();
  /** Ready to carry a request (for TLS, once the backend has shown who it is): until then not a byte of it is sent. */
  connected = false;
  private reached = false;
  private dead = false;
  private served = 0;
  /** Not a byte of the answer has come. */
  private silent = true;
  private requestSent = false;
  /** When it was, by the clock of the endpoint; 0 while it is not. */
  private sentAt = 0;
  /** Limits the time to connect, and that of an answer after a lost write. */
  private timer: NodeJS.Timeout | undefined;
  /** The error code of a write that failed because the backend had closed the connection. */
  private lostWrite: string | undefined;
  /** The backend has not yet taken what was written. */
  private full = false;
  private readonly reads: FairReader;
  /** Its answers count for the eviction of the address. Health checks have a verdict of their own. */
  private readonly counts: boolean;

  /** @param alone it carries a health check, and shares no connection of HTTP/2 with others */
  constructor(endpoint: Endpoint, limits: HeadLimits, alone: boolean) {
    const { settings } = endpoint;
    this.endpoint = endpoint;
    this.counts = endpoint.watched && !alone;
    this.idleLimitMs = settings.poolIdleTimeoutMs;
    this.answer = new ResponseReader(this, this.buffers, endpoint.heads, limits);
    this.generation = endpoint.tls?.generation ?? 0;
    this.socket = this.open(alone);
    this.reads = new FairReader(this.socket);
    this.timer = setTimeout(() => this.end('connect timeout'), settings.connectTimeoutMs);
    this.socket.on('connect', () => this.onReached());
    this.socket.on('drain', () => {
      if (!this.full) return;
      this.full = false;
      this.guard(() => (this.user ?? this.passenger)?.onWritable());
    });
    this.socket.on('end', () => {
      if (this.passenger === undefined) this.end(this.ending);
      else this.guard(() => this.passenger?.onEnd());
    });
    this.socket.on('error', (error: NodeJS.ErrnoException) => this.onError(error));
    this.socket.on('close', () => this.end('closed'));
  }

  private open(alone: boolean): UpstreamSocket {
    const { endpoint } = this;
    const { http2 } = endpoint;
    if (http2 !== undefined) {
      const channel = new Http2Channel(http2, alone);
      channel.on('data', (bytes: Buffer) => this.onData(bytes, bytes.length));
      if (endpoint.tls !== undefined) channel.on('secureConnect', () => this.onConnected());
      return channel;
    }
    const reading: Reading = {
      buffer: () => this.buffers.forNextRead(),
      callback: (length, bytes) => {
        this.buffers.attached = true;
        return this.onData(bytes as Buffer, length);
      },
    };
    if (endpoint.tls === undefined) return this.lasting(openPlain(endpoint, reading));
    if (endpoint.answerEnds?.watch === true) return this.openWatched(endpoint.tls);
    const { generation } = this;
    const socket = openTls(endpoint, reading, endpoint.tls.options(), endpoint.session(generation));
    return this.negotiating(this.lasting(socket));
  }

  private lasting<Opened extends Socket>(socket: Opened): Opened {
    surviveLostWrites(socket, (code) => this.onLostWrite(code));
    return socket;
  }

  private openWatched(tls: TlsMaterial): UpstreamSocket {
    const { endpoint, generation } = this;
    const watch = openWatchedTls(endpoint, tls.options(), endpoint.session(generation));
    this.watch = watch;
    this.lasting(watch.below);
    watch.socket.on('data', (bytes: Buffer) => this.onData(bytes, bytes.length));
    return this.negotiating(watch.socket);
  }

  private negotiating(socket: TLSSocket): TLSSocket {
    socket.on('secureConnect', () => this.onConnected());
    socket.on('session', (session) => this.endpoint.keepSession(session, this.generation));
    return socket;
  }

  private onReached(): void {
    const { tls, settings } = this.endpoint;
    const { enabled, timeMs, intervalMs, retries } = settings.keepAlive;
    this.reached = true;
    if (enabled) (this.watch?.below ?? this.socket).setKeepAlive(true, timeMs, intervalMs, retries);
    if (tls === undefined) this.onConnected();
  }

  private onConnected(): void {
    this.connected = true;
    clearTimeout(this.timer);
    this.endpoint.health.connected();
    this.guard(() => this.user?.onConnected?.());
  }

  /** An error that is thrown in an event of the socket ends this exchange, not the process. */
  private guard(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      this.fail('internal_error', stackOf(error));
    }
  }

  /** It will tell whether TLS was ended in order. */
  get watched(): boolean {
    return this.watch !== undefined;
  }

  /** True when it can take a request now. */
  get usable(): boolean {
    const { socket } = this;
    if (this.dead || this.user !== undefined || socket.readableEnded || socket.destroyed) return false;
    return !(socket instanceof Http2Channel) || (socket.isClear && socket.hasPlace);
  }

  /**
   * Takes the connection for one exchange.
   * @param headRequest the answer has no body whatever it says (RFC 9112 §6.3)
   * @param maySwitch the request asks for another protocol
   */
  begin(user: ExchangeHandler, headRequest: boolean, maySwitch: boolean): void {
    if (this.socket instanceof Http2Channel) this.socket.reserve();
    this.user = user;
    this.answer.begin(headRequest, maySwitch);
    this.silent = true;
    this.requestSent = false;
    this.sentAt = 0;
  }

  /** @returns false when the caller should wait for `onWritable` */
  write(data: string | Buffer): boolean {
    const { socket }: { socket: Duplex } = this;
    const more = typeof data === 'string' ? socket.write(data, 'latin1') : socket.write(data);
    // The stream says false of every large write, also where the system has taken all of it at once.
    if (more || socket.writableLength === 0) return true;
    this.full = true;
    return false;
  }

  cork(): void {
    this.socket.cork();
  }

  uncork(): void {
    this.socket.uncork();
  }

  /** The request is completely written: the connection may be used again after its answer. */
  sent(): void {
    this.requestSent = true;
    this.sentAt = this.endpoint.clock;
  }

  /**
   * Runs with each tick of the coarse clock: it fails the request whose response has not begun in time.
   * @param most ticks of the clock that it may take
   */
  look(most: number): void {
    const { user, sentAt } = this;
    if (sentAt === 0 || user === undefined || this.answer.begun || this.endpoint.clock - sentAt <= most)
      return;
    if (this.connected && user.patient !== true) this.fail('upstream_timeout', 'limits.responseTimeout');
  }

  pause(): void {
    this.reads.pause();
  }

  resume(): void {
    this.reads.resume();
  }

  /** Makes the connection a tunnel for the rest of its life. */
  tunnel(passenger: TunnelHandler): void {
    this.user = undefined;
    this.passenger = passenger;
    // Each side of a tunnel ends for itself.
    this.socket.allowHalfOpen = true;
  }

  /** Both sides of the tunnel have ended: what is written still goes out, for so many milliseconds at most. */
  leave(ms: number): void {
    if (this.dead) return;
    this.passenger = undefined;
    this.socket.setTimeout(ms, () => this.close());
    this.socket.destroySoon();
  }

  /** The tunnel broke: the backend learns that by a reset. */
  reset(): void {
    if (this.dead) return;
    this.dead = true;
    clearTimeout(this.timer);
    this.buffers.drop();
    this.endpoint.gone(this);
    // Under TLS an end without a close_notify says the same.
    if (this.socket instanceof TLSSocket) this.socket.destroy();
    else this.socket.resetAndDestroy();
  }

  /** The user has waited for an answer as long as it may. */
  tooSlow(): void {
    // A backend that waits for the rest of a request is not to blame: the client decides when it sends that.
    if (this.requestSent && this.silent && this.connected && this.counts) this.endpoint.health.failed();
  }

  /** The user lost interest: an answer under way cannot be skipped, so the connection goes. */
  abandon(): void {
    this.user = undefined;
    this.close();
  }

  close(): void {
    if (this.dead) return;
    this.dead = true;
    clearTimeout(this.timer);
    this.buffers.drop();
    this.endpoint.gone(this);
    this.socket.destroy();
  }

  /** The user does not look at the head of its answer any more. */
  releaseHead(): void {
    this.answer.releaseHead();
  }

  /**
   * Lets the caller hold on to the bytes of the running `onBody` or `onBytes` call until it calls the returned
   * function; undefined where they must be copied.
   */
  lend(bytes: Buffer): (() => void) | undefined {
    return this.buffers.lend(bytes);
  }

  private onData(bytes: Buffer, length: number): boolean {
    const { user, passenger } = this;
    // An error that is thrown in here ends this exchange, not the process.
    try {
      if (user !== undefined) {
        this.silent = false;
        this.answer.read(user, bytes, length);
      } else if (passenger !== undefined) {
        this.buffers.expect(length, 0);
        if (!passenger.onBytes(bytes, 0, length)) this.pause();
      }
      // Bytes that answer no request: a confused or hostile backend.
      else this.close();
    } catch (error) {
      this.fail('internal_error', stackOf(error));
    }
    if (this.buffers.bulk) {
      this.buffers.taken(length, this.answer.remaining);
      this.reads.noteRead();
    }
    return true;
  }

  // ResponseReaderHost

  isServing(user: ExchangeHandler): boolean {
    return this.user === user;
  }

  onHead(head: Head): void {
    if (this.counts) this.endpoint.health.answered(head.status);
    const hint = idleHint(head);
    if (hint !== undefined) this.idleLimitMs = Math.min(this.endpoint.settings.poolIdleTimeoutMs, hint);
  }

  mayEndWithConnection(): boolean {
    const { answerEnds } = this.endpoint;
    if (answerEnds === undefined) return true;
    answerEnds.endedWithConnection();
    if (this.watched) return true;
    // The client has seen no part of it: as with a kept connection that was closed, the gateway may ask another
    // one.
    this.endpoint.unwatched();
    this.silent = true;
    this.reused = true;
    this.fail('upstream_reset', 'an answer without a length, which now is looked at more closely');
    return false;
  }

  /** The answer is complete: back to the pool, where nothing speaks against it. */
  onComplete(keep: boolean): void {
    this.user = undefined;
    // TLS hands over every record of one read, also behind a pause: the next user must not get a connection that is held.
    if (this.reads.isHeld) this.resume();
    if (this.watch !== undefined && this.answer.saysLength) this.endpoint.answerEnds?.saidLength();
    this.buffers.leave();
    this.answer.reset();
    if (keep && this.mayCarryMore && ++this.served < this.endpoint.maxRequests) {
      this.reused = true;
      this.endpoint.give(this);
    } else this.close();
  }

  private get mayCarryMore(): boolean {
    return this.requestSent && this.lostWrite === undefined && !this.dead;
  }

  fail(code: ErrorCode, detail: string): void {
    const { user, passenger, silent } = this;
    this.user = undefined;
    this.passenger = undefined;
    if (!this.connected) this.endpoint.connectFailed();
    // A kept connection that was closed between two requests is no sign of anything.
    else if (
      this.counts &&
      user !== undefined &&
      !blameless.has(code) &&
      !(silent && this.reused && code === 'upstream_reset')
    )
      this.endpoint.health.failed();
    this.close();
    user?.onFailure(code, detail, silent);
    passenger?.onFailure(code, detail);
  }

  /**
   * The backend has closed the connection while the request is written. It may have answered before, for instance
   * to refuse a large upload.
   * @returns true to read on
   */
  private onLostWrite(code: string): boolean {
    if (this.dead || !this.connected || this.user === undefined) return false;
    this.lostWrite = code;
    this.timer = setTimeout(() => {
      if (!this.answer.begun) this.end(code);
    }, LOST_WRITE_MS);
    return true;
  }

  /** The reason for an end of the connection. */
  private get ending(): string {
    if (this.watch?.inOrder === false) return cutOff;
    // A reset that followed an orderly end fails a write with EPIPE; the answer before that end is whole.
    return this.watch === undefined && this.lostWrite === 'ECONNRESET' ? this.lostWrite : closed;
  }

  private onError(error: NodeJS.ErrnoException): void {
    const { code = '', message } = error;
    if (error instanceof ChannelError) {
      this.end(message, error.entry);
      return;
    }
    const problem = this.endpoint.tls === undefined || !this.reached ? undefined : tlsProblem(error);
    // A backend that refuses our certificate says so behind the handshake (RFC 8446 §4.4.2.4).
    if (problem !== undefined && (!this.connected || code.startsWith('ERR_SSL')))
      this.end(problem, 'upstream_tls_failed');
    else this.end(code === '' ? message : code);
  }

  /** The socket is over, for whatever reason. */
  private end(reason: string, code?: ErrorCode): void {
    if (this.dead) return;
    const { user } = this;
    if (user === undefined && this.passenger === undefined) {
      this.close();
      return;
    }
    if (code !== undefined) this.fail(code, reason);
    else if (!this.connected && this.reached)
      this.fail('upstream_tls_failed', `${reason} during the TLS handshake`);
    else if (!this.connected) this.fail('upstream_connect_failed', reason);
    else if (user !== undefined && this.answer.endsWithConnection && reason === closed) {
      // The end of the connection is the end of such a body (RFC 9112 §6.3).
      this.user = undefined;
      this.close();
      user.onBody(shared, 0, 0, true);
    } else this.fail('upstream_reset', reason);
  }
}
