import { constants, type ClientHttp2Stream, type ClientSessionRequestOptions } from 'node:http2';
import { Duplex } from 'node:stream';
import type { ErrorCode } from '../errors.ts';
import { errorOf, messageOf } from '../errorText.ts';
import {
  Body,
  COMPLETE,
  hasNoBody,
  HeadPool,
  INCOMPLETE,
  lastChunk,
  parseRequest,
  requestFields,
  requestTrailers,
  responseText,
  switchText,
  type Head,
} from '../http/index.ts';
import type { Http2Sessions, SessionWaiter, SharedSession } from './http2Sessions.ts';

/** The gateway itself wrote or checked these heads, so the parser only looks for their end. */
const noLimits = {
  maxHeadBytes: 4_194_304,
  maxUriBytes: 4_194_304,
  maxMethodBytes: 4_194_304,
  maxHeaderNameBytes: 4_194_304,
};

/** Heads are large, and each is read at once: a channel that waits for its answer needs none. */
const heads = new HeadPool(2_048);

/** The time without a byte after which a request that is given up makes its connection suspect. */
const SILENCE_MS = 250;

const EMPTY = Buffer.alloc(0);

/** A failure that the catalogue has an entry for. */
export class ChannelError extends Error {
  readonly entry: ErrorCode;

  constructor(entry: ErrorCode, detail: string) {
    super(detail);
    this.entry = entry;
  }
}

/** A stream that ends with its connection has the error of the connection as its cause, and says nothing itself. */
const reasonOf = (error: NodeJS.ErrnoException): Error =>
  error.code === 'ERR_HTTP2_STREAM_CANCEL' && error.cause instanceof Error ? error.cause : error;

/**
 * A connection of HTTP/1.1 to a backend of HTTP/2: each request written to it becomes a stream of a connection that
 * many share, and the answer is read from it as the one of HTTP/1.1 that it stands for.
 */
export class Http2Channel extends Duplex implements SessionWaiter {
  private readonly sessions: Http2Sessions;
  /** Taken beforehand, so that a request finds a connection that stands. */
  private shared: SharedSession | undefined;
  private body = new Body();
  private stream: ClientHttp2Stream | undefined;
  /** The time of the request, by `Date.now()`, and the bytes that had come on the connection by then. */
  private sentAt = 0;
  private readBefore = 0;
  private pending: Buffer = EMPTY;
  private chunked = false;
  private trailers: [name: string, value: string][] = [];
  /** The backend has granted a tunnel: bytes pass as they are from here on. */
  private tunnelled = false;

  /** @param alone it shares its connection with no other channel */
  constructor(sessions: Http2Sessions, alone = false) {
    super({ allowHalfOpen: false });
    this.sessions = sessions;
    const shared = (this.shared = alone ? sessions.takeAlone() : sessions.take());
    if (shared.connected) process.nextTick(() => this.ready());
    else shared.waiting.add(this);
  }

  // Functions of a socket that mean nothing to one stream of many.

  setKeepAlive(): this {
    return this;
  }

  setTimeout(ms: number, late: () => void): this {
    if (this.tunnelled) this.stream?.setTimeout(ms, late);
    return this;
  }

  destroySoon(): void {
    const { stream } = this;
    // Bytes that were written into a tunnel that has ended still go out.
    if (this.tunnelled && stream?.writableEnded === true && !stream.writableFinished)
      stream.once('close', () => this.destroy());
    else this.destroy();
  }

  resetAndDestroy(): this {
    return this.destroy();
  }

  override _read(): void {
    this.stream?.resume();
  }

  override _write(bytes: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    try {
      if (this.stream === undefined) this.readHead(bytes, done);
      else this.writeBody(bytes, done);
    } catch (error) {
      done(errorOf(error));
    }
  }

  override _final(done: (error?: Error | null) => void): void {
    if (this.tunnelled) this.stream?.end();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const { stream, shared } = this;
    stream?.close(constants.NGHTTP2_CANCEL);
    if (stream !== undefined && shared !== undefined && this.isSilent(shared)) this.sessions.suspect(shared);
    this.release();
    done(error);
  }

  private isSilent({ socket }: SharedSession): boolean {
    return socket.bytesRead === this.readBefore && Date.now() - this.sentAt >= SILENCE_MS;
  }

  /** No byte of the last request waits here: the channel would read it as the head of the next one. */
  get isClear(): boolean {
    return this.writableLength === 0 && this.pending.length === 0;
  }

