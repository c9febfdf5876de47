import type { Socket } from 'node:net';
import type { Audit } from '../../audit/index.ts';
import type { DecidedBy, ErrorCode } from '../../errors.ts';
import { HeadPool, type Held, type Networks, type LargestHolder } from '../../http/index.ts';
import type { Limits } from '../../model/index.ts';
import { LogThrottle, type AccessLog, type AccessRecord, type Logger } from '../../telemetry/index.ts';
import { exchangeRecord, refusalRecord } from '../exchange/accessRecords.ts';
import { isOf, type TlsDetails } from '../connections/tlsDetails.ts';
import type { ConnectionPort } from '../http1/clientSocket.ts';
import { ClientConnection } from '../http1/clientConnection.ts';
import { increment } from '../stats/counts.ts';
import { Http2Session } from '../http2/http2Session.ts';
import {
  ProtocolDetector,
  type Detection,
  type DetectorPort,
  type DetectionResult,
} from './protocolDetector.ts';
import type { LiveExchange } from '../exchange/liveExchange.ts';
import { recordEnd } from '../exchange/requestAudit.ts';
import { Listening, type SocketHandle } from './portSocketListening.ts';
import type { Live } from '../snapshot/live.ts';
import type { OpenConnection } from '../connections/openConnection.ts';
import type { Overload } from '../load/overload.ts';
import { rawRecord } from '../stats/rawRecord.ts';
import type { ProxyHeaderResult, RawStats } from '../stats/rawStats.ts';
import type { EndReason, RouteStats, WireStats } from '../stats/stats.ts';
import { TcpConnection, type DetectedTcp, type TcpPort } from '../streams/tcpConnection.ts';
import type { CompiledTcpRoute } from '../streams/tcpRoutes.ts';
import { peerOf, type ReportedEnds } from '../connections/reportedEnds.ts';
import type { RequestLogExport } from '../exchange/requestLogExport.ts';
import type { RequestTracing } from '../exchange/requestTracing.ts';
import type { UnreadStream } from '../load/unreadResponses.ts';

/** The parts that ports share. */
export interface PortTools {
  readonly live: Live;
  readonly log: Logger;
  readonly accessLog: () => AccessLog | undefined;
  /** Logs bytes that were no request, wherever lines of the access log go. */
  readonly writeRaw: (record: () => AccessRecord) => void;
  /** Absent: the access log is only written. */
  readonly logExport: RequestLogExport | undefined;
  /** Absent where nothing is recorded. */
  readonly audit: Audit | undefined;
  readonly wire: WireStats;
  readonly raw: RawStats;
  /** Counts what no route of a listener took. */
  readonly unrouted: RouteStats;
  readonly overload: Overload;
  /** The proxies that may state the client address; swapped with the model. */
  readonly proxies: { trusted: Networks | undefined };
  /** Looks at every request that is about to end. */
  readonly observe: ((exchange: LiveExchange) => void) | undefined;
  readonly expressionFailed: (by: DecidedBy, reason: string) => void;
  readonly refusedLate: (exchange: LiveExchange, by: DecidedBy) => void;
  /** Absent where nothing is traced. */
  readonly tracing: RequestTracing | undefined;
  readonly unread: (bytes: number) => void;
  /** The connections of all ports that give way to a new one; asked before it is counted. */
  readonly makeRoom: (open: number, most: number) => LargestHolder<CountedConnection> | undefined;
}

/** A connection that counts against the limit, admitted or not. */
export type CountedConnection = Held & { destroy(reason?: string): void };

const SWEEP_MS = 500;

/**
 * A bound port: its socket, its connections, and the coarse clock that ends the slow ones. What connections and
 * exchanges want of it stands with them: `DetectorPort`, `ConnectionPort`, `ExchangePort`, `TcpPort`.
 */
