import type { AcrossProcesses, Labels, Metrics, Sample } from '../telemetry/index.ts';
import type { Destination } from '../upstream/index.ts';
import type { IdentityView } from './ports/serverIdentity.ts';
import { overloadReasons, type Overload, type OverloadLevel } from './load/overload.ts';
import { routeLabels, routeMetrics } from './stats/routeMetrics.ts';
import type { RouteStats, WireStats } from './stats/stats.ts';
import { exposeUpstream } from './stats/upstreamMetrics.ts';

/** The plain numbers of the data plane, read when somebody asks for metrics. */
export interface MetricSources {
  readonly wire: WireStats;
  readonly overload: Overload;
  /** Memory in which answers of HTTP/2 wait for their clients. */
  readonly unread: { readonly held: number };
  readonly routes: () => Iterable<{ readonly labels: Labels; readonly stats: RouteStats }>;
  readonly unrouted: RouteStats;
  readonly destinations: () => Iterable<Destination>;
  readonly identities: () => readonly IdentityView[];
  /** The number of closed routes. */
  readonly broken: () => number;
}

interface Described {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  /** For gauges; `sum` unless given. */
  readonly across?: AcrossProcesses;
}

/** A metric of one number. */
interface Total extends Described {
  readonly value: (sources: MetricSources) => number;
}

/** A metric with a number for each value of its label. */
interface Labelled extends Described {
  readonly label: string;
  readonly values: (sources: MetricSources) => Iterable<readonly [labelValue: string, number: number]>;
}

const levels: Record<OverloadLevel, number> = { none: 0, close: 1, shed: 2 };

/** The metrics of the data plane, in the order of their exposition. */
const planeMetrics: readonly (Total | Labelled)[] = [
  {
    name: 'broken_routes',
    help: 'Routes closed because they could not be prepared.',
    type: 'gauge',
    value: ({ broken }) => broken(),
    // Each worker has the same routes.
    across: 'max',
  },
  {
    name: 'downstream_connections',
    help: 'Open client connections.',
    type: 'gauge',
    value: ({ wire }) => wire.connections,
  },
  {
    name: 'downstream_connections_total',
    help: 'Client connections accepted.',
    type: 'counter',
    value: ({ wire }) => wire.accepted,
  },
  {
    name: 'downstream_connections_refused_total',
    help: 'Client connections refused at limits.maxConnections.',
    type: 'counter',
    value: ({ wire }) => wire.refused,
  },
  {
    name: 'tls_handshakes_total',
    help: 'TLS handshakes with clients by result.',
    type: 'counter',
    label: 'result',
    values: ({ wire }) => wire.handshakes,
  },
  {
    name: 'tls_certificate_expiry_timestamp_seconds',
    help: 'End of the lifetime of a certificate shown to clients.',
    type: 'gauge',
    label: 'certificate',
    values: ({ identities }) =>
      identities().flatMap(({ certificate, expiresAt }) =>
        expiresAt === undefined ? [] : [[certificate, expiresAt / 1_000] as const],
      ),
    across: 'min',
  },
  {
    name: 'accept_failures_total',
    help: 'Connections that the system failed to hand over.',
    type: 'counter',
    value: ({ wire }) => wire.acceptFailures,
  },
  {
    name: 'downstream_connections_ended_total',
    help: 'Client connections that the gateway brought to their end: after so many requests, at their age, because of overload, or because a body came too slowly.',
    type: 'counter',
    label: 'reason',
    values: ({ wire }) => wire.ended,
  },
  {
    name: 'requests_in_flight',
    help: 'Requests under way, tunnels among them.',
    type: 'gauge',
    // The worker that answers a request counts it.
    value: ({ wire }) => wire.requests - wire.relays,
  },
  {
    name: 'mcp_forwarded_requests_total',
    help: 'Requests taken to the worker that holds their MCP session: answered, cancelled by the client, unreachable because the worker had ended, or lost with it.',
    type: 'counter',
    label: 'result',
    values: ({ wire }) => wire.relayed,
  },
  {
    name: 'requests_shed_total',
    help: 'Requests refused with 503 by limits.maxRequests, or by limits.overload because of lag or memory.',
    type: 'counter',
    label: 'reason',
    values: ({ wire }) => wire.shed,
  },
  {
    name: 'overload_level',
    help: '1 while connections end after their request (limits.overload.close…, or no file descriptor left), 2 while new requests are refused, too (shed…).',
    type: 'gauge',
    label: 'reason',
    values: ({ overload }) =>
      overloadReasons.map((reason) => [reason, overload.reason === reason ? levels[overload.level] : 0]),
    across: 'max',
  },
  {
    name: 'overload_lag_seconds',
    help: 'How late the event loop is, by the best of the last three looks.',
    type: 'gauge',
    value: ({ overload }) => overload.load.lagMs / 1_000,
    across: 'max',
  },
  {
    name: 'overload_memory_ratio',
    help: 'Memory in use as a share of what the process may have.',
    type: 'gauge',
    value: ({ overload }) => overload.load.memory,
    across: 'max',
  },
  {
    name: 'unread_answer_bytes',
    help: 'Memory in which answers of HTTP/2 wait for clients to take them.',
    type: 'gauge',
    value: ({ unread }) => unread.held,
  },
  {
    name: 'upgraded_connections',
    help: 'Open client connections that have switched to another protocol, such as WebSocket.',
    type: 'gauge',
    value: ({ wire }) => wire.tunnels,
  },
  {
    name: 'upgraded_connections_total',
    help: 'Client connections that have switched to another protocol.',
    type: 'counter',
    value: ({ wire }) => wire.tunnelled,
  },
  {
    name: 'errors_total',
    help: 'Failures by code of the catalogue.',
    type: 'counter',
    label: 'code',
    values: ({ wire }) => wire.errors,
  },
];

const nowhere = { bind: '', listener: '', route: '' };

/** Registers every metric of the data plane. `sources` is read only when a client asks for the metrics. */
export function exposeMetrics(metrics: Metrics, sources: MetricSources): void {
  for (const { name, help, type, label, read } of routeMetrics)
    metrics.collect(name, help, type, label === undefined ? routeLabels : [...routeLabels, label], () =>
      routeSamples(sources, read),
    );
  for (const metric of planeMetrics) {
    const { name, help, type, across } = metric;
    const labels = 'label' in metric ? [metric.label] : [];
    metrics.collect(name, help, type, labels, () => planeSamples(metric, sources), across);
  }
  exposeUpstream(metrics, sources.destinations);
}

function* routeSamples(
  { unrouted, routes }: MetricSources,
  read: (stats: RouteStats, labels: Labels) => Iterable<Sample>,
): Iterable<Sample> {
  yield* read(unrouted, nowhere);
  for (const { stats, labels } of routes()) yield* read(stats, labels);
}

function* planeSamples(metric: Total | Labelled, sources: MetricSources): Iterable<Sample> {
  if ('value' in metric) yield { labels: {}, value: metric.value(sources) };
  else
    for (const [labelValue, value] of metric.values(sources))
      yield { labels: { [metric.label]: labelValue }, value };
}
