import type { HeaderLine } from './exchange.ts';

/**
 * Changes to a set of headers, noted now and applied once when the head is written. Names are kept in lower case.
 * `remove` and `set` drop every line of that name that came from the peer; `set` replaces earlier edits of the
 * name, `add` appends.
 */
export class HeaderEdits {
  /** Names whose original lines are dropped. */
  readonly dropped = new Set<string>();
  /** Lines to write, in order. */
  lines: HeaderLine[] = [];

  get empty(): boolean {
    return this.dropped.size === 0 && this.lines.length === 0;
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
    this.dropped.add(key);
    if (this.lines.some(([known]) => known === key))
      this.lines = this.lines.filter(([known]) => known !== key);
  }

  /** The edits applied to lines whose names are in lower case. */
  apply(lines: readonly HeaderLine[]): HeaderLine[] {
    return [...lines.filter(([name]) => !this.dropped.has(name.toLowerCase())), ...this.lines];
  }
}
