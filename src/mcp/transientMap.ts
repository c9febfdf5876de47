/**
 * A map that mostly has one entry or none, such as the calls under way of one session. A `Map` makes a new table each
 * time it becomes empty, and the old table points to the new one: a dead table that has grown old keeps all later ones
 * in memory until the next full collection. Entries come in the order of `set`.
 */
export class SmallMap<K extends number | object, V> {
  /** The first entry; no key while there is none. */
  private key: K | undefined;
  private value: V | undefined;
  /** The entries that came while there was one. */
  private others: Map<K, V> | undefined;

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
    if (this.others?.delete(key) !== true) return false;
    if (this.others.size === 0) this.others = undefined;
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
