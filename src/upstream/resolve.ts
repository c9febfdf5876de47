import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { BackendAddress, LookupFamily } from '../model/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { nameOf } from './connectionPool.ts';

/** An address that can be connected to without asking anybody. */
export interface Found {
  readonly host: string;
  readonly port: number;
  readonly tier: number;
}

export interface LookupTools {
  /** All addresses of a name. Rejects when it has none or nobody knows. */
  lookup(name: string): Promise<readonly { readonly address: string; readonly family: number }[]>;
  /** Between two looks at a name, in milliseconds. */
  readonly everyMs: number;
}

/** The resolver of the system blocks a thread of four that files and keys need as well: it gets two of them. */
const LOOKUPS_MOST = 2;
const queue: (() => void)[] = [];
let lookups = 0;

async function systemAddresses(name: string): Promise<{ address: string; family: number }[]> {
  if (lookups >= LOOKUPS_MOST) await new Promise<void>((resolve) => queue.push(resolve));
  else lookups++;
  try {
    return await lookup(name, { all: true, order: 'verbatim' });
  } finally {
    // The place goes to whoever is next.
    const next = queue.shift();
    if (next === undefined) lookups--;
    else next();
  }
}

/**
 * The resolver of the system, so that the hosts file and search domains count; it does not tell how long an answer
 * holds, hence the fixed time between looks.
 */
export const systemLookup: LookupTools = {
  lookup: systemAddresses,
  everyMs: 5_000,
};

/** More addresses of one name than anybody has; the rest is left out. */
const MOST = 256;

/** In another zone: counts when none of the own zone works. */
const ELSEWHERE = 2;
const SECOND_FAMILY = 1;

export interface Preferences {
  readonly lookupFamily: LookupFamily;
  readonly zone?: string;
}

/**
 * The addresses of a backend, now and whenever they change. Names are asked for in the background; a look that
 * fails leaves what was known. Other sources of addresses (a list in the model) change by another call of `use`.
 */
export class Resolution {
  /** Looks at names that found out something, and that did not. */
  found = 0;
  failed = 0;
  private readonly tools: LookupTools;
  private readonly log: Logger;
  private readonly onFound: (addresses: readonly Found[]) => void;
  private addresses: readonly BackendAddress[] = [];
  private preferences: Preferences = { lookupFamily: 'V4Preferred' };
  private readonly known = new Map<string, readonly { address: string; family: number }[]>();
  private readonly failing = new Set<string>();
  private timer: NodeJS.Timeout | undefined;
  private closed = false;
  private busy = false;
  private readonly first = Promise.withResolvers<void>();
  private looked = false;

  constructor(tools: LookupTools, log: Logger, onFound: (addresses: readonly Found[]) => void) {
    this.tools = tools;
    this.log = log;
    this.onFound = onFound;
  }

  use(addresses: readonly BackendAddress[], preferences: Preferences): void {
    this.closed = false;
    this.addresses = addresses;
    this.preferences = preferences;
    this.tell();
    if (!this.busy) {
      clearTimeout(this.timer);
      void this.look();
    }
  }

  /** Resolves (never rejects) when every name has been looked at once, found or not; undefined where that is done. */
  get looking(): Promise<void> | undefined {
    return this.looked ? undefined : this.first.promise;
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    this.settle();
  }

  private settle(): void {
    this.looked = true;
    this.first.resolve();
  }

  private async look(): Promise<void> {
    const names = [...new Set(this.addresses.map(({ host }) => host).filter((host) => isIP(host) === 0))];
    for (const name of this.known.keys()) if (!names.includes(name)) this.known.delete(name);
    if (names.length === 0) this.settle();
    if (names.length === 0 || this.closed) return;
    this.busy = true;
    const asked = this.addresses;
    const changes = await Promise.all(names.map((name) => this.lookAt(name)));
    this.busy = false;
    // A retired backend may be in use again; then `use` began another round or this one goes on.
    if (this.closed) return;
    if (changes.includes(true)) this.tell();
    this.settle();
    const ms = asked === this.addresses ? this.tools.everyMs : 0;
    this.timer = setTimeout(() => void this.look(), ms);
    this.timer.unref();
  }

  /** @returns true where something else is known now */
  private async lookAt(name: string): Promise<boolean> {
    try {
      const found = await this.tools.lookup(name);
      if (found.length === 0) throw new Error('it has no address');
      this.found++;
      if (this.failing.delete(name)) this.log.info('Backend name resolved again', { backend: name });
      const before = JSON.stringify(sorted(this.known.get(name) ?? []));
      this.known.set(name, found.slice(0, MOST));
      return JSON.stringify(sorted(found.slice(0, MOST))) !== before;
    } catch (error) {
      this.failed++;
      if (this.failing.has(name)) return false;
      this.failing.add(name);
      const { code, message } = error as NodeJS.ErrnoException;
      const kept = this.known.get(name)?.length ?? 0;
      this.log.warn('Backend name could not be resolved; the known addresses stay in use', {
        backend: name,
        problem: code ?? message,
        known: kept,
      });
      return false;
    }
  }

  private tell(): void {
    const all = new Map<string, Found>();
    for (const { host, port, zone } of this.addresses) {
      const far = zone !== undefined && this.preferences.zone !== undefined && zone !== this.preferences.zone;
      const base = far ? ELSEWHERE : 0;
      for (const { host: at, tier } of this.addressesOf(host)) {
        const found = { host: at, port, tier: base + tier };
        const key = nameOf(at, port);
        if ((all.get(key)?.tier ?? Infinity) > found.tier) all.set(key, found);
      }
    }
    this.onFound([...all.values()]);
  }

  private addressesOf(host: string): readonly { host: string; tier: number }[] {
    const known = this.known.get(host);
    // Until something is known the name itself is connected to, which looks it up once more.
    if (isIP(host) !== 0 || known === undefined) return [{ host, tier: 0 }];
    const { lookupFamily } = this.preferences;
    const wanted = known.filter(
      ({ family }) =>
        !((lookupFamily === 'V4Only' && family === 6) || (lookupFamily === 'V6Only' && family === 4)),
    );
    return wanted.map(({ address, family }) => ({
      host: address,
      tier: lookupFamily === 'V4Preferred' && family === 6 ? SECOND_FAMILY : 0,
    }));
  }
}

const sorted = (found: readonly { address: string }[]): string[] =>
  found.map(({ address }) => address).sort();
