/**
 * The names under which clients know the items of a backend. They depend on the configured targets only, never on which
 * of them are alive, and they can be taken back without a memory.
 */

import { createHash } from 'node:crypto';
import type { McpBackend } from '../../model/index.ts';
import type { ItemKind } from './items.ts';
import { ItemView } from './itemView.ts';

/** Characters of a name of a tool (MCP 2025-11-25, "Tool Names"). */
const maxNameLength = 128;
const allowedInTools = /^[A-Za-z0-9._-]+$/;
const forbiddenInTools = /[^A-Za-z0-9._-]/g;
const hashLength = 8;
/** The end of a name that was changed. */
const changed = /_[0-9a-f]{8}$/;

/** An item by its target and the target's own name for it. */
export interface OwnItem {
  readonly target: string;
  readonly name: string;
}

/** The same for a name that does not tell all: the lists of the targets decide. */
export interface OpenName {
  /** The targets that may own it, in their configured order. */
  readonly candidates: readonly string[];
}

/** MCP Apps demand this scheme: the target goes behind it. */
const appScheme = 'ui://';

/** The settings of a backend that decide on names. */
export type NamingSettings = Pick<McpBackend, 'targets' | 'prefixMode' | 'prefixSeparator' | 'view'>;

export class Naming {
  /** Several targets stand behind one endpoint. */
  readonly federated: boolean;
  /** Absent: clients see every item. */
  readonly view: ItemView | undefined;
  /** The settings of the view, to compare them. */
  private readonly viewText: string;
  /** In configured order. */
  private readonly targets: readonly string[];
  private readonly prefixes: ReadonlyMap<string, string>;
  /** Longest first, so that `a_b_` wins over `a_`. Many targets have prefixes of few lengths. */
  private readonly targetsByPrefix: readonly (readonly [length: number, targets: Map<string, string>])[];
  private readonly labels: ReadonlyMap<string, string>;
  private readonly byLabel: ReadonlyMap<string, string>;

  constructor({ targets, prefixMode, prefixSeparator = '_', view }: NamingSettings) {
    this.federated = targets.length > 1;
    this.targets = targets.map(({ name }) => name);
    this.view = view && new ItemView(view, this.targets);
    this.viewText = JSON.stringify(view ?? null);
    const prefixed = prefixMode === 'always' || (prefixMode === 'conditional' && this.federated);
    this.prefixes = new Map(this.targets.map((name) => [name, prefixed ? name + prefixSeparator : '']));
    const byLength = Map.groupBy(this.prefixes, ([, { length }]) => length);
    this.targetsByPrefix = [...byLength]
      .map(([length, all]) => [length, new Map(all.map(([name, prefix]) => [prefix, name]))] as const)
      .toSorted(([a], [b]) => b - a);
    this.labels = this.federated ? labelsOf(this.targets) : new Map<string, string>();
    this.byLabel = new Map([...this.labels].map(([target, label]) => [label, target]));
  }

  /** The client's name for a tool or a prompt of a target. */
  shownName(kind: ItemKind, target: string, name: string): string {
    return this.view?.newName(kind, target, name) ?? this.prefixedName(kind, target, name);
  }

  /** Does the view give the name of an item to another item of its target? */
  isTaken(kind: ItemKind, target: string, name: string): boolean {
    const renamed = this.view?.itemNamed(kind, this.shownName(kind, target, name));
    return renamed !== undefined && renamed.target === target && renamed.name !== name;
  }

  /** The text before the names of tools and prompts of a target; empty where they have no prefix. */
  prefixOf(target: string): string {
    return this.prefixes.get(target) ?? '';
  }

  /** The name with the prefix of its target, changed where MCP would not allow it. Prompts may have any characters. */
  prefixedName(kind: ItemKind, target: string, name: string): string {
    const prefix = this.prefixOf(target);
    if (prefix === '') return name;
    const whole = prefix + name;
    const isAllowed = kind !== 'tool' || allowedInTools.test(whole);
    if (isAllowed && whole.length <= maxNameLength) return whole;
    const hash = createHash('sha256').update(name).digest('hex').slice(0, hashLength);
    const allowed = isAllowed ? whole : whole.replaceAll(forbiddenInTools, '_');
    return `${allowed.slice(0, maxNameLength - hashLength - 1)}_${hash}`;
  }

