import { totalmem } from 'node:os';
import { stackOf } from '../../errorText.ts';
import { longestIdleOfLargest, type Held } from '../../http/index.ts';
import { LogThrottle, type Logger } from '../../telemetry/index.ts';
import { collectSoon } from './collectGarbage.ts';
import { grantedMemory } from './overload.ts';
import { defer } from './defer.ts';

/** A stream whose client does not take its answer; `idleSince` is when it took something last. */
export interface UnreadStream extends Held {
  /** Ends the stream. */
  evict(): void;
}

/** Share of the memory that answers may wait in, where the configuration does not say. */
const SHARE = 0.25;
const LEAST = 67_108_864;
/** Freed bytes that a collection of garbage is worth its time for. */
const WORTH_COLLECTING = 67_108_864;
/** From there to the collection. */
const SETTLED_MS = 2_000;
/** Share of the streams that gives way at a time. */
const BATCH = 0.1;

/** Bytes that answers may wait in where the configuration leaves it to the gateway. */
export const defaultLimit = (memory: number = grantedMemory() ?? totalmem()): number =>
  Math.max(LEAST, Math.floor(memory * SHARE));

/**
 * The memory in which answers of HTTP/2 wait for their clients, all connections together. A client that opens streams
 * and takes nothing makes the gateway hold a read of each. Above the limit the streams of the address that holds most
 * end, those first that have taken nothing for longest.
 */
export class UnreadResponses {
  /** Bytes; pages count whole. */
  held = 0;
  /** 0 leaves it to `usualMost`. */
  most = 0;
  private readonly log: Logger;
  private readonly all: () => Iterable<UnreadStream>;
  private readonly usual = defaultLimit();
  private readonly endedLog = new LogThrottle();
  private due = false;
  /** Bytes freed since the last collection was asked for. */
  private garbage = 0;
  private readonly collect: () => void;
  private timer: NodeJS.Timeout | undefined;

  /**
   * @param all every stream with bytes that wait
   * @param collect asks for a collection of garbage
   */
  constructor(log: Logger, all: () => Iterable<UnreadStream>, collect: () => void = collectSoon) {
    this.collect = collect;
    this.log = log;
    this.all = all;
  }

  private get limit(): number {
    return this.most === 0 ? this.usual : this.most;
  }

  change(bytes: number): void {
    this.held += bytes;
    if (bytes < 0) this.freed(-bytes);
    if (bytes <= 0 || this.due || this.held <= this.limit) return;
    // Not in the middle of what a stream is doing.
    this.due = true;
    defer(this);
  }

  /** Freed memory is garbage until the runtime looks for it, which an idle process would not. */
  private freed(bytes: number): void {
    this.garbage += bytes;
    if (this.garbage < WORTH_COLLECTING || this.timer !== undefined) return;
    // Not at once: what comes to its end together is collected together.
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.garbage = 0;
      this.collect();
    }, SETTLED_MS).unref();
  }

  close(): void {
    clearTimeout(this.timer);
  }

  runDeferred(): void {
    this.due = false;
    const { limit, held } = this;
    let ended = 0;
    let holder = '';
    while (this.held > limit) {
      const streams = [...this.all()];
      const largest = longestIdleOfLargest(streams, Math.max(1, Math.floor(streams.length * BATCH)));
      if (largest === undefined) break;
      holder = largest.holder;
      ended += largest.longestIdle.length;
      for (const stream of largest.longestIdle) stream.evict();
    }
    if (ended > 0 && this.endedLog.take())
      this.log.warn('HTTP/2 streams reset: unread responses exceed limits.maxUnreadBytes', {
        held,
        limit,
        holder,
        ended,
      });
  }

  broken(error: unknown): void {
    this.log.error('internal error', { stack: stackOf(error) });
  }
}
