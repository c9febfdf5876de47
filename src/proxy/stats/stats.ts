import { increment } from './counts.ts';

/** Upper bounds of the duration histogram, in seconds. */
export const durationBuckets = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
] as const;

/** Numbers of one route, in a row of a table that many routes share; the first ones are written for each request. */
const SECONDS = 0;
const REQUEST_BYTES = 1;
const RESPONSE_BYTES = 2;
const USUAL = 3;
const BUCKETS = 4;
const BUCKETS_LENGTH = durationBuckets.length + 1;
const ROW = BUCKETS + BUCKETS_LENGTH;
const ROWS = 64;

/** Rows of a table that are in nobody's use yet. */
let rows = { table: new Float64Array(ROW * ROWS), used: 0 };

/**
 * The counters of a route: plain numbers, turned into metrics only when they are read. They lie side by side,
 * because with thousands of routes a request finds none of them in a cache.
 */
export class RouteStats {
  private readonly table: Float64Array;
  private readonly at: number;
  /** The status that came first is mostly the one that comes always; the others are counted apart. */
  private usual = -1;
  private unusual: Map<number, number> | undefined;
  /** Further tries of requests, and those that the budget did not allow. */
  retries = 0;
  retriesRefused = 0;
  /** Tries made while another was under way, and those of them whose answer was the first. */
  hedges = 0;
  hedgesWon = 0;
  /** Copies sent to mirrors, and those that were not delivered. */
  mirrored = 0;
  mirrorsFailed = 0;
  /** Answers to sessions that stayed where they were, to new ones, and to those whose address was gone. */
  sessionsKept = 0;
  sessionsBegun = 0;
  sessionsMoved = 0;

  constructor() {
    if (rows.used === ROWS) rows = { table: new Float64Array(ROW * ROWS), used: 0 };
    this.table = rows.table;
    this.at = ROW * rows.used++;
  }

  /** Counts a finished exchange; `status` 0 stands for a client that left before an answer. */
  note(status: number, milliseconds: number, requestBytes: number, responseBytes: number): void {
    const { table, at } = this;
    const seconds = milliseconds / 1000;
    if (this.usual === -1) this.usual = status;
    if (status === this.usual) add(table, at + USUAL, 1);
    else {
      this.unusual ??= new Map();
      increment(this.unusual, status);
    }
    let bucket = 0;
    while (bucket < durationBuckets.length && seconds > (durationBuckets[bucket] as number)) bucket++;
    add(table, at + BUCKETS + bucket, 1);
    add(table, at + SECONDS, seconds);
    add(table, at + REQUEST_BYTES, requestBytes);
    add(table, at + RESPONSE_BYTES, responseBytes);
  }

  /** Requests by their status. */
  *byStatus(): Iterable<readonly [status: number, requests: number]> {
    if (this.usual !== -1) yield [this.usual, this.number(USUAL)];
    if (this.unusual !== undefined) yield* this.unusual;
  }

  /** Requests by the time they took; the last bucket is for those that took longer than all bounds. */
  get buckets(): Float64Array {
    const from = this.at + BUCKETS;
    return this.table.subarray(from, from + BUCKETS_LENGTH);
  }

  get seconds(): number {
    return this.number(SECONDS);
  }

  get requestBytes(): number {
    return this.number(REQUEST_BYTES);
  }

  get responseBytes(): number {
    return this.number(RESPONSE_BYTES);
  }

  private number(which: number): number {
    return this.table[this.at + which] as number;
  }
}

function add(table: Float64Array, at: number, amount: number): void {
  table[at] = (table[at] as number) + amount;
}

/**
 * The result of a request for the worker that holds its session: it answered, was not there any more, ended while
 * the request was under way, or the client left.
 */
export type RelayOutcome = 'answered' | 'unreachable' | 'lost' | 'cancelled';

/** The reason why the gateway ends a connection that could have served further requests, or the present one. */
export type EndReason =
  'requests' | 'age' | 'overload' | 'rate' | 'flood' | 'keepalive' | 'upgrade' | 'silent' | 'crowded';

/** Counters of the downstream side of the process. */
export interface WireStats {
  connections: number;
  accepted: number;
  refused: number;
  /** Connections that the system failed to hand over. */
  acceptFailures: number;
  /** Exchanges under way. */
  requests: number;
  /** The requests that another worker answers, and their results. */
  relays: number;
  readonly relayed: Map<RelayOutcome, number>;
  /** Requests refused because there was too much to do, by what was too much. */
  readonly shed: Map<string, number>;
  /** Connections that the gateway has brought to their end, by reason. */
  readonly ended: Map<string, number>;
  /** Connections that are tunnels now, and that have become one since the start. */
  tunnels: number;
  tunnelled: number;
  /** Ends of TLS handshakes by what came of them. */
  readonly handshakes: Map<string, number>;
  /** Failures by code of the catalogue. */
  readonly errors: Map<string, number>;
}