  /** The item that a client's name for a tool or a prompt stands for; undefined where it is none of this backend. */
  itemOf(kind: ItemKind, shown: string): OwnItem | OpenName | undefined {
    const renamed = this.view?.itemNamed(kind, shown);
    if (renamed !== undefined) return renamed;
    const found = this.itemOfPrefixed(kind, shown);
    if (found === undefined || !('target' in found)) return found;
    return this.isRenamed(kind, found) ? undefined : found;
  }

  /** The item whose own name stands behind the prefix of its target; undefined where clients call it otherwise. */
  itemBehindPrefix(kind: ItemKind, target: string, shown: string): OwnItem | undefined {
    const item = { target, name: shown.slice(this.prefixOf(target).length) };
    return this.isRenamed(kind, item) ? undefined : item;
  }

  /** An item that has another name for clients does not have its own one, too. */
  private isRenamed(kind: ItemKind, { target, name }: OwnItem): boolean {
    return this.view?.newName(kind, target, name) !== undefined;
  }

  private itemOfPrefixed(kind: ItemKind, shown: string): OwnItem | OpenName | undefined {
    for (const [length, targets] of this.targetsByPrefix) {
      const target = targets.get(shown.slice(0, length));
      if (target === undefined) continue;
      if (length === 0) return this.federated ? { candidates: this.targets } : { target, name: shown };
      if ((kind === 'tool' || shown.length === maxNameLength) && changed.test(shown))
        return { candidates: [target] };
      return { target, name: shown.slice(length) };
    }
    return undefined;
  }

  /** The client's URI, or template of URIs, for a resource of a target. */
  shownUri(target: string, uri: string): string {
    const label = this.labels.get(target);
    if (label === undefined) return uri;
    if (uri.startsWith(appScheme)) return `${appScheme}${label}+${uri.slice(appScheme.length)}`;
    return `${label}+${uri}`;
  }

  /** The resource that a client's URI stands for; undefined where it is none of this backend. */
  resourceOf(shown: string): OwnItem | undefined {
    if (!this.federated) return { target: this.targets[0]!, name: shown };
    const start = shown.toLowerCase().startsWith(appScheme) ? appScheme.length : 0;
    const plus = shown.indexOf('+', start);
    if (plus < 0) return undefined;
    // Readers of URIs write schemes and hosts in lower case (RFC 3986 §6.2.2.1).
    const target = this.byLabel.get(shown.slice(start, plus).toLowerCase());
    return target === undefined ? undefined : { target, name: shown.slice(0, start) + shown.slice(plus + 1) };
  }

  /** Does a client see the items of the target under the same names as with another naming? */
  showsAlike(other: Naming, target: string): boolean {
    return (
      this.viewText === other.viewText &&
      this.prefixOf(target) === other.prefixOf(target) &&
      this.shownUri(target, 'x:') === other.shownUri(target, 'x:')
    );
  }

  /** The client's name of an item. */
  shown(kind: ItemKind, target: string, name: string): string {
    return kind === 'resource' ? this.shownUri(target, name) : this.shownName(kind, target, name);
  }

  /** The item that a client names; names of tools and prompts may be open. */
  ownItem(kind: ItemKind, shown: string): OwnItem | OpenName | undefined {
    return kind === 'resource' ? this.resourceOf(shown) : this.itemOf(kind, shown);
  }
}

/**
 * Names of the targets that can begin a scheme of URIs (RFC 3986 §3.1). A simple name is its own label; others get
 * dashes, and a number where two would be the same.
 */
function labelsOf(targets: readonly string[]): ReadonlyMap<string, string> {
  const labels = new Map<string, string>();
  const taken = new Set<string>();
  const plainOf = (target: string): string => target.toLowerCase().replaceAll(/[^a-z0-9.-]/g, '-');
  // Names that need no change keep their label, whatever stands before them.
  for (const target of targets.toSorted((a, b) => Number(plainOf(a) !== a) - Number(plainOf(b) !== b))) {
    const plain = plainOf(target);
    const base = /^[a-z]/.test(plain) ? plain : `t-${plain}`;
    let label = base;
    for (let n = 2; taken.has(label); n++) label = `${base}-${n}`;
    taken.add(label);
    labels.set(target, label);
  }
  return labels;
}

const namings = new WeakMap<McpBackend, Naming>();

/** The naming of a backend; it is made once. */
export function namingOf(settings: McpBackend): Naming {
  let naming = namings.get(settings);
  if (naming === undefined) namings.set(settings, (naming = new Naming(settings)));
  return naming;
}
