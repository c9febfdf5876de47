import type { ErrorCode } from '../errors.ts';
import type { Limits, UpstreamSettings } from '../model/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { AnswerEnds } from './answerEnds.ts';
import { eligibleEndpoints, pick, pickFor } from './balance.ts';
import { guardedLookup, openOnes } from './guard.ts';
import { Checks } from './healthCheck.ts';
import { nameOf, type EndpointShare } from './connectionPool.ts';
import { Health } from './health.ts';
import { Resolution, type Found, type LookupTools } from './resolve.ts';
import { Endpoint, type UpstreamConnection } from './upstreamConnection.ts';
import type { Target } from './upstreamTarget.ts';
import { TlsMaterial } from './tls.ts';
import { WaitQueue, type Waiter } from './waitQueue.ts';

/** Addresses that one request tries to connect to, at most. */
const TRIES_MOST = 3;

export interface DestinationTools {
  readonly log: Logger;
  readonly lookup: LookupTools;
  /** The same for names that tenants of a cluster wrote. */
  readonly tenantLookup: LookupTools;
  /** Looks up no name and checks no address: no request is ever sent. */
  readonly offline?: boolean;
}

/**
 * The addresses of a backend, their health, and the choice of the next one. Routes that name the same target
 * share it, over reloads too.
 */
export class Destination {
  /** Changes by its addresses alone; `configure` takes them into use. */
  target: Target;
  /** `host:port` as configured, IPv6 in brackets. */
  readonly name: string;
  readonly tls: TlsMaterial | undefined;
  readonly waiting = new WaitQueue();
  readonly resolution: Resolution;
  /** Every address that is not being left; another list whenever that changes. */
  known: readonly Endpoint[] = [];
  /** Connections that failed and were made to another address instead. */
  moved = 0;
  /** Configurations in use that name it. A request of an old one may have yet to be sent. */
  users = 0;
  private readonly tools: DestinationTools;
  private readonly share: EndpointShare<UpstreamConnection>;
  private settings: UpstreamSettings;
  private limits: Limits;
  private readonly byName = new Map<string, Endpoint>();
  private readonly checks = new Map<Endpoint, Checks>();
  /** Addresses that are gone, until their last request is. */
  private readonly leaving = new Set<Endpoint>();
  /** The addresses that requests may go to now. */
  private ready: readonly Endpoint[] = [];
  private wake: NodeJS.Timeout | undefined;
  private retired = false;

  /** @throws Error when a file of its TLS settings cannot be used */
  constructor(target: Target, settings: UpstreamSettings, limits: Limits, tools: DestinationTools) {
    const { host, port, tls, connections } = target;
    this.target = target;
    this.name = nameOf(host, port);
    this.tools = tools;
    this.settings = settings;
    this.limits = limits;
    this.tls = tls === undefined ? undefined : new TlsMaterial(tls, host, tools.log);
    const http1 = target.http2 !== true && target.raw !== true;
    this.share = {
      tls: this.tls,
      answerEnds: this.tls !== undefined && http1 ? new AnswerEnds() : undefined,
      limits: connections,
      http2: target.http2 === true,
      onFree: connections?.maxConnections === undefined ? undefined : (free) => this.serveNext(free),
    };
    this.resolution =
      target.guarded === true
        ? new Resolution(guardedLookup(tools.tenantLookup), tools.log, (found) =>
            this.useAddresses(openOnes(found)),
          )
        : new Resolution(tools.lookup, tools.log, (found) => this.useAddresses(found));
    this.configure(settings, limits);
  }

  /** The settings of the latest model; also brings a retired one back. */
  configure(settings: UpstreamSettings, limits: Limits): void {
    this.settings = { ...settings, ...this.target.tcp };
    this.limits = limits;
    this.retired = false;
    for (const endpoint of this.byName.values()) {
      endpoint.settings = this.settings;
      endpoint.limits = limits;
      endpoint.revive();
      this.watch(endpoint);
    }
    const { host, port, addresses = [{ host, port }] } = this.target;
    if (this.tools.offline !== true) this.resolution.use(addresses, settings);
  }

  /** Every address, those that are only being left included. */
  *endpoints(): Iterable<Endpoint> {
    yield* this.byName.values();
    yield* this.leaving;
  }

  /** No connection is open, nobody waits for one, and no request may come. */
  get isIdle(): boolean {
    if (this.users > 0 || this.waiting.length > 0) return false;
    for (const endpoint of this.endpoints()) if (endpoint.connections > 0) return false;
    return true;
  }

  /** True where requests may go to the endpoint now. */
  isReady(endpoint: Endpoint): boolean {
    return this.ready.includes(endpoint);
  }

  /**
   * A connection to use at once: an idle one, or one that is being opened.
   * @param fresh asks for a new one
   * @returns undefined where there is none: see `wait`
   */
  take(fresh = false): UpstreamConnection | undefined {
    const { ready } = this;
    const endpoint = ready.length === 1 ? ready[0] : pick(ready);
    if (endpoint === undefined) return undefined;
    if (endpoint.hasRoom) return endpoint.take(fresh);
    return pick(ready.filter(({ hasRoom }) => hasRoom))?.take(fresh);
  }

  /**
   * The same at the address for a key; at another where that is much busier than the others.
   * @param loadFactor how many times the average of requests under way an address may have
   */
  takeFor(key: number, loadFactor: number, fresh = false): UpstreamConnection | undefined {
    return (pickFor(key, this.ready, loadFactor) ?? pick(this.ready.filter(({ hasRoom }) => hasRoom)))?.take(
      fresh,
    );
  }

