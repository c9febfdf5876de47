import { HeadPool } from '../http/index.ts';
import type { ConnectionLimits, Limits, UpstreamSettings } from '../model/index.ts';
import type { AnswerEnds } from './answerEnds.ts';
import { hashOf } from './hash.ts';
import type { Health } from './health.ts';
import { Http2Sessions } from './http2Sessions.ts';
import type { TlsMaterial } from './tls.ts';

/** Shared by all endpoints; there are as many sizes as `limits.maxHeaders` has had values. */
const headsBySize = new Map<number, HeadPool>();

/** The counters of an endpoint, as plain numbers (read when /metrics is). */
export interface EndpointStats {
  opened: number;
  failed: number;
  connectFailed: number;
  checksPassed: number;
  checksFailed: number;
}

/** A connection as its pool sees it. */
interface PooledConnection {
  /** True when it can take a request now. */
  readonly usable: boolean;
  /** When it became idle, by `Date.now()`. */
  idleSince: number;
  readonly idleLimitMs: number;
  /** The reading of the TLS files with which it was opened. */
  readonly generation: number;
  /** It will tell whether TLS was ended in order. */
  readonly watched: boolean;
  close(): void;
  /** Runs with each tick of the coarse clock. @param most ticks that the head of an answer may take */
  look(most: number): void;
}

/** The common part of all endpoints of a destination. */
export interface EndpointShare<Connection> {
  readonly tls: TlsMaterial | undefined;
  readonly limits: ConnectionLimits | undefined;
  readonly http2: boolean;
  /** Absent where that is known anyway, or does not matter. */
  readonly answerEnds?: AnswerEnds | undefined;
  /** Tells a waiter that a connection is free, or may be opened. @returns true where it was taken */
  readonly onFree: ((connection: Connection | undefined) => boolean) | undefined;
}

/**
 * An address that requests go to, and its idle connections. The most recently used one is taken first: it is the
 * least likely to have been closed, and the others can age and go.
 */
export abstract class ConnectionPool<Connection extends PooledConnection> {
  readonly host: string;
  readonly port: number;
  /** The path, if it is a socket of this machine. */
  readonly path: string | undefined;
  /** `host:port`, IPv6 in brackets. */
  readonly name: string;
  readonly hash: number;
  /** Lower is better; others count only when none of the better ones works. */
  tier: number;
  readonly health: Health;
  /** True where answers are to be noted, too. */
  readonly watched: boolean;
  readonly stats: EndpointStats = {
    opened: 0,
    failed: 0,
    connectFailed: 0,
    checksPassed: 0,
    checksFailed: 0,
  };
  readonly maxRequests: number;
  /** The connections below ours, where the backend is spoken to in HTTP/2. */
  readonly http2: Http2Sessions | undefined;
  /** Sweeps so far, from 1. */
  clock = 1;
  settings: UpstreamSettings;
  limits: Limits;
  private readonly share: EndpointShare<Connection>;
  private readonly maxConnections: number;
  private readonly idle: Connection[] = [];
  private readonly all = new Set<Connection>();
  /** The connections that carry health checks. */
  private readonly checking = new Set<Connection>();
  private retired = false;
  private lastSession: { readonly ticket: Buffer; readonly generation: number } | undefined;

  constructor(
    address: {
      readonly host: string;
      readonly port: number;
      readonly tier: number;
      readonly path?: string;
    },
    share: EndpointShare<Connection>,
    health: Health,
    watched: boolean,
    settings: UpstreamSettings,
    limits: Limits,
  ) {
    const { host, port } = address;
    this.host = host;
    this.port = port;
    this.path = address.path;
    this.name = nameOf(host, port);
    this.hash = hashOf(this.name);
    this.tier = address.tier;
    this.share = share;
    this.http2 = share.http2
      ? new Http2Sessions({ host, port }, share.tls, () => this.settings.keepAlive)
      : undefined;
    this.maxConnections = share.limits?.maxConnections ?? Infinity;
    this.maxRequests = share.limits?.maxRequestsPerConnection ?? Infinity;
    this.health = health;
    this.watched = watched;
    this.settings = settings;
    this.limits = limits;
  }

  get answerEnds(): AnswerEnds | undefined {
    return this.share.answerEnds;
  }

  get tls(): TlsMaterial | undefined {
    return this.share.tls;
  }

