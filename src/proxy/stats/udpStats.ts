import type { Metrics } from '../../telemetry/index.ts';
import { increment } from './counts.ts';
import { routeLabels } from './routeMetrics.ts';
import type { StatsByRoute } from './tcpStats.ts';

/**
 * The reason why a client was forgotten: it was silent for long; its backend refused, or is none any more; the
 * gateway stopped; its address held most of the flows.
 */
export type UdpResult = 'idle' | 'refused' | 'moved' | 'closed' | 'crowded';

/** The reason why a datagram was dropped. */
export type UdpDrop = 'no_backend' | 'too_many' | 'overload' | 'queue' | 'draining' | 'unanswerable';

/** The counters of a UDP route: plain numbers, turned into metrics only when they are read. */
export class UdpStats {
  open = 0;
  receivedDatagrams = 0;
  receivedBytes = 0;
  sentDatagrams = 0;
  sentBytes = 0;
  readonly ended = new Map<UdpResult, number>();
  readonly dropped = new Map<UdpDrop, number>();

  note(result: UdpResult): void {
    this.open--;
    increment(this.ended, result);
  }

  drop(reason: UdpDrop): void {
    increment(this.dropped, reason);
  }
}

export function exposeUdp(metrics: Metrics, all: StatsByRoute<UdpStats>): void {
  const counter = (name: string, help: string, read: (stats: UdpStats) => number): void =>
    metrics.collect(name, help, 'counter', routeLabels, () => all.samples((stats) => [[read(stats)]]));
  const by = (
    name: string,
    help: string,
    label: string,
    read: (stats: UdpStats) => ReadonlyMap<string, number>,
  ): void =>
    metrics.collect(name, help, 'counter', [...routeLabels, label], () =>
      all.samples((stats) => [...read(stats)].map(([key, value]) => [value, { [label]: key }] as const)),
    );
  metrics.collect('udp_flows', 'Clients of UDP routes that are known now.', 'gauge', routeLabels, () =>
    all.samples(({ open }) => [[open]]),
  );
  by('udp_flows_total', 'Clients of UDP routes that were forgotten, by why.', 'result', ({ ended }) => ended);
  counter(
    'udp_received_datagrams_total',
    'Datagrams from clients that were passed on.',
    ({ receivedDatagrams }) => receivedDatagrams,
  );
  counter('udp_received_bytes_total', 'Their bytes.', ({ receivedBytes }) => receivedBytes);
  counter('udp_sent_datagrams_total', 'Datagrams to clients.', ({ sentDatagrams }) => sentDatagrams);
  counter('udp_sent_bytes_total', 'Their bytes.', ({ sentBytes }) => sentBytes);
  by(
    'udp_dropped_datagrams_total',
    'Datagrams that were dropped, by why: no backend, limits.maxUdpFlows, limits.overload, a full queue, a drain, or a port 0 to answer to.',
    'reason',
    ({ dropped }) => dropped,
  );
}
