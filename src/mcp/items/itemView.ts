/** The view of a backend: the tools, prompts and resources that its clients see, and how they are called there. */

import {
  compileEntries,
  entryOf,
  type CompiledEntry,
  type McpItemView,
  type ViewEntry,
} from '../../model/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { McpItem } from '../contract.ts';
import { isLike, type Span } from '../json/envelope.ts';
import { addition, objectMembers } from '../json/objectMembers.ts';
import type { Edit } from '../json/scan.ts';
import type { ItemKind } from './items.ts';
import { readingsOf } from './nameReadings.ts';
import { UnmatchedEntries } from './unmatchedEntries.ts';

/** Members of an item that a view can replace, in its list. */
const described = ['title', 'description'] as const;

const lists: Readonly<Record<ItemKind, 'tools' | 'prompts' | 'resources'>> = {
  tool: 'tools',
  prompt: 'prompts',
  resource: 'resources',
};

export class ItemView {
  private readonly rest: McpItemView['rest'];
  /** Kinds without a list are shown whole. */
  private readonly entries: Readonly<Record<ItemKind, readonly CompiledEntry[] | undefined>>;
  private readonly targets: readonly string[];
  /** A resource that is in no list may be there all the same. */
  private readonly unmatched: Readonly<Record<ItemKind, UnmatchedEntries | undefined>>;

  constructor(view: McpItemView, targets: readonly string[]) {
    this.rest = view.rest;
    this.targets = targets;
    const compile = (kind: ItemKind): readonly CompiledEntry[] | undefined => {
      const entries = view[lists[kind]];
      return entries && compileEntries(entries);
    };
    this.entries = { tool: compile('tool'), prompt: compile('prompt'), resource: compile('resource') };
    const unmatched = (kind: 'tool' | 'prompt'): UnmatchedEntries =>
      new UnmatchedEntries(kind, view[lists[kind]] ?? [], targets);
    this.unmatched = { tool: unmatched('tool'), prompt: unmatched('prompt'), resource: undefined };
  }

  /** Is the item hidden, whatever reading of its name the server takes? */
  hides(kind: ItemKind, target: string, name: string, template = false): boolean {
    if (this.entries[kind] === undefined) return false;
    const readings = readingsOf(kind, name, template);
    return readings?.every((reading) => this.shows({ kind, target, name: reading })) !== true;
  }

  /** Does the view show an item by this reading of its name? */
  shows({ kind, target, name }: McpItem): boolean {
    if (this.entries[kind] === undefined) return true;
    const entry = this.entryOf(kind, target, name);
    return entry === undefined ? this.rest === 'show' : entry.hide !== true;
  }

  private entryOf(kind: ItemKind, target: string, name: string): ViewEntry | undefined {
    const entries = this.entries[kind];
    return entries && entryOf(entries, target, name);
  }

  /** Does an entry show the item by its target and its whole name? */
  chooses(kind: ItemKind, target: string, name: string): boolean {
    const entry = this.entryOf(kind, target, name);
    return entry?.target === target && entry.name === name && entry.hide !== true;
  }

  /** The new name of a tool or a prompt; undefined where it keeps the one that it has. */
  newName(kind: ItemKind, target: string, name: string): string | undefined {
    // Clients name a resource by its URI, whatever `name` it has.
    if (kind === 'resource') return undefined;
    return this.entryOf(kind, target, name)?.as;
  }

  /** The item that has a new name. */
  itemNamed(kind: ItemKind, shown: string): { readonly target: string; readonly name: string } | undefined {
    const found = this.entries[kind]?.find(({ entry }) => entry.as === shown)?.entry;
    const target = found?.target ?? this.targets[0];
    if (found === undefined || target === undefined) return undefined;
    // An entry before it may decide about the item.
    const { name } = found;
    return this.newName(kind, target, name) === shown ? { target, name } : undefined;
  }

  /** Compares the entries with the whole list of a target. @param names asked if there is something to compare */
  compareWith(
    kind: ItemKind,
    target: string,
    names: () => Iterable<string | undefined>,
    log: Pick<Logger, 'warn'>,
  ): void {
    const unmatched = this.unmatched[kind];
    if (unmatched?.isOpenFor(target) === true) unmatched.compare(target, new Set(names()), log);
  }

  /** The edits that describe an item of a list anew. @param at the place of the item */
  descriptionEdits(kind: ItemKind, target: string, name: string, text: string, at: Span): readonly Edit[] {
    const entry = this.entryOf(kind, target, name);
    if (entry === undefined) return [];
    const edits: Edit[] = [];
    const members = objectMembers(text, at) ?? [];
    // An entry with a pattern of URIs describes many resources: they keep their names.
    const as = kind === 'resource' && entry.name === name ? entry.as : undefined;
    for (const [member, value] of [
      ['name', as],
      ...described.map((one) => [one, entry[one]] as const),
    ] as const) {
      if (value === undefined) continue;
      const json = JSON.stringify(value);
      // Clients read any one of members that are there twice: none keeps the words of the server.
      const found = members.filter(({ name: one }) => isLike(one, member));
      for (const { value: place } of found) edits.push({ ...place, replacement: json });
      if (found.length === 0) edits.push(addition(text, at, `"${member}":${json}`));
    }
    return edits;
  }
}