  /** The heads of answers that its connections borrow. */
  get heads(): HeadPool {
    const most = Math.max(256, this.limits.maxHeaders);
    let heads = headsBySize.get(most);
    if (heads === undefined) headsBySize.set(most, (heads = new HeadPool(most)));
    return heads;
  }

  get connections(): number {
    return this.all.size;
  }

  get idleConnections(): number {
    return this.idle.length;
  }

  /** Requests (and tunnels) under way. */
  get load(): number {
    return this.carrying - this.idle.length;
  }

  /** False where the limit of connections is reached and none is idle. */
  get hasRoom(): boolean {
    return this.idle.length > 0 || this.carrying < this.maxConnections;
  }

  private get carrying(): number {
    return this.all.size - this.checking.size;
  }

  /** A connection to use at once: an idle one, or one that is being opened. `fresh` asks for a new one. */
  take(fresh = false): Connection {
    while (!fresh) {
      const connection = this.idle.pop();
      if (connection === undefined) break;
      if (connection.usable && Date.now() - connection.idleSince < connection.idleLimitMs) return connection;
      connection.close();
    }
    // An idle one makes room for the new one that was asked for.
    if (this.carrying >= this.maxConnections) this.idle[0]?.close();
    return this.connect(false);
  }

  /** A new connection beside the pool and its limits. */
  takeForCheck(): Connection {
    const connection = this.connect(true);
    this.checking.add(connection);
    return connection;
  }

  /**
   * Opens a connection to the endpoint.
   * @param alone it shares no connection of HTTP/2 with others
   */
  protected abstract open(alone: boolean): Connection;

  private connect(alone: boolean): Connection {
    this.stats.opened++;
    const connection = this.open(alone);
    this.all.add(connection);
    return connection;
  }

  connectFailed(): void {
    this.stats.connectFailed++;
    this.health.connectFailed();
  }

  give(connection: Connection): void {
    const outdated =
      this.tls !== undefined &&
      (connection.generation !== this.tls.generation ||
        (this.answerEnds?.mustWatch === true && !connection.watched));
    if (this.retired || outdated || !connection.usable || this.idle.length >= this.settings.poolMaxSize) {
      connection.close();
      return;
    }
    if (this.share.onFree?.(connection) === true) return;
    connection.idleSince = Date.now();
    this.idle.push(connection);
  }

  gone(connection: Connection): void {
    this.all.delete(connection);
    this.checking.delete(connection);
    const index = this.idle.lastIndexOf(connection);
    if (index !== -1) this.idle.splice(index, 1);
    this.share.onFree?.(undefined);
  }

  /** The TLS session to resume, unless the certificates have changed since. */
  session(generation: number): Buffer | undefined {
    return this.lastSession?.generation === generation ? this.lastSession.ticket : undefined;
  }

  keepSession(ticket: Buffer, generation: number): void {
    if (generation === this.tls?.generation) this.lastSession = { ticket, generation };
  }

  /** The certificates have changed: idle connections go now, busy ones when they are done. */
  renew(): void {
    this.lastSession = undefined;
    this.closeIdle();
    this.http2?.retire();
  }

  /** Closes what has been idle for too long, and gives up answers that do not begin; once a second. */
  sweep(now: number): void {
    this.clock++;
    const { responseTimeoutMs } = this.limits;
    if (responseTimeoutMs > 0)
      for (const connection of this.all) connection.look(Math.ceil(responseTimeoutMs / 1_000));
    for (const connection of this.idle.filter((idle) => now - idle.idleSince >= idle.idleLimitMs))
      connection.close();
    this.http2?.sweep(now, this.settings.poolIdleTimeoutMs);
  }

  /** Connections are to be watched from now on, which those that are idle are not. */
  unwatched(): void {
    for (const connection of this.idle.filter(({ watched }) => !watched)) connection.close();
  }

  /** No request comes any more: idle connections go now, busy ones when they are done. */
  retire(): void {
    this.retired = true;
    this.closeIdle();
    this.http2?.retire();
  }

  revive(): void {
    this.retired = false;
  }

  close(): void {
    this.retired = true;
    for (const connection of [...this.all]) connection.close();
    this.http2?.destroy();
  }

  private closeIdle(): void {
    for (const connection of [...this.idle]) connection.close();
  }
}

export const nameOf = (host: string, port: number): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
