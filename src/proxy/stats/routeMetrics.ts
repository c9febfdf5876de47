import type { Labels, Sample } from '../../telemetry/index.ts';
import { durationBuckets, type RouteStats } from './stats.ts';

/** The labels that tell routes apart. */
export const routeLabels = ['bind', 'listener', 'route'] as const;

/** A metric that has its numbers for each route. */
export interface RouteMetric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'histogram';
  /** The label beside those of the route. */
  readonly label?: string;
  readonly read: (stats: RouteStats, labels: Labels) => Iterable<Sample>;
}

type Result = readonly [result: string, value: number];

const total =
  (read: (stats: RouteStats) => number): RouteMetric['read'] =>
  (stats, labels) => [{ labels, value: read(stats) }];

const results =
  (read: (stats: RouteStats) => readonly Result[]): RouteMetric['read'] =>
  (stats, labels) =>
    read(stats).map(([result, value]) => ({ labels: { ...labels, result }, value }));

/** A result that never happened has no series. */
const seenResults = (read: (stats: RouteStats) => readonly Result[]): RouteMetric['read'] =>
  results((stats) => read(stats).filter(([, value]) => value !== 0));

/** The metrics of routes, in the order of their exposition. */
export const routeMetrics: readonly RouteMetric[] = [
  {
    name: 'requests_total',
    help: 'Finished requests by route and status; 0: the client left before an answer.',
    type: 'counter',
    label: 'status',
    read: statusSamples,
  },
  {
    name: 'request_duration_seconds',
    help: 'From the end of the request head to the end of the answer.',
    type: 'histogram',
    read: durationSamples,
  },
  {
    name: 'request_bytes_total',
    help: 'Bytes of request bodies received.',
    type: 'counter',
    read: total((stats) => stats.requestBytes),
  },
  {
    name: 'response_bytes_total',
    help: 'Bytes of answers sent.',
    type: 'counter',
    read: total((stats) => stats.responseBytes),
  },
  {
    name: 'retries_total',
    help: 'Further tries of requests: made, or refused by the retry budget.',
    type: 'counter',
    label: 'result',
    read: seenResults((stats) => [
      ['made', stats.retries],
      ['refused', stats.retriesRefused],
    ]),
  },
  {
    name: 'hedges_total',
    help: 'Tries made while another of the same request was under way: won, or lost to another one.',
    type: 'counter',
    label: 'result',
    // After the first hedge both series exist, even where one of them is 0.
    read: results(({ hedges, hedgesWon }) =>
      hedges === 0
        ? []
        : [
            ['won', hedgesWon],
            ['lost', hedges - hedgesWon],
          ],
    ),
  },
  {
    name: 'mirrored_requests_total',
    help: 'Copies of requests for mirrors: sent, or failed on the way.',
    type: 'counter',
    label: 'result',
    read: seenResults((stats) => [
      ['sent', stats.mirrored],
      ['failed', stats.mirrorsFailed],
    ]),
  },
  {
    name: 'session_persistence_total',
    help: 'Answers to sessions of sessionPersistence: kept at their address, begun, or moved because it was gone.',
    type: 'counter',
    label: 'result',
    read: seenResults((stats) => [
      ['kept', stats.sessionsKept],
      ['begun', stats.sessionsBegun],
      ['moved', stats.sessionsMoved],
    ]),
  },
];

function* statusSamples(stats: RouteStats, labels: Labels): Iterable<Sample> {
  for (const [status, value] of stats.byStatus())
    yield { labels: { ...labels, status: String(status) }, value };
}

function* durationSamples(stats: RouteStats, labels: Labels): Iterable<Sample> {
  let count = 0;
  for (const [index, inBucket] of stats.buckets.entries()) {
    count += inBucket;
    const bound = durationBuckets[index];
    yield {
      labels: { ...labels, le: bound === undefined ? '+Inf' : String(bound) },
      value: count,
      suffix: '_bucket',
    };
  }
  yield { labels, value: stats.seconds, suffix: '_sum' };
  yield { labels, value: count, suffix: '_count' };
}
