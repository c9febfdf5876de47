import type { ErrorCode } from '../errors.ts';
import { Body, FRAMING, trailerFields, type Head, type HeaderLine } from '../http/index.ts';
import type { Destination } from './destination.ts';
import type { Endpoint, UpstreamConnection } from './upstreamConnection.ts';
import type { ExchangeHandler } from './handlers.ts';
import type { Waiter } from './waitQueue.ts';

/** Reads the answer to a request. Nothing is called after `onEnd`, `onFailure` or an `abandon`. */
export interface ResponseHandler {
  /** Interim answers are passed over. The head is valid during the call only. */
  onHead(head: Head, from: Endpoint): void;
  /** A part of the body, without framing; valid during the call only. */
  onBytes(bytes: Buffer, from: number, to: number): void;
  /** The trailer fields of an answer that may have some, names in lower case; called before `onEnd`. */
  onTrailers?(lines: readonly HeaderLine[]): void;
  /** The answer is complete. */
  onEnd(): void;
  /** It never will be. */
  onFailure(code: ErrorCode, detail: string): void;
}

export interface OwnRequestStart {
  readonly destination: Destination;
  /** Request line and fields with the empty line, one character a byte. */
  readonly head: string;
  /** A text is ASCII. */
  readonly body?: string | Buffer;
  /** The answer has no body whatever its head says: the method is HEAD. */
  readonly bodiless?: boolean;
  /** May it be sent again where a kept connection died under it before a byte of the answer came? */
  readonly repeatable: boolean;
  /** Tells whether the answer may take its time to begin. */
  readonly patient: boolean;
}

/** A request of the gateway's own to a backend, from the choice of a connection to the end of the answer. */
export class OwnRequest implements ExchangeHandler, Waiter {
  readonly patient: boolean;
  protected readonly destination: Destination;
  private readonly start: OwnRequestStart;
  private readonly taker: ResponseHandler;
  private upstream: UpstreamConnection | undefined;
  private tried: Endpoint[] | undefined;
  private dechunker: Body | undefined;
  private repeated = false;
  private held = false;
  protected over = false;

  constructor(start: OwnRequestStart, taker: ResponseHandler) {
    this.start = start;
    this.destination = start.destination;
    this.taker = taker;
    this.patient = start.patient;
  }

  /** Sends it; the taker may hear of a failure before this returns. */
  begin(): void {
    if (!this.over) this.connect(false);
  }

  /** Bytes of the request that the server has not taken. */
  get backlog(): number {
    if (this.over) return 0;
    const { head, body } = this.start;
    return this.upstream?.socket.writableLength ?? head.length + (body?.length ?? 0);
  }

  pause(): void {
    this.held = true;
    if (!this.over) this.upstream?.pause();
  }

  resume(): void {
    this.held = false;
    if (!this.over) this.upstream?.resume();
  }

  /** Abandons the exchange: its answer is not wanted any more. */
  abandon(): void {
    if (this.over) return;
    this.over = true;
    if (this.upstream === undefined) this.destination.waiting.forget(this);
    else this.upstream.abandon();
  }

  /** Takes a connection to any address of the destination. A subclass may insist on one address. */
  protected connect(fresh: boolean): void {
    this.takeAny(fresh);
  }

  protected takeAny(fresh: boolean): void {
    const upstream = this.destination.take(fresh);
    if (upstream === undefined) this.destination.wait(this);
    else this.send(upstream);
  }

  /** Takes a connection to one address. */
  protected takeFrom(endpoint: Endpoint, fresh: boolean): void {
    if (endpoint.hasRoom) this.send(endpoint.take(fresh));
    else this.onRefused('upstream_overloaded', `${endpoint.name}: all connections are busy`);
  }

  private send(upstream: UpstreamConnection): void {
    const { head, body } = this.start;
    this.upstream = upstream;
    upstream.begin(this, this.start.bodiless === true, false);
    if (this.held) upstream.pause();
    // Node writes one text straight from V8's heap, and takes no other memory for it.
    if (typeof body !== 'object') upstream.write(body === undefined ? head : head + body);
    else {
      upstream.cork();
      upstream.write(head);
      upstream.write(body);
      upstream.uncork();
    }
    upstream.sent();
  }

  // Waiter

  onReady(upstream: UpstreamConnection): void {
    this.send(upstream);
  }

  onRefused(code: ErrorCode, detail: string): void {
    this.fail(code, detail);
  }

  // ExchangeHandler

  onInformational(): void {
    // Only the final answer tells something.
  }

  onWritable(): void {
    // The bytes to send are bounded and were handed over at once.
  }

  onAnswer(head: Head, bytes: Buffer, from: number, to: number, body: Body): boolean {
    if (body.kind === FRAMING.chunked) {
      this.dechunker = new Body();
      this.dechunker.startChunked('answer');
      if (this.taker.onTrailers !== undefined) this.dechunker.trailers = '';
    }
    this.taker.onHead(head, this.upstream!.endpoint);
    // A stream that waits would keep 5 KB in it. The taker may have ended the request.
    this.upstream?.releaseHead();
    return this.onBody(bytes, from, to, body.done);
  }

  onBody(bytes: Buffer, from: number, to: number, done: boolean): boolean {
    if (!this.over && to > from) {
      if (this.dechunker === undefined) this.taker.onBytes(bytes, from, to);
      else this.onChunks(this.dechunker, bytes, from, to);
    }
    if (done && !this.over) {
      this.over = true;
      if (this.dechunker?.trailers !== undefined)
        this.taker.onTrailers?.(trailerFields(this.dechunker.trailers));
      this.taker.onEnd();
    }
    return !this.held;
  }

  /** The taker gets the chunks of a read together: a server may send thousands of chunks of one byte. */
  private onChunks(dechunker: Body, bytes: Buffer, from: number, to: number): void {
    let start = -1;
    let end = -1;
    dechunker.take(bytes, from, to, (_bytes, chunkStart, chunkEnd) => {
      if (start < 0) {
        start = chunkStart;
        end = chunkEnd;
        return;
      }
      // The bytes move down over the framing, which was read.
      bytes.copyWithin(end, chunkStart, chunkEnd);
      end += chunkEnd - chunkStart;
    });
    if (end > start) this.taker.onBytes(bytes, start, end);
  }

  onFailure(code: ErrorCode, detail: string, fresh: boolean): void {
    if (this.over) return;
    const upstream = this.upstream!;
    if (!upstream.connected) {
      // Not a byte of it was sent: another address can have it.
      (this.tried ??= []).push(upstream.endpoint);
      const other = this.destination.takeOther(this.tried);
      if (other !== undefined) {
        this.send(other);
        return;
      }
    } else if (
      fresh &&
      upstream.reused &&
      code === 'upstream_reset' &&
      this.start.repeatable &&
      !this.repeated
    ) {
      this.repeated = true;
      this.upstream = undefined;
      this.connect(true);
      return;
    }
    upstream.endpoint.stats.failed++;
    this.fail(code, `${upstream.endpoint.name}: ${detail}`);
  }

  private fail(code: ErrorCode, detail: string): void {
    if (this.over) return;
    this.over = true;
    this.taker.onFailure(code, detail);
  }
}
