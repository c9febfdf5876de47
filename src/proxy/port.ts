import type { Socket } from 'node:net';
import { catalogue, type ErrorCode } from '../errors.ts';
import { HeadPool } from '../http/index.ts';
import type { Limits } from '../model/index.ts';
import type { AccessLog, Logger } from '../telemetry/index.ts';
import type { Arrival } from './arrival.ts';
import { ClientConnection } from './connection.ts';
import { Http2Session } from './http2Session.ts';
import { Entrance, type Door, type Entry } from './entrance.ts';
import type { LiveExchange } from './exchange.ts';
import { Listening, type SocketHandle } from './listening.ts';
import type { Live } from './live.ts';
import type { Overload } from './overload.ts';
import { rawRecord } from './rawRecord.ts';
import type { ProxyHeaderResult, RawStats } from './rawStats.ts';
import type { RouteStats, WireStats } from './stats.ts';
import { TcpConnection, type TcpArrival } from './tcpConnection.ts';
import type { CompiledTcpRoute } from './tcpRoutes.ts';
import type { ToldEnds } from './toldEnds.ts';

/** What a port shares with the others. */
export interface PortTools {
  readonly live: Live;
  readonly log: Logger;
  readonly accessLog: () => AccessLog | undefined;
  readonly wire: WireStats;
  readonly raw: RawStats;
  /** Counts what no route of a listener took. */
  readonly unrouted: RouteStats;
  readonly overload: Overload;
}

/** Why the gateway ends a connection that could have served further requests, or the present one. */
export type EndReason = 'requests' | 'age' | 'overload' | 'rate' | 'flood' | 'keepalive' | 'upgrade';

const SWEEP_MS = 500;
/** What a port knows of a connection of any kind. */
interface OpenConnection {
  /** One look of the coarse clock. */
  sweep(now: number): void;
  /** Asks for the end, after what is under way. */
  drain(): void;
  destroy(): void;
}

/** Failures to accept come in floods, as do bad PROXY headers: one line tells of all within this time. */
const FLOOD_LOG_MS = 10_000;

/** One bound port: its socket, its connections, and the coarse clock that ends the slow ones. */
export class Port {
  readonly key: string;
  /** True where other workers come in, and not clients. */
  readonly inner: boolean = false;
  readonly log: Logger;
  heads: HeadPool;
  limits: Limits;
  private door: Door | undefined;
  protected readonly tools: PortTools;
  private readonly listening: Listening;
  private readonly connections = new Set<OpenConnection>();
  /** Connections that are not yet anybody's. */
  private readonly entering = new Set<Entrance>();
  private readonly timer: NodeJS.Timeout;
  private draining = false;
  /** Every connection gets one more request. */
  private leaving = false;
  private readonly settled: (() => void)[] = [];
  private acceptLogged = Number.NEGATIVE_INFINITY;
  private acceptFailures = 0;
  private proxyLogged = Number.NEGATIVE_INFINITY;