export class Port implements ConnectionPort, DetectorPort, TcpPort {
  readonly key: string;
  readonly inner: boolean = false;
  readonly log: Logger;
  heads: HeadPool;
  limits: Limits;
  private detection: Detection | undefined;
  protected readonly tools: PortTools;
  private readonly listening: Listening;
  private readonly connections = new Set<OpenConnection>();
  /** Connections that are not yet anybody's. */
  private readonly detecting = new Set<ProtocolDetector>();
  private readonly timer: NodeJS.Timeout;
  private draining = false;
  /** Every connection gets one more request. */
  private leaving = false;
  private readonly settled: (() => void)[] = [];
  private readonly acceptLog = new LogThrottle();
  private acceptFailures = 0;
  private readonly proxyLog = new LogThrottle();
  private readonly refusedLog = new LogThrottle();
  private readonly largestHolderLog = new LogThrottle();

  constructor(key: string, limits: Limits, detection: Detection | undefined, tools: PortTools) {
    this.key = key;
    this.log = tools.log;
    this.limits = limits;
    this.detection = detection;
    this.heads = new HeadPool(limits.maxHeaders);
    this.tools = tools;
    this.listening = new Listening(
      (socket) => this.accept(socket),
      (error) => this.acceptFailed(error),
    );
    this.timer = setInterval(() => this.sweep(), SWEEP_MS);
    this.timer.unref();
  }

  /**
   * Binds on one address, or on all of them: IPv4 alone where IPv6 is off. Connections wait until `begin`.
   * @throws the system's error, as EADDRINUSE
   */
  async listen(port: number, address?: string): Promise<number> {
    await this.listening.open(port, address);
    return this.port;
  }

  /**
   * Accepts on a socket that another process holds open.
   * @throws the system's error
   */
  take(handle: SocketHandle): Promise<void> {
    return this.listening.take(handle);
  }

  /** There is a snapshot that knows this port: whoever waits is served. */
  begin(): void {
    this.listening.begin();
  }

  /** Accepts no more on a socket that was taken. */
  release(handle: SocketHandle): void {
    this.listening.release(handle);
  }

  get audit(): Audit | undefined {
    return this.tools.audit;
  }

  get trustedProxies(): Networks | undefined {
    return this.tools.proxies.trusted;
  }

  get port(): number {
    return this.listening.port;
  }

  get open(): number {
    return this.connections.size + this.detecting.size;
  }

  unread(bytes: number): void {
    this.tools.unread(bytes);
  }

  *unreadStreams(): Iterable<UnreadStream> {
    for (const connection of this.connections) yield* connection.unreadStreams?.() ?? [];
  }

  /** Every connection that counts against the limit. */
  *counted(): Iterable<CountedConnection> {
    yield* this.detecting;
    yield* this.connections;
  }

  configure(limits: Limits, detection: Detection | undefined): void {
    this.detection = detection;
    if (limits.maxHeaders !== this.limits.maxHeaders) this.heads = new HeadPool(limits.maxHeaders);
    this.limits = limits;
  }

  enter(): ReturnType<Live['enter']> {
    this.tools.wire.requests++;
    return this.tools.live.enter();
  }

  keepLongLived(exchange: LiveExchange, end: () => void): () => void {
    return this.tools.live.longLived.add(exchange, end);
  }

  tooMuch(): string | undefined {
    const { wire } = this.tools;
    const shed = this.shed();
    if (shed !== undefined || wire.requests <= this.limits.maxRequests) return shed;
    increment(wire.shed, 'maxRequests');
    return 'limits.maxRequests';
  }

  lastRequest(served: number): EndReason | undefined {
    const { maxRequestsPerConnection } = this.limits;
    if (maxRequestsPerConnection !== 0 && served >= maxRequestsPerConnection) return 'requests';
    if (this.leaving) return 'upgrade';
    return this.tools.overload.level === 'none' ? undefined : 'overload';
  }

  ended(reason: EndReason): void {
    increment(this.tools.wire.ended, reason);
  }

  /** Takes no more connections. */
  stopAccepting(): void {
    this.listening.close();
  }

  /**
   * Lets running exchanges end; resolves when the last connection is gone.
   * @param patienceMs idle connections get so long for one more request: a request that crosses the end of its
   *   connection is lost, and the answer to one says that it was the last
   */
  drain(patienceMs = 0): Promise<void> {
    this.stopAccepting();
    this.leaving = true;
    if (patienceMs === 0) this.endIdle();
    else setTimeout(() => this.endIdle(), patienceMs).unref();
    return this.whenEmpty();
  }

