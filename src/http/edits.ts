import type { HeaderLine } from './exchange.ts';
import { fieldHash } from './fields.ts';

/**
 * Changes to a set of headers, noted now and applied once when the head is written. Names are kept in lower case.
 * `remove` and `set` drop every line of that name that came from the peer; `set` replaces earlier edits of the
 * name, `add` appends.
 */
export class HeaderEdits {
  /** Lines to write, in order. */
  lines: HeaderLine[] = [];
  private readonly names: string[] = [];
  private readonly hashes: number[] = [];

  get empty(): boolean {
    return this.names.length === 0 && this.lines.length === 0;
  }

  /** True when some lines of the peer are dropped. */
  get drops(): boolean {
    return this.names.length !== 0;
  }

  set(name: string, value: string): void {
    this.remove(name);
    this.lines.push([name.toLowerCase(), value]);
  }

  add(name: string, value: string): void {
    this.lines.push([name.toLowerCase(), value]);
  }

  remove(name: string): void {
    const key = name.toLowerCase();
    if (!this.names.includes(key)) {
      this.names.push(key);
      this.hashes.push(fieldHash(key));
    }
    if (this.lines.some(([known]) => known === key))
      this.lines = this.lines.filter(([known]) => known !== key);
  }

  /** Are the peer's lines of this name dropped? */
  dropsName(lowerName: string): boolean {
    return this.names.includes(lowerName);
  }

  /** Is anything said about this name? */
  touches(lowerName: string): boolean {
    return this.dropsName(lowerName) || this.lines.some(([known]) => known === lowerName);
  }

  /** Might a name of this hash be dropped? Spares reading the names of fields that stay. */
  dropsHash(hash: number): boolean {
    return this.hashes.includes(hash);
  }

  /** The edits applied to lines in any case of name. */
  apply(lines: readonly HeaderLine[]): HeaderLine[] {
    return [...lines.filter(([name]) => !this.dropsName(name.toLowerCase())), ...this.lines];
  }
}
