import type { Metrics } from '../../telemetry/index.ts';
import { increment } from './counts.ts';
import { exposeTcp, StatsByRoute, TcpStats } from './tcpStats.ts';
import { exposeUdp, UdpStats } from './udpStats.ts';

/**
 * The result for the PROXY header of a connection: it named a client, or no client in particular; it was absent
 * and optional; it, or its absence, was refused; it did not arrive in time.
 */
export type ProxyHeaderResult = 'told' | 'local' | 'absent' | 'refused' | 'timeout';

/** Counters of what is not HTTP. */
export class RawStats {
  readonly tcp = new StatsByRoute(() => new TcpStats());
  readonly udp = new StatsByRoute(() => new UdpStats());
  readonly proxyHeaders = new Map<ProxyHeaderResult, number>();

  noteProxyHeader(result: ProxyHeaderResult): void {
    increment(this.proxyHeaders, result);
  }

  expose(metrics: Metrics): void {
    exposeTcp(metrics, this.tcp);
    exposeUdp(metrics, this.udp);
    metrics.collect(
      'proxy_headers_total',
      'Connections to ports with the PROXY protocol, by what became of its header.',
      'counter',
      ['result'],
      () => [...this.proxyHeaders].map(([result, value]) => ({ labels: { result }, value })),
    );
  }
}
