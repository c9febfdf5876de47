import type { BackendAddress, UdpBackend, UpstreamSettings } from '../model/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { nameOf } from './connectionPool.ts';
import { Resolution, systemLookup, type Found, type LookupTools } from './resolve.ts';

/** The destination of a client's datagrams. */
export interface DatagramAddress {
  readonly host: string;
  readonly port: number;
  /** `host:port`, IPv6 in brackets. */
  readonly name: string;
}

type DatagramTarget = Pick<UdpBackend, 'host' | 'port' | 'addresses' | 'endpoints'>;

/** An address that has refused a datagram is left alone so long, where there are others. */
const COOL_MS = 5_000;

/** A backend of UDP routes: its addresses, now and whenever that changes. */
export class DatagramDestination {
  /** `host:port` as configured, IPv6 in brackets. */
  readonly name: string;
  /** Changes by its addresses alone. */
  target: DatagramTarget;
  private readonly resolution: Resolution;
  private byName = new Map<string, DatagramAddress & { readonly tier: number }>();
  private readonly coolUntil = new Map<string, number>();

  constructor(target: DatagramTarget, settings: UpstreamSettings, log: Logger, lookup?: LookupTools) {
    this.name = nameOf(target.host, target.port);
    this.target = target;
    this.resolution = new Resolution(lookup ?? systemLookup, log, (found) => this.use(found));
    this.configure(settings);
  }

  /** The settings of the latest model. */
  configure(settings: UpstreamSettings): void {
    const { host, port, addresses = [{ host, port }] } = this.target;
    this.resolution.use(addresses, settings);
  }

  useAddresses(addresses: readonly BackendAddress[], settings: UpstreamSettings): void {
    this.target = { ...this.target, addresses };
    this.configure(settings);
  }

  /** Picks one of the best addresses by lot. @returns undefined while there is none */
  pick(): DatagramAddress | undefined {
    const now = Date.now();
    const all = [...this.byName.values()];
    const welcome = all.filter(({ name }) => (this.coolUntil.get(name) ?? 0) <= now);
    const left = welcome.length > 0 ? welcome : all;
    const best = Math.min(...left.map(({ tier }) => tier));
    const choices = left.filter(({ tier }) => tier === best);
    return choices[Math.floor(Math.random() * choices.length)];
  }

  /** Records that the port of an address is closed. */
  refused({ name }: DatagramAddress): void {
    if (this.byName.has(name)) this.coolUntil.set(name, Date.now() + COOL_MS);
  }

  /** Is it still one of the addresses? */
  has({ name }: DatagramAddress): boolean {
    return this.byName.has(name);
  }

  close(): void {
    this.resolution.close();
  }

  private use(found: readonly Found[]): void {
    this.byName = new Map(
      found.map(({ host, port, tier }) => {
        const name = nameOf(host, port);
        return [name, { host, port, name, tier }];
      }),
    );
    for (const name of this.coolUntil.keys()) if (!this.byName.has(name)) this.coolUntil.delete(name);
  }
}
