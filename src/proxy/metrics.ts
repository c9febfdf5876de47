import type { Metrics, Sample } from '../telemetry/index.ts';
import type { Destination } from '../upstream/index.ts';
import type { IdentityView } from './serverIdentity.ts';
import { overloadReasons, type Overload, type OverloadLevel } from './overload.ts';
import { durationBuckets, type RouteStats, type WireStats } from './stats.ts';
import { exposeUpstream } from './upstreamMetrics.ts';

/** The plain numbers of the data plane, read when somebody asks for metrics. */
export interface MetricSources {
  readonly wire: WireStats;
  readonly overload: Overload;
  /** Memory in which answers of HTTP/2 wait for their clients. */
  readonly unread: { readonly held: number };
  readonly routes: () => Iterable<{
    readonly labels: Readonly<Record<string, string>>;
    readonly stats: RouteStats;
  }>;
  readonly unrouted: RouteStats;
  readonly destinations: () => Iterable<Destination>;
  readonly identities: () => readonly IdentityView[];
  /** How many routes are closed. */
  readonly broken: () => number;
}

const routeLabels = ['bind', 'listener', 'route'] as const;
const nowhere = { bind: '', listener: '', route: '' };

const levels: Record<OverloadLevel, number> = { none: 0, close: 1, shed: 2 };

