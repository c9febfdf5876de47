/**
 * Remembers verified tokens. Two generations: when the young one is full it becomes the old one, and what is asked
 * for again is carried over; that is a least-recently-used cache without the bookkeeping. Bounded in entries and in
 * characters. Only tokens with a good signature get in, so strangers cannot fill it.
 */
export class TokenCache<T> {
  private readonly maxEntries: number;
  private readonly maxCharacters: number;
  private young = new Map<string, T>();
  private old = new Map<string, T>();
  private characters = 0;

  /** Limits of one generation. */
  constructor(maxEntries: number, maxCharacters: number) {
    this.maxEntries = maxEntries;
    this.maxCharacters = maxCharacters;
  }

  get(token: string): T | undefined {
    const found = this.young.get(token);
    if (found !== undefined) return found;
    const older = this.old.get(token);
    if (older !== undefined) this.set(token, older);
    return older;
  }

  set(token: string, value: T): void {
    if (this.young.size >= this.maxEntries || this.characters + token.length > this.maxCharacters) {
      this.old = this.young;
      this.young = new Map();
      this.characters = 0;
    }
    if (!this.young.has(token)) this.characters += token.length;
    this.young.set(token, value);
  }

  delete(token: string): void {
    if (this.young.delete(token)) this.characters -= token.length;
    this.old.delete(token);
  }

  get size(): number {
    return this.young.size + this.old.size;
  }
}
