import type { Limits, UpstreamSettings } from '../model/index.ts';
import { Endpoint } from './endpoint.ts';

const SWEEP_MS = 1_000;

/** All endpoints of the process, shared over snapshots so that a reload keeps the warm connections. */
export class Endpoints {
  private readonly byName = new Map<string, Endpoint>();
  private readonly timer: NodeJS.Timeout;

  constructor() {
    this.timer = setInterval(() => this.sweep(), SWEEP_MS);
    this.timer.unref();
  }

  /** The endpoint of an address; the settings of the latest caller hold. */
  use(host: string, port: number, settings: UpstreamSettings, limits: Limits): Endpoint {
    const key = `${host}\n${port}`;
    let endpoint = this.byName.get(key);
    if (endpoint === undefined) {
      endpoint = new Endpoint(host, port, settings, limits);
      this.byName.set(key, endpoint);
    }
    endpoint.settings = settings;
    endpoint.limits = limits;
    endpoint.revive();
    return endpoint;
  }

  /** After a reload: everything that is not in `live` has no route any more. */
  retireOthers(live: ReadonlySet<Endpoint>): void {
    for (const [key, endpoint] of this.byName) {
      if (live.has(endpoint)) continue;
      endpoint.retire();
      this.byName.delete(key);
    }
  }

  all(): Iterable<Endpoint> {
    return this.byName.values();
  }

  close(): void {
    clearInterval(this.timer);
    for (const endpoint of this.byName.values()) endpoint.close();
  }

  private sweep(): void {
    const now = Date.now();
    for (const endpoint of this.byName.values()) endpoint.sweep(now);
  }
}
