/**
 * The owners of names that carry no target (`prefixMode: never`): the first configured target whose list has the name.
 * A target that is away keeps the names of its last list, so that no other target inherits them.
 */

import type { Logger } from '../../telemetry/index.ts';
import { BackendNames } from './backendNames.ts';
import type { ItemKind } from '../items/items.ts';

/** Names of one target for one caller. */
type Names = Map<ItemKind, ReadonlySet<string>>;

/** Callers of backends that are remembered; the oldest are forgotten first. */
const maxScopes = 1_000;
/** Collisions that are remembered, so that each is logged once. */
const maxReported = 10_000;

/** An item that clients cannot reach, because another one has its name. */
export interface HiddenItem {
  readonly backend: string;
  readonly kind: ItemKind;
  readonly name: string;
  /** The target that owns the name. */
  readonly owner: string;
  /** The target whose item is hidden. */
  readonly target: string;
}

/** The owners that all sessions of a process know: sessions that begin while a target is away know its names, too. */
export class NameOwners {
  /** The names of all callers. */
  readonly ofBackends = new BackendNames();
  private readonly log: Logger;
  private readonly onHidden: (item: HiddenItem) => void;
  private readonly scopes = new Map<string, Map<string, Names>>();
  private readonly reported = new Map<string, HiddenItem>();
  /** Each change of what a scope knows has a number of its own. */
  private readonly versions = new Map<string, number>();
  private changes = 0;

  /** @param onHidden hears of each collision once */
  constructor(log: Logger, onHidden: (item: HiddenItem) => void) {
    this.log = log;
    this.onHidden = onHidden;
  }

  /** The names in the whole list of a target. @param scope backend and caller: callers may see different lists */
  learn(scope: string, target: string, kind: ItemKind, names: Iterable<string>): void {
    const targets = this.scopes.get(scope) ?? new Map<string, Names>();
    this.scopes.delete(scope);
    this.scopes.set(scope, targets);
    const known = targets.get(target) ?? new Map<ItemKind, ReadonlySet<string>>();
    targets.set(target, known);
    const learned = new Set(names);
    const before = known.get(kind);
    known.set(kind, learned);
    if (before === undefined || !isSame(before, learned)) this.versions.set(scope, ++this.changes);
    if (this.scopes.size > maxScopes) {
      const [oldest] = this.scopes.keys();
      this.scopes.delete(oldest!);
      this.versions.delete(oldest!);
    }
  }

  /** A session goes on with another credential of its caller: names that are unknown there are those before. */
  takeOver(before: string, scope: string): void {
    const names = this.scopes.get(before);
    if (names === undefined) return;
    for (const [target, kinds] of names)
      for (const [kind, known] of kinds)
        if (this.namesOf(scope, target, kind) === undefined) this.learn(scope, target, kind, known);
  }

  /** Another number means that owners in the scope may have changed. */
  versionOf(scope: string): number {
    return this.versions.get(scope) ?? 0;
  }

  /** The names in the last list of a target; undefined where it is not known. */
  namesOf(scope: string, target: string, kind: ItemKind): ReadonlySet<string> | undefined {
    return this.scopes.get(scope)?.get(target)?.get(kind);
  }

  /** Notes that an item of a list is not shown. */
  hidden(item: HiddenItem): void {
    const key = JSON.stringify(item);
    if (this.reported.has(key)) return;
    this.reported.set(key, item);
    if (this.reported.size > maxReported) {
      const [oldest] = this.reported.keys();
      this.reported.delete(oldest!);
    }
    const { backend, kind, name, owner, target } = item;
    this.log.warn('Item hidden: another target owns its name', {
      backend,
      target,
      owner,
      kind,
      name: name.slice(0, 200),
    });
    this.onHidden(item);
  }

  /** The items that are hidden. */
  get all(): Iterable<HiddenItem> {
    return this.reported.values();
  }
}

const isSame = (one: ReadonlySet<string>, other: ReadonlySet<string>): boolean =>
  one.size === other.size && [...one].every((name) => other.has(name));