  /**
   * A connection to another address than these, where there is one that requests may go to.
   * @param from where tries of the same request are under way
   */
  takeApart(from: readonly Endpoint[]): UpstreamConnection | undefined {
    const others = this.ready.filter((endpoint) => !from.includes(endpoint) && endpoint.hasRoom);
    return pick(others)?.take() ?? this.take();
  }

  /** Does an address work, as far as is known? What belongs there may go there even where others are preferred. */
  accepts({ health }: Endpoint): boolean {
    return health.healthy && health.isEligible(Date.now());
  }

  /** For whom `take` had nothing: the waiter hears of a connection, or that there will be none, now or later. */
  wait(waiter: Waiter): void {
    const most = this.target.connections?.maxPendingRequests ?? 0;
    if (this.ready.length > 0 && this.waiting.length < most) {
      this.waiting.add(waiter, Date.now() + this.settings.connectTimeoutMs);
      return;
    }
    const { code, detail } = this.refusal();
    waiter.onRefused(code, detail);
  }

  /** The reason why a request that does not wait gets no connection; counts as a refusal. */
  refusal(): { readonly code: ErrorCode; readonly detail: string } {
    const { name, waiting } = this;
    if (this.ready.length === 0)
      return { code: 'upstream_unhealthy', detail: `${name}: ${this.byName.size} addresses, none healthy` };
    waiting.refused++;
    return {
      code: 'upstream_overloaded',
      detail: `${name}: all connections are busy, ${waiting.length} requests wait for one`,
    };
  }

  /**
   * Another address for a request that could not be sent at all.
   * @param tried where it was not possible to connect to
   * @param key of its affinity
   */
  takeOther(tried: readonly Endpoint[], key?: number): UpstreamConnection | undefined {
    if (tried.length >= TRIES_MOST) return undefined;
    const others = [...this.byName.values()].filter(
      (endpoint) => !tried.includes(endpoint) && endpoint.hasRoom,
    );
    const left = eligibleEndpoints(others, Date.now());
    const endpoint = key === undefined ? pick(left) : pickFor(key, left, Infinity);
    if (endpoint !== undefined) this.moved++;
    return endpoint?.take();
  }

  /** Closes what is idle for too long, and looks for new certificates. */
  sweep(now: number): void {
    for (const endpoint of this.endpoints()) endpoint.sweep(now);
    for (const endpoint of this.leaving) if (endpoint.connections === 0) this.leaving.delete(endpoint);
    this.waiting.sweep(now);
    if (this.tls !== undefined && !this.retired) void this.renew(this.tls);
  }

  /** No route uses it any more: idle connections go now, busy ones when they are done. */
  retire(): void {
    this.stop();
    for (const endpoint of this.byName.values()) endpoint.retire();
  }

  close(): void {
    this.stop();
    this.waiting.close();
    for (const endpoint of this.endpoints()) endpoint.close();
  }

  private stop(): void {
    this.retired = true;
    this.resolution.close();
    clearTimeout(this.wake);
    this.wake = undefined;
    for (const checks of this.checks.values()) checks.stop();
    this.checks.clear();
  }

  private useAddresses(found: readonly Found[]): void {
    const wanted = new Set<string>();
    for (const address of found) {
      const name = nameOf(address.host, address.port);
      wanted.add(name);
      const known = this.byName.get(name);
      if (known !== undefined) known.tier = address.tier;
      else this.add(name, address);
    }
    for (const [name, endpoint] of this.byName) {
      if (wanted.has(name)) continue;
      this.byName.delete(name);
      this.checks.get(endpoint)?.stop();
      this.checks.delete(endpoint);
      // Its requests end in peace.
      endpoint.retire();
      if (endpoint.connections > 0) this.leaving.add(endpoint);
    }
    this.known = [...this.byName.values()];
    this.refresh();
  }

  private add(name: string, address: Found): void {
    const { eviction } = this.target;
    const health = new Health(
      eviction,
      () => this.mayEject(),
      () => this.refresh(),
    );
    const { settings, limits } = this;
    const watched = eviction !== undefined;
    const endpoint = new Endpoint(address, this.share, health, watched, settings, limits);
    this.byName.set(name, endpoint);
    this.watch(endpoint);
  }

  private watch(endpoint: Endpoint): void {
    const { check } = this.target;
    if (this.tools.offline === true || check === undefined || this.retired || this.checks.has(endpoint))
      return;
    this.checks.set(endpoint, new Checks(endpoint, check, this.name, this.tools.log));
  }

  private mayEject(): boolean {
    const all = [...this.byName.values()];
    const out = all.filter(({ health }) => health.isEjected(Date.now())).length;
    return out + 1 <= (all.length * (this.target.eviction?.maxEjectedPercent ?? 0)) / 100;
  }

  /** Updates the addresses that may be chosen, and the time of the next update. */
  private refresh(): void {
    const now = Date.now();
    const all = [...this.byName.values()];
    this.ready = eligibleEndpoints(all, now);
    clearTimeout(this.wake);
    this.wake = undefined;
    if (this.retired) return;
    const back = Math.min(...all.map(({ health }) => health.backAt).filter((at) => at > now));
    if (back === Infinity) return;
    this.wake = setTimeout(() => this.refresh(), back - now);
    this.wake.unref();
  }

  private serveNext(free: UpstreamConnection | undefined): boolean {
    if (this.waiting.length === 0) return false;
    const connection = free ?? this.take();
    if (connection === undefined) return false;
    const waiter = this.waiting.next();
    if (waiter === undefined) return false;
    waiter.onReady(connection);
    return true;
  }

  private async renew(tls: TlsMaterial): Promise<void> {
    if (await tls.look()) for (const endpoint of this.byName.values()) endpoint.renew();
  }
}
