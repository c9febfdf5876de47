import type { Socket } from 'node:net';
import type { ErrorCode, GatewayError } from '../../errors.ts';
import { stackOf } from '../../errorText.ts';
import type { Limits } from '../../model/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type {
  Destination,
  Endpoint,
  UpstreamConnection,
  ExchangeHandler,
  Waiter,
} from '../../upstream/index.ts';
import type { OpenConnection } from '../connections/openConnection.ts';
import type { RawRecord } from '../stats/rawRecord.ts';
import type { TcpResult } from '../stats/tcpStats.ts';
import type { CompiledTcpRoute } from './tcpRoutes.ts';
import { peerOf, type ReportedEnds } from '../connections/reportedEnds.ts';
import { Tunnel, type TunnelClient } from '../connections/tunnel.ts';

/** The functions of its port that a connection of a TCP route needs. */
export interface TcpPort {
  readonly log: Logger;
  readonly limits: Limits;
  /** The reason to refuse new work, if there is one; counted. */
  shed(): string | undefined;
  /** The connection is over: logged. */
  finishedTcp(connection: TcpConnection): void;
  closed(connection: OpenConnection): void;
}

/** The way in which the connection of a client came to a TCP route. */
export interface DetectedTcp {
  /** The socket to read from and write to. */
  readonly socket: Socket;
  /** The connection below, where TLS ends here. */
  readonly raw: Socket | undefined;
  /** The server name that the client asked for, if it spoke TLS. */
  readonly serverName: string | undefined;
  readonly protocol: 'TLS' | 'TCP';
  readonly reported: ReportedEnds | undefined;
}

/**
 * A connection of a TCP route: first a backend is connected to, while the client waits, then bytes pass both
 * ways. Nothing of the client is read before, so that another address can be tried with nothing lost.
 */
export class TcpConnection implements TunnelClient, ExchangeHandler, Waiter {
  readonly socket: Socket;
  /** The client, as the log has it. */
  readonly remoteAddress: string;
  private readonly detected: DetectedTcp;
  private readonly route: CompiledTcpRoute;
  private readonly startedAt = Date.now();
  private readonly startedTick = performance.now();
  /** For the log. */
  private backend: string | undefined;
  /** The time it took to connect. */
  private upstreamMs: number | undefined;
  error: string | undefined;
  private reason: string | undefined;
  private received = 0;
  private sent = 0;
  private readonly port: TcpPort;
  private destination: Destination | undefined;
  private upstream: UpstreamConnection | undefined;
  private tunnel: Tunnel | undefined;
  /** The addresses that could not be connected to. */
  private readonly tried: Endpoint[] = [];
  /** Waits for a connection that the limits allow. */
  private queued = false;
  /** When the tunnel is idle for too long, by `Date.now()`. */
  private deadline = Number.POSITIVE_INFINITY;
  /** When the last byte moved in the tunnel; undefined before there is one. */
  idleSince: number | undefined;
  private lingers = false;
  private gone = false;

  constructor(port: TcpPort, route: CompiledTcpRoute, detected: DetectedTcp) {
    this.port = port;
    this.route = route;
    this.detected = detected;
    this.socket = detected.socket;
    this.remoteAddress = detected.reported?.address ?? peerOf(this.socket);
    route.stats.open++;
  }

  /** For the access log. */
  get record(): Omit<RawRecord, 'bind'> {
    const { startedAt, startedTick, backend, upstreamMs, received, sent, error, reason } = this;
    const { protocol, serverName } = this.detected;
    const { listener, name: route } = this.route;
    const counted = { startedAt, startedTick, upstreamMs, received, sent };
    const client = this.remoteAddress;
    return { protocol, ...counted, listener, route, client, serverName, backend, error, reason };
  }

  /** Looks for a backend. Called once the port knows the connection. */
  start(): void {
    const { socket } = this;
    socket.pause();
    socket.on('data', (bytes: Buffer) => this.guard(() => this.tunnel?.fromClient(bytes)));
    socket.on('drain', () => this.guard(() => this.tunnel?.drained()));
    socket.on('end', () => this.guard(() => this.tunnel?.endOfClient()));
    socket.on('error', () => this.end('client_reset'));
    socket.on('close', () => this.end(this.tunnel?.over === true ? 'ok' : 'client_reset'));
    const shed = this.port.shed();
    if (shed !== undefined) this.refuse('overloaded', shed);
    else this.guard(() => this.connect());
  }

