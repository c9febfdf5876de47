/**
 * Names that targets have had for any caller of their backend. Lists differ from caller to caller, so these names show
 * and allow nothing: they only keep later targets from a name while the list of an earlier target cannot be read.
 */

import type { PinnedNames } from '../../pins/index.ts';
import type { ItemKind } from '../items/items.ts';

/** Names of one kind that are remembered for a target; a hostile server could make up names for ever. */
const maxNames = 20_000;
/** Targets that are remembered, those of former configurations included; the oldest are forgotten first. */
const maxTargets = 10_000;

interface TargetNames {
  readonly backend: string;
  readonly kinds: Map<ItemKind, Set<string>>;
  /** The names that were pinned, also before this process began. */
  pinned?: PinnedNames | undefined;
}

export class BackendNames {
  private readonly targets = new Map<string, TargetNames>();

  /** Adds the names in the whole list of a target, for one caller. */
  learn(backend: string, target: string, kind: ItemKind, names: Iterable<string>): void {
    const { kinds } = this.entry(backend, target);
    const known = kinds.get(kind) ?? new Set();
    kinds.set(kind, known);
    for (const name of names) {
      if (known.size >= maxNames) return;
      known.add(name);
    }
  }

  /** Adds the pinned names of a target, unless they were added before. @param read undefined where they cannot be read */
  async recall(backend: string, target: string, read: () => Promise<PinnedNames | undefined>): Promise<void> {
    const entry = this.entry(backend, target);
    entry.pinned ??= await read();
  }

  /** Has a target had the name? */
  has(backend: string, target: string, kind: ItemKind, name: string): boolean {
    const found = this.targets.get(keyOf(backend, target));
    if (found === undefined) return false;
    if (found.kinds.get(kind)?.has(name) === true) return true;
    return kind !== 'resource' && found.pinned?.has(kind, name) === true;
  }

  /** After a reload: forgets the backends whose key is not in the set. */
  retire(liveKeys: ReadonlySet<string>): void {
    for (const [key, { backend }] of [...this.targets]) if (!liveKeys.has(backend)) this.targets.delete(key);
  }

  private entry(backend: string, target: string): TargetNames {
    const key = keyOf(backend, target);
    const entry = this.targets.get(key) ?? { backend, kinds: new Map<ItemKind, Set<string>>() };
    // The newest stands last.
    this.targets.delete(key);
    this.targets.set(key, entry);
    if (this.targets.size > maxTargets) {
      const [oldest] = this.targets.keys();
      this.targets.delete(oldest!);
    }
    return entry;
  }
}

const keyOf = (backend: string, target: string): string => JSON.stringify([backend, target]);
