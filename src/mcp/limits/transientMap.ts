/** A map with more entries moves into a new table after so many deletions. */
const deletionsOfTable = 1_024;

/**
 * A map whose entries come and go, and which often has one or none: calls under way, sessions of one request. The table of
 * a `Map` with such entries wears out and is replaced, and the old table points to the new one. A dead table that has
 * grown old would keep all later tables in memory, with what stood in them, until the next full collection. So a first
 * entry needs no table here, and many entries move into another `Map` now and then. They come in the order of `set`.
 */
export class TransientMap<K extends number | string | object, V> {
  /** The first entry; no key while there is none. */
  private key: K | undefined;
  private value: V | undefined;
  /** The entries that came while there was one. */
  private others: Map<K, V> | undefined;
  private deletions = 0;

  get size(): number {
    return (this.key === undefined ? 0 : 1) + (this.others?.size ?? 0);
  }

  get(key: K): V | undefined {
    return this.key === key ? this.value : this.others?.get(key);
  }

  has(key: K): boolean {
    return this.key === key || this.others?.has(key) === true;
  }

  set(key: K, value: V): void {
    if (this.key === key || this.size === 0) {
      this.key = key;
      this.value = value;
    } else (this.others ??= new Map()).set(key, value);
  }

  /** @returns whether there was such an entry */
  delete(key: K): boolean {
    if (this.key === key) {
      this.key = undefined;
      this.value = undefined;
      return true;
    }
    const { others } = this;
    if (others?.delete(key) !== true) return false;
    if (others.size === 0) this.others = undefined;
    else if (++this.deletions > deletionsOfTable + others.size) {
      this.deletions = 0;
      this.others = new Map(others);
    }
    return true;
  }

  clear(): void {
    this.key = undefined;
    this.value = undefined;
    this.others = undefined;
  }

  /** The entries of this moment: they may change while somebody goes through them. */
  entries(): [K, V][] {
    const others = this.others === undefined ? [] : [...this.others];
    return this.key === undefined ? others : [[this.key, this.value as V], ...others];
  }

  keys(): K[] {
    return this.entries().map(([key]) => key);
  }

  values(): V[] {
    return this.entries().map(([, value]) => value);
  }
}
