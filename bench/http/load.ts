import type { Workload } from './workloads.ts';

/** The orders for a load generator. */
export interface Load {
  /** Scheme, host and port. */
  readonly url: string;
  readonly workload: Workload;
  /** Requests under way at the same time. */
  readonly connections: number;
  /** The core it may use. */
  readonly core: number;
  readonly seconds: number;
  /** Bearer token of every request. */
  readonly token?: string;
  /** So many routes are asked in turn. */
  readonly routes?: number;
}

/** The counts of the load generator. */
export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  /** Answers that were not 2xx or 3xx, and broken connections. */
  readonly failed: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

/** The p50 and p99 of times in any order. */
export function quantiles(times: number[]): { readonly p50: number; readonly p99: number } {
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(times.length * share)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

/** Some ten header lines, as a browser or an agent sends; `wrk.lua` has the same. */
export const requestHeaders: readonly (readonly [string, string])[] = [
  [
    'User-Agent',
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36',
  ],
  ['Accept', 'application/json, text/event-stream;q=0.9, */*;q=0.8'],
  ['Accept-Language', 'en-GB,en;q=0.9,de;q=0.8'],
  ['Accept-Encoding', 'gzip, deflate, br, zstd'],
  ['Cookie', 'session=3f2a9c71d0b84e6f9a5c1d7e8b02f463; theme=dark; consent=1'],
  ['Referer', 'https://www.example.com/orders?page=2'],
  ['Traceparent', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'],
  ['Cache-Control', 'no-cache'],
];