  private connect(): void {
    const drawn = this.route.draw();
    if ('code' in drawn) {
      this.refuse(drawn.code, drawn.detail);
      return;
    }
    this.destination = drawn;
    this.backend = drawn.name;
    const upstream = drawn.take();
    if (upstream !== undefined) {
      this.open(upstream);
      return;
    }
    this.queued = true;
    drawn.wait(this);
  }

  private open(upstream: UpstreamConnection): void {
    this.upstream = upstream;
    upstream.begin(this, false, false);
    if (upstream.connected) this.onConnected();
  }

  // Waiter

  onReady(upstream: UpstreamConnection): void {
    this.queued = false;
    this.open(upstream);
  }

  onRefused(code: ErrorCode, detail: string): void {
    this.queued = false;
    this.refuse(code, detail);
  }

  // ExchangeHandler, until there is a connection

  onConnected(): void {
    const { upstream } = this;
    if (upstream === undefined || this.gone) return;
    this.upstreamMs = performance.now() - this.startedTick;
    this.tunnel = new Tunnel(this, upstream, this.port.limits.bodyTimeoutMs);
    this.touch();
    this.socket.resume();
  }

  onFailure(code: ErrorCode, detail: string): void {
    const { upstream, destination } = this;
    if (upstream === undefined || destination === undefined || this.gone) return;
    this.tried.push(upstream.endpoint);
    const other = destination.takeOther(this.tried);
    if (other !== undefined) {
      this.open(other);
      return;
    }
    upstream.endpoint.stats.failed++;
    this.refuse(code, `${upstream.endpoint.name}: ${detail}`);
  }

  // No byte is read from a backend as HTTP: the tunnel begins with the connection.

  onInformational(): void {
    this.onAnswer();
  }

  onAnswer(): boolean {
    throw new Error('a backend of a TCP route was handled as an HTTP backend');
  }

  onBody(): boolean {
    return this.onAnswer();
  }

  onWritable(): void {
    // No bytes are written before the tunnel.
  }

  // TunnelClient

  touch(): void {
    const { tunnel, port } = this;
    if (tunnel === undefined) return;
    this.idleSince = Date.now();
    this.deadline = this.idleSince + tunnel.patience(port.limits);
  }

  cut(error: GatewayError): void {
    this.error = error.code;
    this.reason = error.detail;
    this.end('backend_reset');
  }

  /** Runs at every tick of the coarse clock. */
  sweep(now: number): void {
    this.count();
    if (this.tunnel?.over === true && !this.lingers) {
      // Only what the client has yet to take is left.
      this.lingers = true;
      this.deadline = Math.min(this.deadline, now + this.port.limits.bodyTimeoutMs);
    }
    if (now < this.deadline) return;
    this.reason = 'no byte moved';
    this.end('idle');
  }

  /** The whole connection is under way: it ends by itself, or when the time of the drain is up. */
  drain(): void {
    // A connection begins no further work.
  }

  destroy(reason = 'the gateway stops'): void {
    this.reason = reason;
    this.end('closed');
  }

  private refuse(code: ErrorCode, detail: string): void {
    this.error = code;
    this.reason = detail;
    this.end('refused');
  }

  private end(result: TcpResult): void {
    if (this.gone) return;
    this.gone = true;
    this.count();
    if (this.queued) this.destination?.waiting.forget(this);
    if (this.tunnel !== undefined) this.tunnel.close();
    else this.upstream?.abandon();
    this.hangUp(result);
    this.route.stats.note(result);
    this.port.finishedTcp(this);
    this.port.closed(this);
  }

  /** A client that got only a part must see that it is incomplete. */
  private hangUp(result: TcpResult): void {
    const { socket } = this;
    if (result === 'backend_reset' || result === 'idle' || result === 'closed') {
      const below = this.detected.raw ?? socket;
      below.resetAndDestroy();
    }
    socket.destroy();
  }

  /** Bytes since the last look. */
  private count(): void {
    const { tunnel } = this;
    if (tunnel === undefined) return;
    const { stats } = this.route;
    stats.received += tunnel.up - this.received;
    stats.sent += tunnel.down - this.sent;
    this.received = tunnel.up;
    this.sent = tunnel.down;
  }

  /** A defect of ours ends this connection, not the process. */
  private guard(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.port.log.error('internal error', { stack: stackOf(error) });
      this.error = 'internal_error';
      this.end('closed');
    }
  }
}
