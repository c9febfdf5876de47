import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import type { ErrorCode } from '../errors.ts';
import {
  Body,
  COMPLETE,
  FRAMING,
  Head,
  hasNoBody,
  INCOMPLETE,
  KIND,
  parseResponse,
  type HeadLimits,
} from '../http/index.ts';
import { giveBuffer, shared, takeBuffer } from './buffers.ts';
import type { Endpoint } from './endpoint.ts';
import { ChannelError, Http2Channel } from './http2Channel.ts';
import { openPlain, openTls, tlsProblem, type Reading } from './open.ts';

/** Who waits for the answer of one request. All calls are synchronous; bytes are valid during the call only. */
export interface UpstreamUser {
  /** A 1xx answer other than 101. */
  onInformational(head: Head): void;
  /**
   * The backend switched protocols (101), as `begin` said that was asked for; `bytes[from..to)` came behind the head.
   * Whoever takes them calls `tunnel` at once: what follows is no HTTP.
   */
  onSwitch?(head: Head, bytes: Buffer, from: number, to: number): void;
  /**
   * The head of the answer with the part of the body that came along, `bytes[from..to)`.
   * @returns false to pause the reading until `resume`
   */
  onAnswer(head: Head, bytes: Buffer, from: number, to: number, body: Body): boolean;
  /** More of the body, framing included. Same result. */
  onBody(bytes: Buffer, from: number, to: number, done: boolean): boolean;
  /** The exchange is over before the answer was complete. `fresh`: not a byte of the answer had come. */
  onFailure(code: ErrorCode, detail: string, fresh: boolean): void;
  /** The backend takes bytes again after a `write` that returned false. */
  onWritable(): void;
  /** The connection, which was still being opened when it was taken, is there. */
  onConnected?(): void;
  /** The time to the head of its answer is limited by somebody else, or not at all. */
  readonly patient?: boolean;
}

/** Who takes the bytes of a connection that is a tunnel. All calls are synchronous; bytes are valid during the call only. */
export interface TunnelUser {
  /** @returns false to pause the reading until `resume` */
  onBytes(bytes: Buffer, from: number, to: number): boolean;
  /** The backend sends nothing more; it may still take bytes. */
  onEnd(): void;
  onFailure(code: ErrorCode, detail: string): void;
  onWritable(): void;
}

/** Reads at least this large mean a bulk transfer: worth buffers of its own. */
const BULK = 32_768;

/** Interim answers to one request; more would only be there to fill the client's connection. */
const INFORMATIONAL_MOST = 32;

/** Failures that say nothing against the health of the backend. */
const blameless: ReadonlySet<ErrorCode> = new Set(['internal_error', 'upstream_no_upgrade']);

/** A socket, or what stands for one. */
type UpstreamSocket = Socket | Http2Channel;

/** One connection to an endpoint: idle in its pool, or serving one request at a time. */
export class UpstreamConnection {
  readonly endpoint: Endpoint;
  readonly socket: UpstreamSocket;
  /** True once it has answered a request before. */
  reused = false;
  /** When it became idle, by the endpoint's clock. */
  idleSince = 0;
  /** Which reading of the TLS files it was opened with. */
  readonly generation: number;
  /** How long it may stay idle: the pool's limit or the backend's own hint. */
  idleLimitMs: number;
  private user: UpstreamUser | undefined;
  private passenger: TunnelUser | undefined;
  private readonly body = new Body();
  private readonly head: Head;
  private readonly limits: HeadLimits;
  private stash: Buffer | undefined;
  private current = shared;
  private next = shared;
  private attached = false;
  /** Ready to carry a request (for TLS, once the backend has shown who it is): until then not a byte of it is sent. */
  connected = false;
  private reached = false;
  private dead = false;
  private headRequest = false;
  /** The request asks for another protocol: a 101 may come. */
  private maySwitch = false;
  private answering = false;
  private served = 0;
  private silent = true;
  private informational = 0;
  private keep = false;
  private requestSent = false;
  /** When it was, by the clock of the endpoint; 0 while it is not. */
  private sentAt = 0;
  private connectTimer: NodeJS.Timeout | undefined;

