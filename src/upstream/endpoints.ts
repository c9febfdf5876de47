import type { Limits, UpstreamSettings } from '../model/index.ts';
import { Destination, type DestinationTools } from './destination.ts';
import type { Endpoint } from './endpoint.ts';
import { systemLookup } from './resolve.ts';
import type { Target } from './target.ts';

const SWEEP_MS = 1_000;

/** All destinations of the process, shared over snapshots so that a reload keeps the warm connections. */
export class Endpoints {
  private readonly tools: DestinationTools;
  private readonly byKey = new Map<string, Destination>();
  /** Without a route, until their last request is done. */
  private readonly leaving = new Set<Destination>();
  private readonly timer: NodeJS.Timeout;

  constructor(tools: Pick<DestinationTools, 'log'> & Partial<DestinationTools>) {
    this.tools = { lookup: systemLookup, ...tools };
    this.timer = setInterval(() => this.sweep(), SWEEP_MS);
    this.timer.unref();
  }

  /**
   * The destination of a backend; the settings of the latest caller hold.
   * @throws Error when a file of its TLS settings cannot be used
   */
  use(target: Target, settings: UpstreamSettings, limits: Limits): Destination {
    // A connection that was checked against one certificate must never carry what asked for another.
    const key = JSON.stringify(target);
    let destination = this.byKey.get(key);
    if (destination === undefined) {
      destination = new Destination(target, settings, limits, this.tools);
      this.byKey.set(key, destination);
    } else destination.configure(settings, limits);
    return destination;
  }

  /** After a reload: everything that is not in `live` has no route any more. */
  retireOthers(live: ReadonlySet<Destination>): void {
    for (const [key, destination] of this.byKey) {
      if (live.has(destination)) continue;
      destination.retire();
      this.leaving.add(destination);
      this.byKey.delete(key);
    }
  }

  *all(): Iterable<Endpoint> {
    for (const destination of this.byKey.values()) yield* destination.endpoints();
  }

  destinations(): Iterable<Destination> {
    return this.byKey.values();
  }

  close(): void {
    clearInterval(this.timer);
    for (const destination of [...this.byKey.values(), ...this.leaving]) destination.close();
  }

  private sweep(): void {
    const now = Date.now();
    for (const destination of [...this.byKey.values(), ...this.leaving]) destination.sweep(now);
    for (const destination of this.leaving) if (destination.isIdle) this.leaving.delete(destination);
  }
}
