/** Entries of a view about one tool or prompt that no server has. */

import { isLiteral, type ViewEntry } from '../../model/index.ts';
import type { Logger } from '../../telemetry/index.ts';

export class UnmatchedEntries {
  private readonly kind: 'tool' | 'prompt';
  /** The targets that may have the item of an entry: their lists were not compared with it yet. */
  private readonly open = new Map<ViewEntry, Set<string>>();

  constructor(kind: 'tool' | 'prompt', entries: readonly ViewEntry[], targets: readonly string[]) {
    this.kind = kind;
    for (const entry of entries)
      if (isLiteral(entry))
        this.open.set(entry, new Set(entry.target === undefined ? targets : [entry.target]));
  }

  /** Is there an entry that no list of the target was compared with? */
  isOpenFor(target: string): boolean {
    for (const targets of this.open.values()) if (targets.has(target)) return true;
    return false;
  }

  /**
   * Compares the entries with the whole list of a target. Warns once of each entry whose item no target has.
   * @param names the target's own names of its items
   */
  compare(target: string, names: ReadonlySet<string | undefined>, log: Pick<Logger, 'warn'>): void {
    for (const [entry, targets] of this.open) {
      if (!targets.delete(target)) continue;
      if (names.has(entry.name)) this.open.delete(entry);
      else if (targets.size === 0) {
        this.open.delete(entry);
        log.warn(`View names a ${this.kind} that no server lists`, {
          [this.kind]: entry.name,
          ...(entry.target !== undefined && { target: entry.target }),
        });
      }
    }
  }
}