  private endIdle(): void {
    this.draining = true;
    for (const connection of this.connections) connection.drain();
  }

  /**
   * Ends the connections whose handshake would now end at another listener or under other terms, each after the
   * exchange under way: further requests on them would be refused.
   */
  endMoved(): void {
    for (const connection of this.connections) if (this.hasMoved(connection)) connection.drain();
  }

  /** Ends everything now. */
  destroy(): void {
    this.stopAccepting();
    clearInterval(this.timer);
    for (const detector of this.detecting) detector.destroy();
    for (const connection of this.connections) connection.destroy();
  }

  closed(connection: OpenConnection): void {
    if (this.connections.delete(connection)) this.connectionClosed();
  }

  connectionClosed(): void {
    this.tools.wire.connections--;
    this.settle();
  }

  detected(detector: ProtocolDetector, entry: DetectionResult | undefined): void {
    this.detecting.delete(detector);
    if (entry !== undefined) increment(this.tools.wire.handshakes, entry);
  }

  admit(socket: Socket, tls: TlsDetails | undefined, reported: ReportedEnds | undefined): void {
    const connection =
      tls?.secure?.alpnProtocol === 'h2'
        ? new Http2Session(this, socket, tls, reported)
        : new ClientConnection(this, socket, tls, reported);
    this.add(connection);
    // The configuration may have changed during the handshake.
    if (this.hasMoved(connection)) connection.drain();
  }

  admitHttp2(connection: ClientConnection, socket: Socket): void {
    this.connections.delete(connection);
    this.add(new Http2Session(this, socket, undefined, connection.reported));
  }

  proxyHeader(result: ProxyHeaderResult, problem?: string): void {
    this.tools.raw.noteProxyHeader(result);
    if (problem === undefined || !this.proxyLog.take()) return;
    this.log.warn('Connections closed: missing or invalid PROXY header', { bind: this.key, problem });
  }

  routesTcp(listener: string, serverName: string | undefined, handshake: boolean): boolean {
    const route = this.tcpRoute(listener, serverName);
    return route !== undefined && !(handshake && route.closed);
  }

  admitTcp(listener: string, tls: DetectedTcp): void {
    const route = this.tcpRoute(listener, tls.serverName);
    if (route === undefined) {
      // There is no such route, or no longer: the configuration may have changed during the handshake.
      tls.socket.destroy();
      this.connectionClosed();
      return;
    }
    const connection = new TcpConnection(this, route, tls);
    this.add(connection);
    connection.start();
  }

  shed(): string | undefined {
    const { wire, overload } = this.tools;
    if (overload.level !== 'shed') return undefined;
    increment(wire.shed, overload.reason);
    return `limits.overload: ${overload.reason}`;
  }

  finishedTcp(connection: TcpConnection): void {
    if (connection.error !== undefined) this.count(connection.error);
    this.tools.writeRaw(() => rawRecord({ bind: this.key, ...connection.record }));
  }

  get expressionFailed(): PortTools['expressionFailed'] {
    return this.tools.expressionFailed;
  }

  get refusedLate(): PortTools['refusedLate'] {
    return this.tools.refusedLate;
  }

  get tracing(): PortTools['tracing'] {
    return this.tools.tracing;
  }

  get observe(): PortTools['observe'] {
    return this.tools.observe;
  }

  tunnelOpened(): void {
    this.tools.wire.tunnels++;
    this.tools.wire.tunnelled++;
  }

  tunnelClosed(): void {
    this.tools.wire.tunnels--;
  }

  finished(exchange: LiveExchange): void {
    this.left();
    if (this.tools.audit !== undefined) recordEnd(exchange, this.tools.audit);
    if (exchange.relayed) {
      if (exchange.error !== undefined) this.count(exchange.error);
      return;
    }
    const ms = performance.now() - exchange.startedTick;
    (exchange.route?.stats ?? this.tools.unrouted).note(
      exchange.status,
      ms,
      exchange.requestBytes,
      exchange.responseBytes,
    );
    if (exchange.error !== undefined) this.count(exchange.error);
    if (!exchange.unlogged) this.tools.accessLog()?.write(exchangeRecord(exchange, this.key, ms));
    this.tools.logExport?.finished(exchange, this.key, ms);
  }

