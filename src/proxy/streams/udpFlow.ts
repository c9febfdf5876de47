import { createSocket, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import type { DatagramAddress, DatagramDestination } from '../../upstream/index.ts';
import type { RawRecord } from '../stats/rawRecord.ts';
import { peerOf } from '../connections/reportedEnds.ts';
import type { UdpResult, UdpStats } from '../stats/udpStats.ts';

/** Datagrams kept while the backend is looked up. */
const WAITING_MOST = 16;

/** Bytes that the system has not taken yet: what comes on top is dropped, as on any full line. */
export const QUEUE_MOST = 4_194_304;

/** The calls of a flow to its port. */
export interface FlowOwner {
  /** Datagram for the client. @returns false where it was dropped */
  answer(bytes: Buffer, flow: UdpFlow): boolean;
  ended(flow: UdpFlow, result: UdpResult): void;
}

/** The client that sends the datagrams. */
export interface UdpClient {
  readonly address: string;
  readonly port: number;
}

/**
 * The datagrams of one client: they leave from a socket of their own, so that what comes back there is for that
 * client. The socket takes only what the backend sends.
 */
export class UdpFlow {
  readonly client: UdpClient;
  readonly destination: DatagramDestination;
  readonly backend: DatagramAddress;
  private readonly stats: UdpStats;
  private readonly listener: string;
  private readonly route: string;
  private readonly startedAt = Date.now();
  private readonly startedTick = performance.now();
  /** When a datagram came or went last, by `Date.now()`. */
  lastAt = Date.now();
  private received = 0;
  private sent = 0;
  private readonly owner: FlowOwner;
  private readonly socket: Socket;
  /** Until the socket knows where to send to. */
  private waiting: Buffer[] | undefined = [];
  private over = false;

  constructor(
    owner: FlowOwner,
    client: UdpClient,
    route: { readonly name: string; readonly listener: string; readonly stats: UdpStats },
    destination: DatagramDestination,
    backend: DatagramAddress,
  ) {
    this.owner = owner;
    this.client = client;
    this.destination = destination;
    this.backend = backend;
    this.stats = route.stats;
    this.listener = route.listener;
    this.route = route.name;
    this.stats.open++;
    this.socket = createSocket(isIPv6(backend.host) ? 'udp6' : 'udp4');
    this.socket.on('message', (bytes) => this.onAnswer(bytes));
    // The backend's port is closed (ICMP), or the name has no address.
    this.socket.on('error', () => this.fail());
    this.socket.on('connect', () => this.onConnected());
    this.socket.connect(backend.port, backend.host);
  }

  /** For its share of the limit. */
  get remoteAddress(): string {
    return peerOf({ remoteAddress: this.client.address });
  }

  get idleSince(): number {
    return this.lastAt;
  }

  /** For the access log. */
  get record(): Pick<
    RawRecord,
    'protocol' | 'startedAt' | 'startedTick' | 'listener' | 'route' | 'received' | 'sent'
  > {
    const { startedAt, startedTick, listener, route, received, sent } = this;
    return { protocol: 'UDP', startedAt, startedTick, listener, route, received, sent };
  }

  /** A datagram of the client. */
  send(bytes: Buffer): void {
    this.lastAt = Date.now();
    if (this.waiting !== undefined) {
      if (this.waiting.length < WAITING_MOST) this.waiting.push(bytes);
      else this.stats.drop('queue');
      return;
    }
    if (this.socket.getSendQueueSize() > QUEUE_MOST) {
      this.stats.drop('queue');
      return;
    }
    this.stats.receivedDatagrams++;
    this.stats.receivedBytes += bytes.length;
    this.received += bytes.length;
    this.socket.send(bytes, this.onSent);
  }

  end(result: UdpResult): void {
    if (this.over) return;
    this.over = true;
    this.waiting = undefined;
    this.socket.close();
    this.stats.note(result);
    this.owner.ended(this, result);
  }

  /** A datagram too large for the way is lost, and nothing else; others mean that nobody listens. */
  private readonly onSent = (error: NodeJS.ErrnoException | null): void => {
    if (error === null || this.over) return;
    if (error.code === 'ECONNREFUSED') this.fail();
    else this.stats.drop('queue');
  };

  private fail(): void {
    this.destination.refused(this.backend);
    this.end('refused');
  }

  private onConnected(): void {
    const { waiting } = this;
    if (this.over || waiting === undefined) return;
    this.waiting = undefined;
    for (const bytes of waiting) this.send(bytes);
  }

  private onAnswer(bytes: Buffer): void {
    if (this.over) return;
    this.lastAt = Date.now();
    let taken: boolean;
    try {
      taken = this.owner.answer(bytes, this);
    } catch {
      // An error that is thrown in there costs this client's flow, not the process.
      this.end('closed');
      return;
    }
    if (!taken) {
      this.stats.drop('queue');
      return;
    }
    this.stats.sentDatagrams++;
    this.stats.sentBytes += bytes.length;
    this.sent += bytes.length;
  }
}