  constructor(endpoint: Endpoint, limits: HeadLimits) {
    const { settings } = endpoint;
    this.endpoint = endpoint;
    this.limits = limits;
    this.idleLimitMs = settings.poolIdleTimeoutMs;
    this.head = new Head(endpoint.maxHeaders);
    this.generation = endpoint.tls?.generation ?? 0;
    this.socket = this.open();
    this.connectTimer = setTimeout(() => this.end('connect timeout'), settings.connectTimeoutMs);
    this.socket.on('connect', () => this.onReached());
    this.socket.on('drain', () => (this.user ?? this.passenger)?.onWritable());
    this.socket.on('end', () => {
      if (this.passenger === undefined) this.end('closed by the backend');
      else this.passenger.onEnd();
    });
    this.socket.on('error', (error: NodeJS.ErrnoException) => this.onError(error));
    this.socket.on('close', () => this.end('closed'));
  }

  private open(): UpstreamSocket {
    const { endpoint } = this;
    const { http2 } = endpoint;
    if (http2 !== undefined) {
      const channel = new Http2Channel(http2);
      channel.on('data', (bytes: Buffer) => this.onData(bytes, bytes.length));
      if (endpoint.tls !== undefined) channel.on('secureConnect', () => this.onConnected());
      return channel;
    }
    const reading: Reading = {
      buffer: () => this.nextBuffer(),
      callback: (length, bytes) => this.onData(bytes as Buffer, length),
    };
    if (endpoint.tls === undefined) return openPlain(endpoint, reading);
    const socket = openTls(endpoint, reading, endpoint.tls.options(), endpoint.session(this.generation));
    socket.on('secureConnect', () => this.onConnected());
    socket.on('session', (session) => endpoint.keepSession(session, this.generation));
    return socket;
  }

  private onReached(): void {
    const { tls, settings } = this.endpoint;
    const { enabled, timeMs, intervalMs, retries } = settings.keepAlive;
    this.reached = true;
    if (enabled) this.socket.setKeepAlive(true, timeMs, intervalMs, retries);
    if (tls === undefined) this.onConnected();
  }

  private onConnected(): void {
    this.connected = true;
    clearTimeout(this.connectTimer);
    this.endpoint.health.connected();
    this.user?.onConnected?.();
  }

  /** True when it can take a request now. */
  get usable(): boolean {
    return !this.dead && this.user === undefined && !this.socket.readableEnded && !this.socket.destroyed;
  }

  /**
   * Takes the connection for one exchange.
   * @param headRequest the answer has no body whatever it says (RFC 9112 §6.3)
   * @param maySwitch the request asks for another protocol
   */
  begin(user: UpstreamUser, headRequest: boolean, maySwitch: boolean): void {
    this.user = user;
    this.headRequest = headRequest;
    this.maySwitch = maySwitch;
    this.answering = false;
    this.silent = true;
    this.informational = 0;
    this.requestSent = false;
    this.sentAt = 0;
  }