export function exposeMetrics(metrics: Metrics, sources: MetricSources): void {
  const { wire } = sources;
  const each = function* (
    read: (stats: RouteStats, labels: Readonly<Record<string, string>>) => Iterable<Sample>,
  ): Iterable<Sample> {
    yield* read(sources.unrouted, nowhere);
    for (const { stats, labels } of sources.routes()) yield* read(stats, labels);
  };
  const one = (value: () => number) => (): Iterable<Sample> => [{ labels: {}, value: value() }];

  const counted = (label: string, counts: ReadonlyMap<string, number>) => (): Iterable<Sample> =>
    [...counts].map(([key, value]) => ({ labels: { [label]: key }, value }));

  metrics.collect(
    'requests_total',
    'Finished requests by route and status; 0: the client left before an answer.',
    'counter',
    [...routeLabels, 'status'],
    () =>
      each(function* (stats, labels) {
        for (const [status, value] of stats.byStatus())
          yield { labels: { ...labels, status: String(status) }, value };
      }),
  );
  metrics.collect(
    'request_duration_seconds',
    'From the end of the request head to the end of the answer.',
    'histogram',
    routeLabels,
    () => each(durationSamples),
  );
  metrics.collect('request_bytes_total', 'Bytes of request bodies received.', 'counter', routeLabels, () =>
    each((stats, labels) => [{ labels, value: stats.requestBytes }]),
  );
  metrics.collect('response_bytes_total', 'Bytes of answers sent.', 'counter', routeLabels, () =>
    each((stats, labels) => [{ labels, value: stats.responseBytes }]),
  );
  metrics.collect(
    'retries_total',
    'Further tries of requests: made, or refused by the retry budget.',
    'counter',
    [...routeLabels, 'result'],
    () =>
      each((stats, labels) => [
        ...(stats.retries === 0 ? [] : [{ labels: { ...labels, result: 'made' }, value: stats.retries }]),
        ...(stats.retriesRefused === 0
          ? []
          : [{ labels: { ...labels, result: 'refused' }, value: stats.retriesRefused }]),
      ]),
  );
  metrics.collect(
    'hedges_total',
    'Tries made while another of the same request was under way: won, or lost to another one.',
    'counter',
    [...routeLabels, 'result'],
    () =>
      each((stats, labels) =>
        stats.hedges === 0
          ? []
          : [
              { labels: { ...labels, result: 'won' }, value: stats.hedgesWon },
              { labels: { ...labels, result: 'lost' }, value: stats.hedges - stats.hedgesWon },
            ],
      ),
  );
  metrics.collect(
    'mirrored_requests_total',
    'Copies of requests for mirrors: sent, or failed on the way.',
    'counter',
    [...routeLabels, 'result'],
    () =>
      each((stats, labels) => [
        ...(stats.mirrored === 0 ? [] : [{ labels: { ...labels, result: 'sent' }, value: stats.mirrored }]),
        ...(stats.mirrorsFailed === 0
          ? []
          : [{ labels: { ...labels, result: 'failed' }, value: stats.mirrorsFailed }]),
      ]),
  );
  metrics.collect(
    'session_persistence_total',
    'Answers to sessions of sessionPersistence: kept at their address, begun, or moved because it was gone.',
    'counter',
    [...routeLabels, 'result'],
    () =>
      each((stats, labels) =>
        (
          [
            ['kept', stats.sessionsKept],
            ['begun', stats.sessionsBegun],
            ['moved', stats.sessionsMoved],
          ] as const
        ).flatMap(([result, value]) => (value === 0 ? [] : [{ labels: { ...labels, result }, value }])),
      ),
  );
  // Each worker has the same routes.
  metrics.collect(
    'broken_routes',
    'Routes closed because they could not be prepared.',
    'gauge',
    [],
    one(sources.broken),
    'max',
  );
  metrics.collect(
    'downstream_connections',
    'Open client connections.',
    'gauge',
    [],
    one(() => wire.connections),
  );
  metrics.collect(
    'downstream_connections_total',
    'Client connections accepted.',
    'counter',
    [],
    one(() => wire.accepted),
  );
  metrics.collect(
    'downstream_connections_refused_total',
    'Client connections refused at limits.maxConnections.',
    'counter',
    [],
    one(() => wire.refused),
  );
  metrics.collect(
    'tls_handshakes_total',
    'TLS handshakes with clients by result.',
    'counter',
    ['result'],
    () => [...wire.handshakes].map(([result, value]) => ({ labels: { result }, value })),
  );
  metrics.collect(
    'tls_certificate_expiry_timestamp_seconds',
    'End of the lifetime of a certificate shown to clients.',
    'gauge',
    ['certificate'],
    () =>
      sources
        .identities()
        .flatMap(({ certificate, expiresAt }) =>
          expiresAt === undefined ? [] : [{ labels: { certificate }, value: expiresAt / 1_000 }],
        ),
    'min',
  );
  metrics.collect(
    'accept_failures_total',
    'Connections that the system failed to hand over.',
    'counter',
    [],
    one(() => wire.acceptFailures),
  );
  metrics.collect(
    'downstream_connections_ended_total',
    'Client connections that the gateway brought to their end: after so many requests, at their age, because of overload, or because a body came too slowly.',
    'counter',
    ['reason'],
    counted('reason', wire.ended),
  );
  metrics.collect(
    'requests_in_flight',
    'Requests under way, tunnels among them.',
    'gauge',
    [],
    // Each is counted where it is answered.
    one(() => wire.requests - wire.relays),
  );
  metrics.collect(
    'mcp_forwarded_requests_total',
    'Requests taken to the worker that holds their MCP session: answered, cancelled by the client, unreachable because the worker had ended, or lost with it.',
    'counter',
    ['result'],
    counted('result', wire.relayed),
  );
  metrics.collect(
    'requests_shed_total',
    'Requests refused with 503 by limits.maxRequests, or by limits.overload because of lag or memory.',
    'counter',
    ['reason'],
    counted('reason', wire.shed),
  );
  metrics.collect(
    'overload_level',
    '1 while connections end after their request (limits.overload.close…, or no file descriptor left), 2 while new requests are refused, too (shed…).',
    'gauge',
    ['reason'],
    () =>
      overloadReasons.map((reason) => ({
        labels: { reason },
        value: sources.overload.reason === reason ? levels[sources.overload.level] : 0,
      })),
    'max',
  );
  metrics.collect(
    'overload_lag_seconds',
    'How late the event loop is, by the best of the last three looks.',
    'gauge',
    [],
    one(() => sources.overload.load.lagMs / 1_000),
    'max',
  );
  metrics.collect(
    'overload_memory_ratio',
    'Memory in use as a share of what the process may have.',
    'gauge',
    [],
    one(() => sources.overload.load.memory),
    'max',
  );
  metrics.collect(
    'unread_answer_bytes',
    'Memory in which answers of HTTP/2 wait for clients to take them.',
    'gauge',
    [],
    one(() => sources.unread.held),
  );
  metrics.collect(
    'upgraded_connections',
    'Open client connections that have switched to another protocol, such as WebSocket.',
    'gauge',
    [],
    one(() => wire.tunnels),
  );
  metrics.collect(
    'upgraded_connections_total',
    'Client connections that have switched to another protocol.',
    'counter',
    [],
    one(() => wire.tunnelled),
  );
  metrics.collect('errors_total', 'Failures by code of the catalogue.', 'counter', ['code'], () =>
    [...wire.errors].map(([code, value]) => ({ labels: { code }, value })),
  );
  exposeUpstream(metrics, sources.destinations);
}

function* durationSamples(stats: RouteStats, labels: Readonly<Record<string, string>>): Iterable<Sample> {
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