  constructor(key: string, limits: Limits, door: Door | undefined, tools: PortTools) {
    this.key = key;
    this.log = tools.log;
    this.limits = limits;
    this.door = door;
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

  get port(): number {
    return this.listening.port;
  }

  get open(): number {
    return this.connections.size + this.entering.size;
  }

  configure(limits: Limits, door: Door | undefined): void {
    this.door = door;
    if (limits.maxHeaders !== this.limits.maxHeaders) this.heads = new HeadPool(limits.maxHeaders);
    this.limits = limits;
  }

  /** The snapshot a request runs on. Whoever enters is `finished` later. */
  enter(): ReturnType<Live['enter']> {
    this.tools.wire.requests++;
    return this.tools.live.enter();
  }

  /** An answer that `end` ends when a new configuration might not let it go on. @returns what takes that back */
  stand(x: LiveExchange, end: () => void): () => void {
    return this.tools.live.standing.add(x, end);
  }

  /** Why a request that has just entered is not served, if there is too much to do. */
  tooMuch(): string | undefined {
    const { wire, overload } = this.tools;
    const cause =
      overload.level === 'shed'
        ? overload.reason
        : wire.requests > this.limits.maxRequests
          ? 'maxRequests'
          : undefined;
    if (cause === undefined) return undefined;
    wire.shed.set(cause, (wire.shed.get(cause) ?? 0) + 1);
    return cause === 'maxRequests' ? 'limits.maxRequests' : `limits.overload: ${cause}`;
  }

  /** Why a connection that has got its `served`th request gets no further one. */
  lastRequest(served: number): EndReason | undefined {
    const { maxRequestsPerConnection } = this.limits;
    if (maxRequestsPerConnection !== 0 && served >= maxRequestsPerConnection) return 'requests';
    if (this.leaving) return 'upgrade';
    return this.tools.overload.level === 'none' ? undefined : 'overload';
  }

  ended(reason: EndReason): void {
    const { ended } = this.tools.wire;
    ended.set(reason, (ended.get(reason) ?? 0) + 1);
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

  /** Ends everything now. */
  destroy(): void {
    this.stopAccepting();
    clearInterval(this.timer);
    for (const entrance of this.entering) entrance.destroy();
    for (const connection of this.connections) connection.destroy();
  }

  closed(connection: OpenConnection): void {
    if (this.connections.delete(connection)) this.departed();
  }

  /** One connection less. */
  departed(): void {
    this.tools.wire.connections--;
    this.settle();
  }

  /** The way in of a connection has ended; the caller says what becomes of it. */
  entered(entrance: Entrance, entry: Entry | undefined): void {
    this.entering.delete(entrance);
    if (entry === undefined) return;
    const { handshakes } = this.tools.wire;
    handshakes.set(entry, (handshakes.get(entry) ?? 0) + 1);
  }

  /** Serves a connection whose bytes are HTTP. */
  admit(socket: Socket, arrival: Arrival | undefined, told: ToldEnds | undefined): void {
    this.add(
      arrival?.secure?.alpnProtocol === 'h2'
        ? new Http2Session(this, socket, arrival, told)
        : new ClientConnection(this, socket, arrival, told),
    );
  }

  /** A connection turned out to be one of HTTP/2, which takes its place. */
  admitHttp2(connection: ClientConnection, socket: Socket): void {
    this.connections.delete(connection);
    this.add(new Http2Session(this, socket, undefined, connection.told));
  }

  /** What became of the PROXY header of a connection. @param problem where it was refused */
  proxyHeader(result: ProxyHeaderResult, problem?: string): void {
    this.tools.raw.noteProxyHeader(result);
    const now = performance.now();
    if (problem === undefined || now - this.proxyLogged < FLOOD_LOG_MS) return;
    this.proxyLogged = now;
    this.log.warn('connections without a sound PROXY header are closed', { bind: this.key, problem });
  }

  /**
   * May a connection for this server name come in to a listener that passes bytes?
   * @param handshake it would begin with a handshake of ours
   */
  routesTcp(listener: string, serverName: string | undefined, handshake: boolean): boolean {
    const route = this.tcpRoute(listener, serverName);
    return route !== undefined && !(handshake && route.closed);
  }

  /** Passes the bytes of a connection on, and those of a backend back. */
  admitTcp(listener: string, arrival: TcpArrival): void {
    const route = this.tcpRoute(listener, arrival.serverName);
    if (route === undefined) {
      // There is no such route, or no longer: the configuration may have changed during the handshake.
      arrival.socket.destroy();
      this.departed();
      return;
    }
    const connection = new TcpConnection(this, route, arrival);
    this.add(connection);
    connection.start();
  }

  /** Why new work is refused, if it is; counted. */
  shed(): string | undefined {
    const { wire, overload } = this.tools;
    if (overload.level !== 'shed') return undefined;
    const cause = overload.reason ?? 'lag';
    wire.shed.set(cause, (wire.shed.get(cause) ?? 0) + 1);
    return `limits.overload: ${cause}`;
  }

  /** A connection of a TCP route is over: logged. */
  finishedTcp(connection: TcpConnection): void {
    if (connection.error !== undefined) this.count(connection.error);
    this.tools.accessLog()?.write(rawRecord({ bind: this.key, ...connection.record }));
  }

  tunnelOpened(): void {
    this.tools.wire.tunnels++;
    this.tools.wire.tunnelled++;
  }

  tunnelClosed(): void {
    this.tools.wire.tunnels--;
  }

  /** An exchange is over: counted and logged. */
  finished(x: LiveExchange): void {
    this.left();
    if (x.relayed) {
      if (x.error !== undefined) this.count(x.error);
      return;
    }
    const ms = performance.now() - x.startedTick;
    const { route } = x;
    (route?.stats ?? this.tools.unrouted).note(x.status, ms, x.requestBytes, x.responseBytes);
    if (x.error !== undefined) this.count(x.error);
    const log = this.tools.accessLog();
    if (log === undefined) return;
    log.write({
      time: x.startedAt,
      durationMs: ms,
      method: x.method,
      host: x.authority,
      path: x.path,
      status: x.status,
      requestBytes: x.requestBytes,
      responseBytes: x.responseBytes,
      client: x.remoteAddress,
      requestId: x.id,
      traceparent: x.head.get('traceparent'),
      bind: this.key,
      listener: x.listener?.name,
      route: route === undefined || route.name === '' ? undefined : route.name,
      backend: x.backend,
      upstreamMs: x.upstreamMs,
      subject: x.identity?.subject ?? x.user,
      error: x.error,
      reason: x.reason,
      extra: x.extra,
    });
  }

  /** Bytes that are no request were answered with an error. */
  refused(connection: { readonly remoteAddress: string }, code: ErrorCode, reason: string): void {
    this.count(code);
    this.tools.accessLog()?.write({
      time: Date.now(),
      durationMs: 0,
      method: '-',
      host: '-',
      path: '-',
      status: catalogue[code].status,
      requestBytes: 0,
      responseBytes: 0,
      client: connection.remoteAddress,
      requestId: '-',
      traceparent: undefined,
      bind: this.key,
      listener: undefined,
      route: undefined,
      backend: undefined,
      upstreamMs: undefined,
      subject: undefined,
      error: code,
      reason,
      extra: undefined,
    });
  }

  private count(code: string): void {
    const { errors } = this.tools.wire;
    errors.set(code, (errors.get(code) ?? 0) + 1);
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
    if (wire.connections >= this.limits.maxConnections) {
      wire.refused++;
      socket.on('error', () => socket.destroy());
      if (this.door !== undefined && !this.door.plain) {
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
    const { door } = this;
    if (door === undefined) this.admit(socket, undefined, undefined);
    else if (door.tcp !== undefined && door.proxy === undefined)
      // Not a byte is waited for: in many protocols the server speaks first.
      this.admitTcp(door.tcp, {
        socket,
        raw: undefined,
        serverName: undefined,
        protocol: 'TCP',
        told: undefined,
      });
    else this.entering.add(new Entrance(this, socket, door));
  }

  private tcpRoute(listener: string, serverName: string | undefined): CompiledTcpRoute | undefined {
    return this.tools.live.current.tcp(this.key, listener)?.routes.find(serverName ?? '');
  }

  /** The system could not hand over a connection, and goes on by itself. */
  private acceptFailed(error: Error): void {
    this.tools.wire.acceptFailures++;
    this.acceptFailures++;
    const now = performance.now();
    if (now - this.acceptLogged < FLOOD_LOG_MS) return;
    this.acceptLogged = now;
    this.log.error('connections could not be accepted', {
      bind: this.key,
      problem: error.message,
      failures: this.acceptFailures,
    });
    this.acceptFailures = 0;
  }

  private sweep(): void {
    const now = Date.now();
    for (const entrance of this.entering) if (now >= entrance.deadline) entrance.expire();
    for (const connection of this.connections) connection.sweep(now);
  }
}
