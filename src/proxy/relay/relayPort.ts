import type { Socket } from 'node:net';
import type { Limits } from '../../model/index.ts';
import type { ReportedTls } from '../connections/tlsDetails.ts';
import { ClientConnection } from '../http1/clientConnection.ts';
import type { LiveExchange } from '../exchange/liveExchange.ts';
import { Port, type PortTools } from '../ports/port.ts';
import type { RelayHeader } from './relayHeader.ts';

/**
 * The side entrance of a port: requests that came in at another worker's. That one deals with the client, and so it
 * judges how slow a client may be, when its connection has to end, and what was never answered from here.
 */
export class RelayPort extends Port {
  override readonly inner: boolean = true;

  constructor(key: string, limits: Limits, tools: PortTools) {
    super(key, relaxed(limits), undefined, tools);
  }

  override configure(limits: Limits): void {
    super.configure(relaxed(limits), undefined);
  }

  /** Serves a connection of another worker, as the connection of a client that it stands for. */
  admitRelayed(header: RelayHeader, socket: Socket): void {
    const { address, port, localAddress, localPort, version, peer, tls } = header;
    const details: ReportedTls | undefined = tls && {
      listener: tls.listener,
      terms: tls.terms,
      serverName: tls.serverName,
      certificate: tls.certificate,
    };
    const reported = { address, port, localAddress, localPort, version, peer };
    this.add(new ClientConnection(this, socket, details, reported));
  }

  /** Ends when the connections of clients end that are behind it. */
  override drain(): Promise<void> {
    return this.whenEmpty();
  }

  override connectionClosed(): void {
    this.settle();
  }

  override lastRequest(): undefined {
    return undefined;
  }

  override ended(): void {
    // The worker that has the client counts it.
  }

  override finished(exchange: LiveExchange): void {
    // Without an answer of ours the other worker had one of its own, or its client left.
    if (exchange.status === 0) {
      exchange.recorded?.closed();
      this.left();
    } else super.finished(exchange);
  }
}

const relaxed = (limits: Limits): Limits => ({
  ...limits,
  maxHeadBytes: Math.max(limits.maxHeadBytes, limits.http2.maxHeadBytes ?? 0),
  idleTimeoutMs: Number.POSITIVE_INFINITY,
  firstRequestTimeoutMs: Number.POSITIVE_INFINITY,
  // The client's time is up first.
  bodyTimeoutMs: 2 * limits.bodyTimeoutMs,
  minBodyRate: 0,
  maxConnectionAgeMs: 0,
});
