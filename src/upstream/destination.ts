import type { Limits, UpstreamSettings } from '../model/index.ts';
import type { Logger } from '../telemetry/index.ts';
import type { UpstreamConnection } from './connection.ts';
import { Endpoint } from './endpoint.ts';
import type { Target } from './target.ts';
import { TlsMaterial } from './tls.ts';

/** Where the requests of a backend go. Routes that name the same target share it, over reloads too. */
export class Destination {
  readonly target: Target;
  /** `host:port` as configured, IPv6 in brackets. */
  readonly name: string;
  readonly tls: TlsMaterial | undefined;
  endpoints: readonly Endpoint[];

  /** @throws Error when a file of its TLS settings cannot be used */
  constructor(target: Target, settings: UpstreamSettings, limits: Limits, log: Logger) {
    const { host, port, tls } = target;
    this.target = target;
    this.name = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
    this.tls = tls === undefined ? undefined : new TlsMaterial(tls, host, log);
    this.endpoints = [new Endpoint(host, port, this.tls, settings, limits)];
  }

  configure(settings: UpstreamSettings, limits: Limits): void {
    for (const endpoint of this.endpoints) {
      endpoint.settings = settings;
      endpoint.limits = limits;
      endpoint.revive();
    }
  }

  /** A connection to use at once: an idle one, or one that is being opened. `fresh` asks for a new one. */
  take(fresh = false): UpstreamConnection {
    return (this.endpoints[0] as Endpoint).take(fresh);
  }

  /** Closes what is idle for too long, and looks for new certificates. */
  sweep(now: number): void {
    for (const endpoint of this.endpoints) endpoint.sweep(now);
    if (this.tls !== undefined) void this.renew(this.tls);
  }

  /** No route uses it any more: idle connections go now, busy ones when they are done. */
  retire(): void {
    for (const endpoint of this.endpoints) endpoint.retire();
  }

  close(): void {
    for (const endpoint of this.endpoints) endpoint.close();
  }

  private async renew(tls: TlsMaterial): Promise<void> {
    if (await tls.look()) for (const endpoint of this.endpoints) endpoint.renew();
  }
}
