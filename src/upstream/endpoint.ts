import type { Limits, UpstreamSettings } from '../model/index.ts';
import { UpstreamConnection } from './connection.ts';
import type { TlsMaterial } from './tls.ts';

/** What an endpoint counts, as plain numbers (read when /metrics is). */
export interface EndpointStats {
  opened: number;
  failed: number;
}

/**
 * One address that requests go to, and its idle connections. The most recently used one is taken first: it is the
 * least likely to have been closed, and the others can age and go.
 */
export class Endpoint {
  readonly host: string;
  readonly port: number;
  /** `host:port`, IPv6 in brackets. */
  readonly name: string;
  readonly stats: EndpointStats = { opened: 0, failed: 0 };
  /** Absent for plain TCP. */
  readonly tls: TlsMaterial | undefined;
  settings: UpstreamSettings;
  limits: Limits;
  private readonly idle: UpstreamConnection[] = [];
  private readonly open = new Set<UpstreamConnection>();
  private retired = false;
  private lastSession: { readonly ticket: Buffer; readonly generation: number } | undefined;

  constructor(
    host: string,
    port: number,
    tls: TlsMaterial | undefined,
    settings: UpstreamSettings,
    limits: Limits,
  ) {
    this.host = host;
    this.port = port;
    this.tls = tls;
    this.name = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
    this.settings = settings;
    this.limits = limits;
  }

  get maxHeaders(): number {
    return Math.max(256, this.limits.maxHeaders);
  }

  get connections(): number {
    return this.open.size;
  }

  get idleConnections(): number {
    return this.idle.length;
  }

  /** A connection to use at once: an idle one, or one that is being opened. `fresh` asks for a new one. */
  take(fresh = false): UpstreamConnection {
    while (!fresh) {
      const connection = this.idle.pop();
      if (connection === undefined) break;
      if (connection.usable && Date.now() - connection.idleSince < connection.idleLimitMs) return connection;
      connection.close();
    }
    this.stats.opened++;
    const connection = new UpstreamConnection(this, this.limits);
    this.open.add(connection);
    return connection;
  }

  give(connection: UpstreamConnection): void {
    const outdated = this.tls !== undefined && connection.generation !== this.tls.generation;
    if (this.retired || outdated || this.idle.length >= this.settings.poolMaxSize) {
      connection.close();
      return;
    }
    connection.idleSince = Date.now();
    this.idle.push(connection);
  }

  gone(connection: UpstreamConnection): void {
    this.open.delete(connection);
    const index = this.idle.lastIndexOf(connection);
    if (index !== -1) this.idle.splice(index, 1);
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
  }

  /** Closes what has been idle for too long. */
  sweep(now: number): void {
    for (const connection of this.idle.filter((idle) => now - idle.idleSince >= idle.idleLimitMs))
      connection.close();
  }

  /** No route uses it any more: idle connections go now, busy ones when they are done. */
  retire(): void {
    this.retired = true;
    this.closeIdle();
  }

  revive(): void {
    this.retired = false;
  }

  close(): void {
    this.retired = true;
    for (const connection of [...this.open]) connection.close();
  }

  private closeIdle(): void {
    for (const connection of [...this.idle]) connection.close();
  }
}