  /** False where the next request would have to wait for a connection: it belongs to a channel that is not open yet. */
  get hasPlace(): boolean {
    return this.sessions.hasRoom(this.shared);
  }

  /** Takes a place for the next request. The one before it is over, although its stream may have yet to end. */
  reserve(): void {
    if (this.destroyed) return;
    const { stream } = this;
    if (!this.isClear) {
      this.destroy(new Error('the last request was not sent whole'));
      return;
    }
    if (stream !== undefined) this.settle();
    // Its answer came first, and nobody waits for the rest of the request.
    if (stream?.writableFinished === false) stream.close(constants.NGHTTP2_CANCEL);
    this.claim();
  }

  // SessionWaiter

  ready(): void {
    if (this.destroyed) return;
    this.emit('connect');
    this.emit('secureConnect');
  }

  failed(error: Error): void {
    this.destroy(error);
  }

  private readHead(given: Buffer, done: (error?: Error | null) => void): void {
    const bytes = this.pending.length === 0 ? given : Buffer.concat([this.pending, given]);
    const head = heads.take();
    const result = parseRequest(bytes, 0, bytes.length, head, noLimits);
    if (result === INCOMPLETE) {
      heads.give(head);
      this.pending = bytes;
      done();
      return;
    }
    if (result !== COMPLETE) throw new Error(`the generated request is invalid: ${head.problem}`);
    head.text = bytes.toString('latin1', 0, head.length);
    this.pending = EMPTY;
    const shared = this.claim();
    const protocol = head.upgrade ? head.get('upgrade')?.split(',')[0]?.trim() : undefined;
    if (protocol !== undefined) {
      this.whenSettled(shared, () => this.ask(shared, head, protocol));
      done();
      return;
    }
    const rest = bytes.subarray(head.length);
    this.begin(shared, head);
    if (rest.length === 0) done();
    else this.writeBody(rest, done);
  }

  private claim(): SharedSession {
    return (this.shared ??= this.sessions.take());
  }

  private whenSettled(shared: SharedSession, then: () => void): void {
    const ready = (): void => {
      if (this.destroyed || this.shared !== shared) return;
      // This runs outside of a write: an error that leaves it would end the process.
      try {
        then();
      } catch (error) {
        this.destroy(errorOf(error));
      }
    };
    // Not before whoever holds this end has heard that it stands.
    if (shared.settled) process.nextTick(ready);
    else shared.settling.add({ ready, failed: (error) => this.destroy(error) });
  }

  /** An upgrade: a stream that becomes a tunnel, where the backend takes such (RFC 8441). */
  private ask(shared: SharedSession, head: Head, protocol: string): void {
    const offered = shared.session.remoteSettings.enableConnectProtocol === true;
    if (offered) this.begin(shared, head, protocol.toLowerCase());
    // A client that asks for another protocol gets along without it (RFC 9110 §7.8).
    else if (protocol.toLowerCase() !== 'websocket') this.begin(shared, head);
    else
      this.destroy(
        new ChannelError('upstream_no_upgrade', 'the backend does not offer extended CONNECT (RFC 8441)'),
      );
  }

