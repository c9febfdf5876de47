import { constants, type ClientHttp2Stream } from 'node:http2';
import { Duplex } from 'node:stream';
import {
  Body,
  COMPLETE,
  Head,
  hasNoBody,
  INCOMPLETE,
  lastChunk,
  parseRequest,
  requestFields,
  responseText,
  trailerFields,
} from '../http/index.ts';
import type { Http2Sessions, SessionWaiter, SharedSession } from './http2Sessions.ts';

/** What is written here was read or made by us: only its end is looked for. */
const noLimits = { maxHeadBytes: 4_194_304, maxUriBytes: 4_194_304 };

const EMPTY = Buffer.alloc(0);

/**
 * A connection of HTTP/1.1 to a backend of HTTP/2: each request written to it becomes a stream of a connection that
 * many share, and the answer is read from it as the one of HTTP/1.1 that it stands for.
 */
export class Http2Channel extends Duplex implements SessionWaiter {
  private readonly sessions: Http2Sessions;
  /** Taken beforehand, so that a request finds a connection that stands. */
  private shared: SharedSession | undefined;
  private readonly head = new Head(2_048);
  private body = new Body();
  private stream: ClientHttp2Stream | undefined;
  private pending: Buffer = EMPTY;
  private chunked = false;
  private trailers: [name: string, value: string][] = [];

  constructor(sessions: Http2Sessions) {
    super({ allowHalfOpen: false });
    this.sessions = sessions;
    const shared = (this.shared = sessions.take());
    shared.streams++;
    if (shared.connected) process.nextTick(() => this.ready());
    else shared.waiting.add(this);
  }

  // What is asked of a socket, and means nothing to one stream of many.

  setKeepAlive(): this {
    return this;
  }

  setTimeout(): this {
    return this;
  }

  destroySoon(): void {
    this.destroy();
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
      done(error instanceof Error ? error : new Error(String(error)));
    }
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.stream?.close(constants.NGHTTP2_CANCEL);
    this.release();
    done(error);
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
    const { head } = this;
    const result = parseRequest(bytes, 0, bytes.length, head, noLimits);
    if (result === INCOMPLETE) {
      this.pending = bytes;
      done();
      return;
    }
    if (result !== COMPLETE) throw new Error(`our own request cannot be read: ${head.problem}`);
    head.text = bytes.toString('latin1', 0, head.length);
    this.pending = EMPTY;
    this.begin();
    const rest = bytes.subarray(head.length);
    if (rest.length === 0) done();
    else this.writeBody(rest, done);
  }

  private begin(): void {
    const { head } = this;
    let { shared } = this;
    if (shared === undefined) {
      shared = this.shared = this.sessions.take();
      shared.streams++;
    }
    this.body = new Body();
    if (head.chunked) {
      this.body.startChunked();
      this.body.trailers = '';
    } else this.body.startLength(Math.max(0, head.contentLength));
    const stream = shared.session.request(requestFields(head, this.sessions.scheme), {
      endStream: this.body.done,
      waitForTrailers: head.chunked,
    });
    this.stream = stream;
    this.chunked = false;
    this.trailers = [];
    const headRequest = head.method === 'HEAD';
    const { body } = this;
    stream.on('headers', (_headers, _flags, raw) => this.push(responseText(raw ?? [], 'none'), 'latin1'));
    stream.on('response', (_headers, flags, raw) => {
      const fields = raw ?? [];
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
      const fields = raw ?? [];
      for (let i = 0; i + 1 < fields.length; i += 2)
        this.trailers.push([fields[i] as string, fields[i + 1] as string]);
    });
    stream.on('data', (bytes: Buffer) => {
      let more: boolean;
      if (this.chunked) {
        const size = Buffer.from(`${bytes.length.toString(16)}\r\n`, 'latin1');
        more = this.push(Buffer.concat([size, bytes, Buffer.from('\r\n', 'latin1')]));
      } else more = this.push(bytes);
      if (!more) stream.pause();
    });
    stream.on('end', () => {
      // Without a code other than 0 this is the end of a whole answer.
      if (this.stream !== stream || stream.rstCode !== constants.NGHTTP2_NO_ERROR || stream.aborted) return;
      if (body.done) this.settle();
      if (this.chunked) this.push(lastChunk(this.trailers), 'latin1');
    });
    stream.on('wantTrailers', () => stream.sendTrailers(grouped(trailerFields(body.trailers ?? ''))));
    stream.on('error', (error) => this.stream === stream && this.destroy(error));
    stream.on('close', () => {
      if (this.stream === stream && stream.rstCode !== constants.NGHTTP2_NO_ERROR)
        this.destroy(new Error(`reset with ${stream.rstCode ?? 0}`));
    });
  }

  private writeBody(bytes: Buffer, done: (error?: Error | null) => void): void {
    const { stream, body } = this;
    if (stream === undefined || stream.destroyed || stream.closed) {
      done();
      return;
    }
    const send = (chunk: Buffer, from: number, to: number): void => {
      if (to > from) stream.write(chunk.subarray(from, to));
    };
    const to = body.take(bytes, 0, bytes.length, send);
    if (to < bytes.length) throw new Error('our own request cannot be read: its body is longer than it says');
    if (body.trailers === undefined) send(bytes, 0, to);
    if (body.done) {
      stream.end();
      // The answer was complete before the request.
      if (stream.readableEnded) this.settle();
    }
    if (!stream.writableNeedDrain) {
      done();
      return;
    }
    let over = false;
    const once = (): void => {
      if (over) return;
      over = true;
      done();
    };
    stream.once('drain', once);
    stream.once('close', once);
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
    shared.streams--;
    shared.idleSince = Date.now();
  }
}

function grouped(fields: readonly (readonly [name: string, value: string])[]): Record<string, string[]> {
  const groups: Record<string, string[]> = {};
  for (const [name, value] of fields) (groups[name] ??= []).push(value);
  return groups;
}
