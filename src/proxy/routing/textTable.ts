/** Grows when more than half of its places are taken, so that a search ends soon. */
const PLACES_FIRST = 8;

/**
 * Values by text, looked up by a part of another text. A Map would want that part as a string of its own, and V8
 * internalises every string that a Map is asked for: for texts that come with requests, and are new each time, that
 * is most of what a look costs, and it keeps them until the next full collection. What is looked for may be chosen by
 * an attacker; what is in here may not, since nothing bounds how many of its texts share a place.
 */
export class TextTable<T> {
  size = 0;
  /** Key and value of each place, side by side. */
  private places: (string | T | undefined)[] = Array.from({ length: PLACES_FIRST * 2 }, () => undefined);
  private mask = PLACES_FIRST - 1;

  get(text: string): T | undefined {
    let hash = 0;
    for (let i = 0; i < text.length; i++) hash = hashed(hash, text.charCodeAt(i));
    return this.find(text, 0, text.length, hash);
  }

  /** The value of `text[from..to)`; `hash` is `hashed` over all of its characters, beginning with 0. */
  find(text: string, from: number, to: number, hash: number): T | undefined {
    const { places, mask } = this;
    for (let place = placeOf(hash, mask); ; place = (place + 1) & mask) {
      const key = places[place * 2] as string | undefined;
      if (key === undefined) return undefined;
      if (key.length === to - from && text.startsWith(key, from)) return places[place * 2 + 1] as T;
    }
  }

  set(key: string, value: T): void {
    if ((this.size + 1) * 2 > this.mask) this.grow();
    if (this.put(key, value)) this.size++;
  }

  *values(): Iterable<T> {
    for (let i = 0; i < this.places.length; i += 2)
      if (this.places[i] !== undefined) yield this.places[i + 1] as T;
  }

  /** @returns false where the key was there */
  private put(key: string, value: T): boolean {
    const { places, mask } = this;
    let hash = 0;
    for (let i = 0; i < key.length; i++) hash = hashed(hash, key.charCodeAt(i));
    let place = placeOf(hash, mask);
    while (places[place * 2] !== undefined && places[place * 2] !== key) place = (place + 1) & mask;
    const isNew = places[place * 2] === undefined;
    places[place * 2] = key;
    places[place * 2 + 1] = value;
    return isNew;
  }

  private grow(): void {
    const before = this.places;
    this.mask = this.mask * 2 + 1;
    this.places = Array.from({ length: before.length * 2 }, () => undefined);
    for (let i = 0; i < before.length; i += 2)
      if (before[i] !== undefined) this.put(before[i] as string, before[i + 1] as T);
  }
}

/** Takes one more character into a hash. */
export const hashed = (hash: number, code: number): number => (Math.imul(hash, 31) + code) | 0;

/** Bits in the middle of a product depend on all bits below them. */
const placeOf = (hash: number, mask: number): number =>
  (Math.imul(hash ^ (hash >>> 15), -1_640_531_527) >>> 8) & mask;
