import type { AddressLists, Limits, UpstreamSettings } from '../model/index.ts';
import { Destination, type DestinationTools } from './destination.ts';
import type { Endpoint } from './upstreamConnection.ts';
import { tenantNames } from './guard.ts';
import { systemLookup } from './resolve.ts';
import type { Target } from './upstreamTarget.ts';

const SWEEP_MS = 1_000;

/** All destinations of the process, shared over snapshots so that a reload keeps the warm connections. */
export class Endpoints {
  private readonly tools: DestinationTools;
  private readonly byKey = new Map<string, Destination>();
  /** The same by all of their target but the addresses. */
  private readonly bySort = new Map<string, Set<Destination>>();
  /** Used by the model that is being prepared. */
  private readonly claimed = new Set<Destination>();
  /** The destinations that had other addresses before that model. */
  private readonly changed = new Map<Destination, Target>();
  /** Without a route, until their last request is done. */
  private readonly leaving = new Set<Destination>();
  private readonly timer: NodeJS.Timeout;

  constructor(tools: Pick<DestinationTools, 'log'> & Partial<DestinationTools>) {
    this.tools = { lookup: systemLookup, tenantLookup: tenantNames, ...tools };
    this.timer = setInterval(() => this.sweep(), SWEEP_MS);
    this.timer.unref();
  }

  /**
   * The destination of a backend; the settings of the latest caller hold. One that differs by its addresses alone goes
   * on with the new ones: what is known of those that stay is kept, as are their connections.
   * @throws Error when a file of its TLS settings cannot be used
   */
  use(target: Target, settings: UpstreamSettings, limits: Limits): Destination {
    // A connection that was checked against one certificate must never carry what asked for another.
    const known = this.byKey.get(keyOf(target)) ?? this.unclaimed(target);
    if (known === undefined) {
      const destination = new Destination(target, settings, limits, this.tools);
      this.add(destination);
      this.claimed.add(destination);
      return destination;
    }
    this.claimed.add(known);
    this.change(known, target);
    known.configure(settings, limits);
    return known;
  }

  /**
   * Lists of addresses have changed, and nothing else: by the key that targets name theirs by. Not while a model is
   * being prepared.
   */
  useAddresses(lists: AddressLists, settings: UpstreamSettings, limits: Limits): void {
    for (const destination of [...this.byKey.values()]) {
      const { target } = destination;
      const addresses = target.endpoints === undefined ? undefined : lists.get(target.endpoints);
      if (addresses === undefined) continue;
      this.change(destination, { ...target, addresses });
      destination.configure(settings, limits);
    }
    this.changed.clear();
  }

  /** The model that was being prepared did not come into use. */
  undo(): void {
    for (const [destination, target] of this.changed) {
      // Another may have been made in its place meanwhile; nothing was sent there yet.
      const other = this.byKey.get(keyOf(target));
      if (other !== undefined && other !== destination) {
        this.remove(other);
        other.close();
      }
      this.change(destination, target);
    }
    this.changed.clear();
    this.claimed.clear();
  }

  /** After a reload: everything that is not in `live` has no route any more. */
  retireOthers(live: ReadonlySet<Destination>): void {
    this.claimed.clear();
    this.changed.clear();
    for (const destination of [...this.byKey.values()]) {
      if (live.has(destination)) continue;
      this.remove(destination);
      destination.retire();
      this.leaving.add(destination);
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

  private unclaimed(target: Target): Destination | undefined {
    for (const destination of this.bySort.get(sortOf(target)) ?? [])
      if (!this.claimed.has(destination)) return destination;
    return undefined;
  }

  private change(destination: Destination, target: Target): void {
    const key = keyOf(target);
    if (keyOf(destination.target) === key) return;
    if (!this.changed.has(destination)) this.changed.set(destination, destination.target);
    this.remove(destination);
    destination.target = target;
    this.add(destination);
  }

  private add(destination: Destination): void {
    const sort = sortOf(destination.target);
    const alike = this.bySort.get(sort);
    if (alike === undefined) this.bySort.set(sort, new Set([destination]));
    else alike.add(destination);
    this.byKey.set(keyOf(destination.target), destination);
  }

  private remove(destination: Destination): void {
    const sort = sortOf(destination.target);
    const alike = this.bySort.get(sort);
    alike?.delete(destination);
    if (alike?.size === 0) this.bySort.delete(sort);
    const key = keyOf(destination.target);
    if (this.byKey.get(key) === destination) this.byKey.delete(key);
  }

  private sweep(): void {
    const now = Date.now();
    for (const destination of [...this.byKey.values(), ...this.leaving]) destination.sweep(now);
    for (const destination of this.leaving) if (destination.isIdle) this.leaving.delete(destination);
  }
}

const keyOf = (target: Target): string => JSON.stringify(target);
const sortOf = (target: Target): string => JSON.stringify({ ...target, addresses: undefined });