  /**
   * @param head goes back to its pool
   * @param protocol of the tunnel that is asked for
   */
  private begin(shared: SharedSession, head: Head, protocol?: string): void {
    this.body = new Body();
    if (head.chunked) {
      this.body.startChunked();
      this.body.trailers = '';
    } else this.body.startLength(Math.max(0, head.contentLength));
    const stream = request(shared, requestFields(head, this.sessions.scheme, protocol), {
      endStream: protocol === undefined && this.body.done,
      waitForTrailers: head.chunked,
    });
    this.stream = stream;
    this.sentAt = Date.now();
    this.readBefore = shared.socket.bytesRead;
    this.chunked = false;
    this.trailers = [];
    const headRequest = head.method === 'HEAD';
    const { body } = this;
    const key = protocol === 'websocket' ? head.get('sec-websocket-key') : undefined;
    heads.give(head);
    stream.on('headers', (_headers, _flags, raw) => this.push(responseText(raw ?? [], 'none'), 'latin1'));
    stream.on('response', (_headers, flags, raw) => {
      const fields = raw ?? [];
      if (protocol !== undefined && /^2/.test(fields[1] ?? '')) {
        this.tunnelled = true;
        this.push(switchText(fields, protocol, key), 'latin1');
        return;
      }
      const ended = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
      const bodyless = headRequest || hasNoBody(Number(fields[1]));
      const sized = fields.some((name, i) => i % 2 === 0 && name === 'content-length');
      this.chunked = !bodyless && !ended && !sized;
      this.push(
        responseText(fields, this.chunked ? 'chunked' : bodyless || sized ? 'none' : 'empty'),
        'latin1',
      );
    });
    stream.on('trailers', (_headers, _flags, raw) => {
      const fields = this.stream === stream ? (raw ?? []) : [];
      for (let i = 0; i + 1 < fields.length; i += 2)
        this.trailers.push([fields[i] as string, fields[i + 1] as string]);
    });
    stream.on('data', (bytes: Buffer) => {
      if (this.stream !== stream) return;
      let more: boolean;
      if (this.chunked) {
        const size = Buffer.from(`${bytes.length.toString(16)}\r\n`, 'latin1');
        more = this.push(Buffer.concat([size, bytes, Buffer.from('\r\n', 'latin1')]));
      } else more = this.push(bytes);
      if (!more) stream.pause();
    });
    const isWhole = watchEnd(stream);
    stream.on('end', () => {
      if (this.stream !== stream || !isWhole()) return;
      if (this.tunnelled) {
        this.push(null);
        return;
      }
      // A tunnel that was refused: the request ends as well.
      if (protocol !== undefined) stream.end();
      if (body.done) this.settle();
      if (this.chunked) this.push(lastChunk(this.trailers), 'latin1');
    });
    stream.on('wantTrailers', () => {
      // Node throws where it refuses a trailer. An error that leaves this event would end the process.
      try {
        stream.sendTrailers(requestTrailers(body.trailers ?? ''));
      } catch (error) {
        if (this.stream === stream) this.destroy(new ChannelError('internal_error', messageOf(error)));
        else stream.close(constants.NGHTTP2_CANCEL);
      }
    });
    stream.on('error', (error) => this.stream === stream && this.destroy(reasonOf(error)));
    stream.on('close', () => {
      if (this.stream === stream && (stream.rstCode !== constants.NGHTTP2_NO_ERROR || !isWhole()))
        this.destroy(new Error(`reset with ${stream.rstCode ?? 0}`));
    });
  }

  private writeBody(bytes: Buffer, done: (error?: Error | null) => void): void {
    const { stream, body } = this;
    if (stream === undefined || stream.destroyed || stream.closed) {
      done();
      return;
    }
    if (this.tunnelled) {
      this.afterWrite(stream, stream.write(bytes), done);
      return;
    }
    const send = (chunk: Buffer, from: number, to: number): void => {
      if (to > from) stream.write(chunk.subarray(from, to));
    };
    const to = body.take(bytes, 0, bytes.length, send);
    if (to < bytes.length)
      throw new Error('the generated request is invalid: its body is longer than it says');
    if (body.trailers === undefined) send(bytes, 0, to);
    if (body.done) {
      stream.end();
      // The answer was complete before the request.
      if (stream.readableEnded) this.settle();
    }
    this.afterWrite(stream, !stream.writableNeedDrain, done);
  }

  private afterWrite(stream: ClientHttp2Stream, more: boolean, done: () => void): void {
    if (more) {
      done();
      return;
    }
    const once = (): void => {
      stream.off('drain', once);
      stream.off('close', once);
      done();
    };
    stream.on('drain', once);
    stream.on('close', once);
  }

  /** The exchange is over; the channel may carry another one, wherever there is room then. */
  private settle(): void {
    this.stream = undefined;
    this.release();
  }

  private release(): void {
    const { shared } = this;
    this.shared = undefined;
    if (shared === undefined) return;
    shared.waiting.delete(this);
    this.sessions.give(shared);
  }
}

/**
 * Node ends a stream that the backend has reset without an error as if the backend had ended it. Some proxies reset an
 * answer in this way when they cannot complete it. A stream that the backend ends is still open at that moment.
 * @returns tells whether the backend has ended the stream
 */
function watchEnd(stream: ClientHttp2Stream): () => boolean {
  const push = stream.push.bind(stream);
  let isWhole = false;
  stream.push = (chunk: unknown, encoding?: BufferEncoding) => {
    if (chunk === null && !stream.closed) isWhole = true;
    return push(chunk, encoding);
  };
  return () => isWhole;
}

/** @throws ChannelError where Node refuses a request that the gateway has made, which says nothing of the backend */
function request(
  { session }: SharedSession,
  fields: string[],
  options: ClientSessionRequestOptions,
): ClientHttp2Stream {
  try {
    return session.request(fields, options);
  } catch (error) {
    throw session.closed || session.destroyed ? error : new ChannelError('internal_error', messageOf(error));
  }
}
