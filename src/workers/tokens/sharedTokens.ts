import { connect, type Socket } from 'node:net';
import { GatewayError } from '../../errors.ts';
import type { Draws, RateLimitState, TokenLimit, TokenStore } from '../../policies/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { hearLines, lineOf, type DrawLine } from './protocol.ts';

export interface SharedTokensOptions {
  /** The path of the counter's socket; asked before each connection. */
  readonly where: () => Promise<string>;
  readonly secret: string;
  readonly log: Logger;
  /** The time after which a request without an answer is refused; milliseconds. */
  readonly answerMs?: number;
}

interface Waiting {
  readonly resolve: (state: RateLimitState) => void;
  readonly reject: (error: Error) => void;
  /** By `performance.now()`. */
  readonly since: number;
  sent: boolean;
}

const answerMs = 1_000;
/** Between two tries to reach the counter: at first, and at most. */
const firstRetryMs = 50;
const longestRetryMs = 1_000;
/** More than this on its way, in bytes, and nobody is at the other end. */
const tooMuch = 4 * 1_024 * 1_024;
/** Questions that wait for a counter which cannot be reached: beyond them the answer is no at once. */
const mostUnsent = 10_000;
const longestLine = 64 * 1_024 * 1_024;

/**
 * Draws from buckets that the main process keeps for all workers, so that together they allow what is written and no
 * more. What is asked within one turn of the event loop goes there in one message. Without an answer a request is
 * refused: to let it pass would be less protection than was asked for.
 */
export class SharedTokens implements TokenStore {
  private readonly options: SharedTokensOptions;
  private readonly opened = new Map<
    number,
    { readonly place: string; readonly limits: readonly TokenLimit[] }
  >();
  private readonly waiting = new Map<number, Waiting>();
  private unsent: DrawLine[] = [];
  private socket: Socket | undefined;
  private connecting = false;
  private closed = false;
  private flushing = false;
  private lastId = 0;
  private lastQuestion = 0;
  private retryMs = firstRetryMs;
  private retry: NodeJS.Timeout | undefined;
  private looking: NodeJS.Timeout | undefined;
  private failing = false;

  constructor(options: SharedTokensOptions) {
    this.options = options;
  }

  open(place: string, limits: readonly TokenLimit[]): Draws {
    const id = ++this.lastId;
    this.opened.set(id, { place, limits });
    if (this.socket !== undefined) this.socket.write(lineOf({ open: [id, place, limits] }));
    else void this.connect();
    return {
      draw: (keys) => this.draw(id, keys),
      close: () => {
        if (!this.opened.delete(id)) return;
        this.flush();
        this.socket?.write(lineOf({ close: id }));
      },
    };
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.retry);
    clearInterval(this.looking);
    this.socket?.destroy();
    this.refuse(() => true, 'the gateway is shutting down');
  }

  private draw(id: number, keys: readonly string[]): Promise<RateLimitState> {
    if (this.closed) return Promise.reject(unavailable('the gateway is shutting down'));
    if ((this.socket?.writableLength ?? 0) > tooMuch)
      return Promise.reject(unavailable('the counter is behind'));
    if (this.unsent.length >= mostUnsent) return Promise.reject(unavailable('the counter is not there'));
    const question = ++this.lastQuestion;
    return new Promise((resolve, reject) => {
      this.waiting.set(question, { resolve, reject, since: performance.now(), sent: false });
      this.unsent.push([question, id, keys]);
      this.looking ??= setInterval(() => this.look(), answerMs / 4);
      if (this.flushing) return;
      this.flushing = true;
      // After the events of this turn: those of other connections ask along.
      setImmediate(() => this.flush());
    });
  }

  private flush(): void {
    this.flushing = false;
    const { socket } = this;
    if (socket === undefined) return;
    const draw = this.unsent.filter(([question]) => this.waiting.has(question));
    this.unsent = [];
    if (draw.length === 0) return;
    for (const [question] of draw) {
      const waiting = this.waiting.get(question);
      if (waiting !== undefined) waiting.sent = true;
    }
    socket.write(lineOf({ draw }));
  }

  private async connect(): Promise<void> {
    if (this.connecting || this.closed) return;
    this.connecting = true;
    let path: string;
    try {
      path = await this.options.where();
    } catch {
      this.connecting = false;
      this.connectLater();
      return;
    }
    const socket = connect(path);
    socket.on('connect', () => {
      if (this.closed) {
        socket.destroy();
        return;
      }
      this.socket = socket;
      this.retryMs = firstRetryMs;
      socket.write(lineOf({ secret: this.options.secret }));
      for (const [id, { place, limits }] of this.opened) socket.write(lineOf({ open: [id, place, limits] }));
      this.flush();
    });
    hearLines(
      socket,
      () => longestLine,
      ({ drawn }) => {
        for (const [question, allowed, most, left, fillMs, limit] of drawn) {
          this.waiting.get(question)?.resolve({ allowed, most, left, fillMs, limit });
          this.waiting.delete(question);
        }
        if (this.failing) this.options.log.info('Rate limit counter available again');
        this.failing = false;
      },
    );
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.socket = undefined;
      this.connecting = false;
      // Whether their tokens were taken is not known; those that were not sent can still be.
      this.refuse(({ sent }) => sent, 'the counter is gone');
      this.connectLater();
    });
  }

  private connectLater(): void {
    if (this.closed) return;
    clearTimeout(this.retry);
    this.retry = setTimeout(() => void this.connect(), this.retryMs).unref();
    this.retryMs = Math.min(2 * this.retryMs, longestRetryMs);
  }

  /** Refuses requests that wait for too long. */
  private look(): void {
    const oldest = performance.now() - (this.options.answerMs ?? answerMs);
    this.refuse(({ since }) => since < oldest, 'the counter does not answer');
    this.unsent = this.unsent.filter(([question]) => this.waiting.has(question));
    if (this.waiting.size > 0) return;
    clearInterval(this.looking);
    this.looking = undefined;
  }

  private refuse(which: (waiting: Waiting) => boolean, why: string): void {
    let refused = 0;
    for (const [question, waiting] of this.waiting) {
      if (!which(waiting)) continue;
      this.waiting.delete(question);
      waiting.reject(unavailable(why));
      refused++;
    }
    if (refused === 0 || this.failing || this.closed) return;
    this.failing = true;
    this.options.log.error('Rate limit counter unavailable: requests with a rate limit are refused', {
      why,
    });
  }
}

const unavailable = (detail: string): GatewayError => new GatewayError('rate_limit_unavailable', { detail });
