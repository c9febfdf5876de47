import type { Metrics, Sample } from '../../telemetry/index.ts';
import type { Destination, Endpoint } from '../../upstream/index.ts';

type Kind = 'counter' | 'gauge';

/** Name, meaning, kind and where the number is: one for each address of a backend. */
const ofEndpoints: readonly (readonly [
  name: string,
  help: string,
  kind: Kind,
  read: (at: Endpoint, of: Destination) => number,
])[] = [
  ['upstream_connections', 'Open connections to a backend.', 'gauge', (at) => at.connections],
  ['upstream_connections_total', 'Connections opened to a backend.', 'counter', (at) => at.stats.opened],
  [
    'upstream_connect_failures_total',
    'Connections to a backend that could not be made, TLS included.',
    'counter',
    (at) => at.stats.connectFailed,
  ],
  [
    'upstream_failures_total',
    'Requests that failed at a backend without an answer.',
    'counter',
    (at) => at.stats.failed,
  ],
  [
    'upstream_endpoint_ready',
    '1 where requests may go to the address now.',
    'gauge',
    (at, of) => (of.isReady(at) ? 1 : 0),
  ],
  [
    'upstream_ejections_total',
    'Times the address was left out for its failures.',
    'counter',
    (at) => at.health.ejections,
  ],
];

const ofDestinations: readonly (readonly [
  name: string,
  help: string,
  kind: Kind,
  read: (of: Destination) => number,
])[] = [
  [
    'upstream_moved_total',
    'Requests that went to another address because no connection could be made to the first.',
    'counter',
    (of) => of.moved,
  ],
  ['upstream_pending_requests', 'Requests that wait for a connection.', 'gauge', (of) => of.waiting.length],
  [
    'upstream_overloaded_total',
    'Requests refused because of the limits of connections.',
    'counter',
    (of) => of.waiting.refused,
  ],
];

export function exposeUpstream(metrics: Metrics, destinations: () => Iterable<Destination>): void {
  for (const [name, help, kind, read] of ofEndpoints)
    collect(metrics, name, help, kind, ['backend', 'endpoint'], function* () {
      for (const of of destinations())
        for (const at of of.endpoints())
          yield { labels: { backend: of.name, endpoint: at.name }, value: read(at, of) };
    });
  for (const [name, help, kind, read] of ofDestinations)
    collect(metrics, name, help, kind, ['backend'], function* () {
      for (const of of destinations()) yield { labels: { backend: of.name }, value: read(of) };
    });
  collect(
    metrics,
    'upstream_health_checks_total',
    'Health checks of an address.',
    'counter',
    ['backend', 'endpoint', 'result'],
    function* () {
      for (const of of destinations())
        for (const { name, stats } of of.endpoints()) {
          if (stats.checksPassed + stats.checksFailed === 0) continue;
          const labels = { backend: of.name, endpoint: name };
          yield { labels: { ...labels, result: 'passed' }, value: stats.checksPassed };
          yield { labels: { ...labels, result: 'failed' }, value: stats.checksFailed };
        }
    },
  );
  collect(
    metrics,
    'upstream_lookups_total',
    'Looks at the names of a backend.',
    'counter',
    ['backend', 'result'],
    function* () {
      for (const { name, resolution } of destinations()) {
        if (resolution.found + resolution.failed === 0) continue;
        yield { labels: { backend: name, result: 'found' }, value: resolution.found };
        yield { labels: { backend: name, result: 'failed' }, value: resolution.failed };
      }
    },
  );
}

/** Several backends may have an address in common and differ in their TLS: a series must come once only. */
function collect(
  metrics: Metrics,
  name: string,
  help: string,
  kind: Kind,
  labels: readonly string[],
  samples: () => Iterable<Sample>,
): void {
  // An address that one worker leaves out shows, whatever the others think of it.
  const across = name.endsWith('_ready') ? 'min' : 'sum';
  const read = (): Iterable<Sample> => {
    const sums = new Map<string, { labels: Sample['labels']; value: number }>();
    for (const sample of samples()) {
      const key = JSON.stringify(sample.labels);
      const sum = sums.get(key);
      if (sum === undefined) sums.set(key, { labels: sample.labels, value: sample.value });
      else sum.value = name.endsWith('_ready') ? Math.max(sum.value, sample.value) : sum.value + sample.value;
    }
    return sums.values();
  };
  metrics.collect(name, help, kind, labels, read, across);
}