  refused(
    connection: { readonly remoteAddress: string },
    code: ErrorCode,
    reason: string,
    status?: number,
  ): void {
    this.count(code);
    this.tools.writeRaw(() => refusalRecord(connection.remoteAddress, this.key, code, reason, status));
  }

  private count(code: string): void {
    increment(this.tools.wire.errors, code);
  }

  /** Resolves when the last connection is gone. */
  protected whenEmpty(): Promise<void> {
    return this.open === 0 ? Promise.resolve() : new Promise((resolve) => void this.settled.push(resolve));
  }

  protected settle(): void {
    if (this.open === 0) for (const settle of this.settled.splice(0)) settle();
  }

  /** A request less. */
  protected left(): void {
    this.tools.wire.requests--;
  }

  protected add(connection: OpenConnection): void {
    this.connections.add(connection);
    if (this.draining) connection.drain();
  }

  private accept(socket: Socket): void {
    const { wire } = this.tools;
    wire.accepted++;
    const { maxConnections } = this.limits;
    const largest = this.tools.makeRoom(wire.connections, maxConnections);
    if (largest !== undefined) this.endLongestIdle(largest);
    if (wire.connections >= maxConnections) {
      wire.refused++;
      if (this.refusedLog.take())
        this.log.warn('Connections refused: limits.maxConnections are open', {
          bind: this.key,
          maxConnections,
          client: peerOf(socket),
        });
      socket.on('error', () => socket.destroy());
      if (this.detection !== undefined && !this.detection.plain) {
        socket.destroy();
        return;
      }
      socket.end(
        'HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n',
      );
      socket.destroySoon();
      return;
    }
    wire.connections++;
    const { enabled, timeMs, intervalMs, retries } = this.limits.clientKeepAlive;
    if (enabled) socket.setKeepAlive(true, timeMs, intervalMs, retries);
    const { detection } = this;
    if (detection === undefined) this.admit(socket, undefined, undefined);
    else if (detection.tcp !== undefined && detection.proxy === undefined)
      // Not a byte is waited for: in many protocols the server speaks first.
      this.admitTcp(detection.tcp, {
        socket,
        raw: undefined,
        serverName: undefined,
        protocol: 'TCP',
        reported: undefined,
      });
    else this.detecting.add(new ProtocolDetector(this, socket, detection));
  }

  private endLongestIdle({ longestIdle, holder, holds }: LargestHolder<CountedConnection>): void {
    const { wire } = this.tools;
    if (this.largestHolderLog.take())
      this.log.warn(
        'Idle connections closed: above 80 % of limits.maxConnections, the largest holder gives way',
        {
          bind: this.key,
          maxConnections: this.limits.maxConnections,
          open: wire.connections,
          holder,
          holds,
          closed: longestIdle.length,
        },
      );
    for (const connection of longestIdle) {
      this.ended('crowded');
      connection.destroy('limits.maxConnections: its address holds most');
    }
  }

  private hasMoved({ tls }: OpenConnection): boolean {
    if (tls === undefined) return false;
    const listener = this.tools.live.current.bind(this.key, true)?.find(tls.serverName ?? '');
    return listener === undefined || !isOf(tls, listener);
  }

  private tcpRoute(listener: string, serverName: string | undefined): CompiledTcpRoute | undefined {
    return this.tools.live.current.tcp(this.key, listener)?.routes.find(serverName ?? '');
  }

  /** The system could not hand over a connection, and goes on by itself. */
  private acceptFailed(error: Error): void {
    this.tools.wire.acceptFailures++;
    this.acceptFailures++;
    if (!this.acceptLog.take()) return;
    this.log.error('Connections could not be accepted', {
      bind: this.key,
      problem: error.message,
      failures: this.acceptFailures,
    });
    this.acceptFailures = 0;
  }

  private sweep(): void {
    const now = Date.now();
    for (const detector of this.detecting) if (now >= detector.deadline) detector.expire();
    for (const connection of this.connections) connection.sweep(now);
  }
}
