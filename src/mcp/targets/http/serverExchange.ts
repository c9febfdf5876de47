import type { ErrorCode } from '../../../errors.ts';
import { Body, FRAMING, type Head } from '../../../http/index.ts';
import type {
  Destination,
  Endpoint,
  UpstreamConnection,
  UpstreamUser,
  Waiter,
} from '../../../upstream/index.ts';
import { endpointOf, type Home } from './home.ts';

/** Reads the answer to a request. Nothing is called after `onEnd`, `onFailure` or an `abandon`. */
export interface AnswerTaker {
  /** Interim answers are passed over. The head is valid during the call only. */
  onHead(head: Head, from: Endpoint): void;
  /** A part of the body, without framing; valid during the call only. */
  onBytes(bytes: Buffer, from: number, to: number): void;
  /** The answer is complete. */
  onEnd(): void;
  /** It never will be. */
  onFailure(code: ErrorCode, detail: string): void;
}

export interface ExchangeStart {
  readonly destination: Destination;
  /** The session that it is for. */
  readonly home: Home;
  /** Request line and fields with the empty line, one character a byte. */
  readonly head: string;
  readonly body?: Buffer;
  /** May it be sent again where a kept connection died under it before a byte of the answer came? */
  readonly repeatable: boolean;
  /** Tells whether the answer may take its time to begin. */
  readonly patient: boolean;
}

/** A request of the gateway's own to an HTTP server, from the choice of a connection to the end of the answer. */
export class Exchange implements UpstreamUser, Waiter {
  readonly patient: boolean;
  private readonly start: ExchangeStart;
  private readonly taker: AnswerTaker;
  private upstream: UpstreamConnection | undefined;
  private tried: Endpoint[] | undefined;
  private dechunker: Body | undefined;
  private repeated = false;
  private held = false;
  private over = false;

  constructor(start: ExchangeStart, taker: AnswerTaker) {
    this.start = start;
    this.taker = taker;
    this.patient = start.patient;
  }

  /** Sends it; the taker may hear of a failure before this returns. */
  begin(): void {
    this.connect(false);
  }

  /** Bytes of the request that the server has not taken. */
  get backlog(): number {
    if (this.over) return 0;
    return this.upstream?.socket.writableLength ?? this.start.body?.length ?? 0;
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
    if (this.upstream === undefined) this.start.destination.waiting.forget(this);
    else this.upstream.abandon();
  }

  private connect(fresh: boolean): void {
    const { destination, home: session } = this.start;
    this.upstream = undefined;
    const endpoint = endpointOf(session, destination);
    const { looking } = destination.resolution;
    if (endpoint === undefined && session.address !== undefined && looking !== undefined) {
      // Another address would not know the session, and be believed.
      void looking.then(() => {
        if (!this.over) this.connect(fresh);
      });
      return;
    }
    // An address that is gone or does not work takes its sessions along: another one will say that it knows none.
    const home =
      endpoint !== undefined && destination.known.includes(endpoint) && destination.accepts(endpoint)
        ? endpoint
        : undefined;
    if (home === undefined || destination.known.length === 1) {
      const upstream = destination.take(fresh);
      if (upstream === undefined) destination.wait(this);
      else this.send(upstream);
    } else if (home.hasRoom) this.send(home.take(fresh));
    else this.onRefused('upstream_overloaded', `${home.name}: all connections are busy`);
  }

  private send(upstream: UpstreamConnection): void {
    const { head, body } = this.start;
    this.upstream = upstream;
    upstream.begin(this, false, false);
    if (this.held) upstream.pause();
    upstream.cork();
    upstream.write(head);
    if (body !== undefined) upstream.write(body);
    upstream.uncork();
    upstream.sent();
  }

  // Waiter

  onReady(upstream: UpstreamConnection): void {
    this.send(upstream);
  }

  onRefused(code: ErrorCode, detail: string): void {
    this.fail(code, detail);
  }

  // UpstreamUser

  onInformational(): void {
    // Only the final answer tells something.
  }

  onWritable(): void {
    // The bytes to send are bounded and were handed over at once.
  }

  onAnswer(head: Head, bytes: Buffer, from: number, to: number, body: Body): boolean {
    if (body.kind === FRAMING.chunked) {
      this.dechunker = new Body();
      this.dechunker.startChunked();
    }
    this.taker.onHead(head, this.upstream!.endpoint);
    return this.onBody(bytes, from, to, body.done);
  }

  onBody(bytes: Buffer, from: number, to: number, done: boolean): boolean {
    if (!this.over && to > from) {
      if (this.dechunker === undefined) this.taker.onBytes(bytes, from, to);
      else
        this.dechunker.take(bytes, from, to, (chunk, start, end) => {
          if (!this.over) this.taker.onBytes(chunk, start, end);
        });
    }
    if (done && !this.over) {
      this.over = true;
      this.taker.onEnd();
    }
    return !this.held;
  }

  onFailure(code: ErrorCode, detail: string, fresh: boolean): void {
    if (this.over) return;
    const upstream = this.upstream!;
    if (!upstream.connected) {
      // Not a byte of it was sent: another address can have it.
      (this.tried ??= []).push(upstream.endpoint);
      const other = this.start.destination.takeOther(this.tried);
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