  /** @returns false when the caller should wait for `onWritable` */
  write(data: string | Buffer): boolean {
    const { socket }: { socket: Duplex } = this;
    return typeof data === 'string' ? socket.write(data, 'latin1') : socket.write(data);
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
   * One look of the coarse clock: was the head of an answer waited for too long?
   * @param most ticks of the clock that it may take
   */
  look(most: number): void {
    const { user, sentAt } = this;
    if (sentAt === 0 || user === undefined || this.answering || this.endpoint.clock - sentAt <= most) return;
    if (this.connected && user.patient !== true) this.fail('upstream_timeout', 'limits.responseTimeout');
  }

  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  /** Makes the connection a tunnel for the rest of its life. */
  tunnel(passenger: TunnelUser): void {
    this.user = undefined;
    this.passenger = passenger;
    this.keep = false;
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
    clearTimeout(this.connectTimer);
    this.endpoint.gone(this);
    // Under TLS an end without a close_notify says the same.
    if (this.socket instanceof TLSSocket) this.socket.destroy();
    else this.socket.resetAndDestroy();
  }

  /** The user has waited for an answer as long as it may. */
  tooSlow(): void {
    if (this.silent && this.connected && this.endpoint.watched) this.endpoint.health.failed();
  }

  /** The user lost interest: an answer under way cannot be skipped, so the connection goes. */
  abandon(): void {
    this.user = undefined;
    this.close();
  }

  close(): void {
    if (this.dead) return;
    this.dead = true;
    clearTimeout(this.connectTimer);
    this.endpoint.gone(this);
    this.socket.destroy();
  }

  /**
   * Lets the caller hold on to the bytes of the running `onBody` call until it calls the returned function. Once for
   * each read: a buffer given back twice would be read into by two connections, and bytes of one answer end up in
   * another.
   * @returns undefined where the bytes lie in the shared buffer, or are lent already, and must be copied
   */
  lend(bytes: Buffer): (() => void) | undefined {
    if (bytes === shared || bytes !== this.current || this.next !== this.current) return undefined;
    this.next = takeBuffer();
    return () => giveBuffer(bytes);
  }

  /** What the next read goes into; undefined keeps the present one. Node asks after every read and at connect. */
  private nextBuffer(): Buffer {
    if (this.attached && this.next === this.current) return undefined as unknown as Buffer;
    this.current = this.next;
    return this.current;
  }

  private onData(bytes: Buffer, length: number): boolean {
    this.attached = true;
    const { user } = this;
    if (user === undefined) {
      if (this.passenger !== undefined) {
        this.passBytes(this.passenger, bytes, 0, length);
        return true;
      }
      // Bytes that answer no request: a confused or hostile backend.
      this.close();
      return true;
    }
    this.silent = false;
    // Whatever is thrown in here ends this exchange, not the process.
    try {
      if (this.answering) this.passBody(user, bytes, 0, length);
      else this.readHead(user, bytes, length);
    } catch (error) {
      this.fail('internal_error', error instanceof Error ? (error.stack ?? error.message) : String(error));
    }
    return true;
  }

  private readHead(user: UpstreamUser, incoming: Buffer, incomingLength: number): void {
    let bytes = incoming;
    let length = incomingLength;
    if (this.stash !== undefined) {
      bytes = Buffer.concat([this.stash, incoming.subarray(0, incomingLength)]);
      length = bytes.length;
      this.stash = undefined;
    }
    const { head } = this;
    let from = 0;
    for (;;) {
      const result = parseResponse(bytes, from, length, head, this.limits);
      if (result === INCOMPLETE) {
        this.stash = Buffer.from(bytes.subarray(from, length));
        return;
      }
      if (result !== COMPLETE) {
        this.fail('upstream_protocol', head.problem);
        return;
      }
      head.text = bytes.toString('latin1', from, from + head.length);
      from += head.length;
      if (head.status === 101) {
        this.switchProtocols(user, bytes, from, length);
        return;
      }
      if (head.status >= 200) break;
      if (++this.informational > INFORMATIONAL_MOST) {
        this.fail('upstream_protocol', 'too many interim answers');
        return;
      }
      user.onInformational(head);
      if (this.user !== user) return;
      if (from === length) return;
    }
    this.answer(user, bytes, from, length);
  }

  private answer(user: UpstreamUser, bytes: Buffer, from: number, length: number): void {
    const { head, body } = this;
    this.answering = true;
    if (this.endpoint.watched) this.endpoint.health.answered(head.status);
    this.keep = !head.close && (!head.http10 || head.keepAlive);
    this.noteIdleHint();
    if (this.headRequest || hasNoBody(head.status)) body.startNone();
    else if (head.chunked) body.startChunked();
    else if (head.contentLength >= 0) body.startLength(head.contentLength);
    else {
      body.startUntilClose();
      this.keep = false;
    }
    const to = body.take(bytes, from, length);
    if (to < 0) {
      this.fail('upstream_protocol', 'bad chunk');
      return;
    }
    // Bytes behind the answer belong to no request: never reuse such a connection.
    if (to < length) this.keep = false;
    if (!body.done) this.expectBulk(Math.max(length - from, body.remaining));
    const more = user.onAnswer(head, bytes, from, to, body);
    this.afterBytes(user, more);
  }

  private switchProtocols(user: UpstreamUser, bytes: Buffer, from: number, length: number): void {
    const { head } = this;
    if (!this.maySwitch || user.onSwitch === undefined)
      this.fail('upstream_protocol', 'an upgrade that nobody asked for');
    else if (!head.upgrade || (head.seen & (1 << KIND.upgrade)) === 0)
      this.fail('upstream_protocol', 'an upgrade to nothing');
    else user.onSwitch(head, bytes, from, length);
  }

  private passBytes(passenger: TunnelUser, bytes: Buffer, from: number, to: number): void {
    this.expectBulk(to - from);
    try {
      if (!passenger.onBytes(bytes, from, to)) this.socket.pause();
    } catch (error) {
      this.fail('internal_error', error instanceof Error ? (error.stack ?? error.message) : String(error));
    }
  }

  private passBody(user: UpstreamUser, bytes: Buffer, from: number, length: number): void {
    const { body } = this;
    this.expectBulk(length);
    const to = body.take(bytes, from, length);
    if (to < 0) {
      this.fail('upstream_protocol', 'bad chunk');
      return;
    }
    if (to < length) this.keep = false;
    this.afterBytes(user, user.onBody(bytes, from, to, body.done));
  }

  private afterBytes(user: UpstreamUser, more: boolean): void {
    if (this.user !== user) return;
    if (this.body.done) this.finish();
    else if (!more) this.socket.pause();
  }

  /** The answer is complete: back to the pool, where nothing speaks against it. */
  private finish(): void {
    this.user = undefined;
    this.leaveBulk();
    if (this.keep && this.requestSent && !this.dead && ++this.served < this.endpoint.maxRequests) {
      this.reused = true;
      this.answering = false;
      this.endpoint.give(this);
    } else this.close();
  }

  /** So much at once, or still to come: what is read from now on can be lent. */
  private expectBulk(length: number): void {
    if (this.next === shared && length >= BULK) this.next = takeBuffer();
  }

  private leaveBulk(): void {
    if (this.next === shared) return;
    // It holds nothing that is still needed: no read went into it yet, or what was read has been taken. The next read
    // goes elsewhere.
    giveBuffer(this.next);
    this.next = shared;
  }

  /** `Keep-Alive: timeout=5` tells when the backend will hang up: leave a second before, to avoid the race. */
  private noteIdleHint(): void {
    if ((this.head.seen & (1 << KIND.keepAlive)) === 0) return;
    const seconds = /timeout=(\d{1,6})/i.exec(this.head.get('keep-alive') ?? '')?.[1];
    if (seconds === undefined) return;
    this.idleLimitMs = Math.min(
      this.endpoint.settings.poolIdleTimeoutMs,
      Math.max(0, Number(seconds) * 1000 - 1000),
    );
  }

  private fail(code: ErrorCode, detail: string): void {
    const { user, passenger, silent } = this;
    this.user = undefined;
    this.passenger = undefined;
    if (!this.connected) this.endpoint.connectFailed();
    // A kept connection that was closed between two requests is no sign of anything.
    else if (
      this.endpoint.watched &&
      user !== undefined &&
      !blameless.has(code) &&
      !(silent && this.reused && code === 'upstream_reset')
    )
      this.endpoint.health.failed();
    this.close();
    user?.onFailure(code, detail, silent);
    passenger?.onFailure(code, detail);
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
    else if (
      user !== undefined &&
      this.answering &&
      this.body.kind === FRAMING.close &&
      reason === 'closed by the backend'
    ) {
      // The end of the connection is the end of such a body (RFC 9112 §6.3).
      this.user = undefined;
      this.close();
      user.onBody(shared, 0, 0, true);
    } else this.fail('upstream_reset', reason);
  }
}
