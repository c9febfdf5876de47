import type { Gateway } from '../../../src/controller/types/index.ts';

/** The addresses that the node of the test bed keeps for load balancers. */
const pool: readonly string[] = Array.from({ length: 51 }, (_, index) => `198.19.0.${String(10 + index)}`);

interface Place {
  readonly address: string | undefined;
  readonly unusable: readonly string[];
}

/** Gives each Gateway an address: the one that it asks for, else the one that it has, else the one free for longest. */
export class AddressPool {
  readonly #places = new Map<string, Place>();
  /** The one given back last stands last, so that nobody who still asks there meets another Gateway. */
  readonly #free = [...pool];

  /** @param gateways all that there are */
  give(gateways: readonly Gateway[]): void {
    const wanted = new Map(
      gateways.map(({ metadata, spec }) => [
        `${metadata.namespace ?? ''}/${metadata.name}`,
        (spec.addresses ?? []).flatMap(({ value = '' }) => (value === '' ? [] : [value])),
      ]),
    );
    for (const [key, { address }] of this.#places) {
      if (wanted.has(key)) continue;
      this.#places.delete(key);
      if (address !== undefined) this.#free.push(address);
    }
    for (const [key, asked] of wanted)
      this.#places.set(key, this.#place(this.#places.get(key)?.address, asked));
  }

  of(key: string): string | undefined {
    return this.#places.get(key)?.address;
  }

  /** The requested addresses that it cannot have. */
  unusable(key: string): readonly string[] {
    return this.#places.get(key)?.unusable ?? [];
  }

  #place(has: string | undefined, asked: readonly string[]): Place {
    const unusable = asked.filter((address) => address !== has && !this.#free.includes(address));
    const wish = asked.find((address) => !unusable.includes(address));
    if (has !== undefined && (asked.length === 0 || wish === has)) return { address: has, unusable };
    if (has !== undefined) this.#free.push(has);
    const address = wish ?? (asked.length === 0 ? this.#free[0] : undefined);
    if (address !== undefined) this.#free.splice(this.#free.indexOf(address), 1);
    return { address, unusable };
  }
}
