import type { Metrics, Sample } from '../../telemetry/index.ts';
import { increment } from './counts.ts';
import { routeLabels } from './routeMetrics.ts';

/**
 * The way a connection ended: both sides had finished; a side broke off; no byte moved for too long; no backend
 * was available; the gateway stopped.
 */
export type TcpResult = 'ok' | 'client_reset' | 'backend_reset' | 'idle' | 'refused' | 'closed';

/** The counters of a TCP route: plain numbers, turned into metrics only when they are read. */
export class TcpStats {
  open = 0;
  received = 0;
  sent = 0;
  readonly ended = new Map<TcpResult, number>();

  note(result: TcpResult): void {
    this.open--;
    increment(this.ended, result);
  }
}

type Labels = Readonly<Record<'bind' | 'listener' | 'route', string>>;

/** Counters by route; they live longer than snapshots, as long as there is a route of that name. */
export class StatsByRoute<Stats> {
  private readonly make: () => Stats;
  private readonly byKey = new Map<string, { readonly labels: Labels; readonly stats: Stats }>();

  constructor(make: () => Stats) {
    this.make = make;
  }

  of(bind: string, listener: string, route: string): Stats {
    const key = `${bind}\n${listener}\n${route}`;
    let known = this.byKey.get(key);
    if (known === undefined) {
      known = { labels: { bind, listener, route }, stats: this.make() };
      this.byKey.set(key, known);
    }
    return known.stats;
  }

  values(): Iterable<{ readonly labels: Labels; readonly stats: Stats }> {
    return this.byKey.values();
  }

  /** Forgets what no route counts into any more. @param busy something that will still be counted is under way */
  retireOthers(used: ReadonlySet<Stats>, busy: (stats: Stats) => boolean = () => false): void {
    for (const [key, { stats }] of this.byKey) if (!used.has(stats) && !busy(stats)) this.byKey.delete(key);
  }

  *samples(read: (stats: Stats) => Iterable<readonly [value: number, more?: More]>): Iterable<Sample> {
    for (const { labels, stats } of this.byKey.values())
      for (const [value, more] of read(stats)) yield { labels: { ...labels, ...more }, value };
  }
}

type More = Readonly<Record<string, string>>;

export function exposeTcp(metrics: Metrics, all: StatsByRoute<TcpStats>): void {
  metrics.collect('tcp_connections', 'Open connections of TCP routes.', 'gauge', routeLabels, () =>
    all.samples(({ open }) => [[open]]),
  );
  metrics.collect(
    'tcp_connections_total',
    'Connections of TCP routes that have ended, by how.',
    'counter',
    [...routeLabels, 'result'],
    () => all.samples(({ ended }) => [...ended].map(([result, value]) => [value, { result }] as const)),
  );
  metrics.collect(
    'tcp_received_bytes_total',
    'Bytes from clients of TCP routes.',
    'counter',
    routeLabels,
    () => all.samples(({ received }) => [[received]]),
  );
  metrics.collect('tcp_sent_bytes_total', 'Bytes to clients of TCP routes.', 'counter', routeLabels, () =>
    all.samples(({ sent }) => [[sent]]),
  );
}
