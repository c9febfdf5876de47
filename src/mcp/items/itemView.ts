/** The view of a backend: the tools, prompts and resources that its clients see, and how they are called there. */

import type { McpItemView, ViewEntry } from '../../model/index.ts';
import type { McpItem } from '../contract.ts';
import { memberOf, type Span } from '../json/envelope.ts';
import type { Edit } from '../json/scan.ts';
import type { ItemKind } from './items.ts';
import { readingsOf } from './nameReadings.ts';

/** Members of an item that a view can replace, in its list. */
const described = ['title', 'description'] as const;

interface CompiledEntry {
  readonly entry: ViewEntry;
  readonly matches: (name: string) => boolean;
}

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

  constructor(view: McpItemView, targets: readonly string[]) {
    this.rest = view.rest;
    this.targets = targets;
    const compile = (kind: ItemKind): readonly CompiledEntry[] | undefined =>
      view[lists[kind]]?.map((entry) => ({ entry, matches: matcherOf(entry.name) }));
    this.entries = { tool: compile('tool'), prompt: compile('prompt'), resource: compile('resource') };
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
    return this.entries[kind]?.find(
      ({ entry, matches }) => (entry.target === undefined || entry.target === target) && matches(name),
    )?.entry;
  }

  /** Does an entry show the item by its target and its whole name? */
  chooses(kind: ItemKind, target: string, name: string): boolean {
    const entry = this.entryOf(kind, target, name);
    return entry?.target === target && entry.name === name && entry.hide !== true;
  }

  /** The new name of a tool or a prompt; undefined where it keeps the one that it has. */
  newName(kind: ItemKind, target: string, name: string): string | undefined {
    return this.entryOf(kind, target, name)?.as;
  }

  /** The item that has a new name. */
  itemNamed(kind: ItemKind, shown: string): { readonly target: string; readonly name: string } | undefined {
    const found = this.entries[kind]?.find(({ entry }) => entry.as === shown)?.entry;
    const target = found?.target ?? this.targets[0];
    return found === undefined || target === undefined ? undefined : { target, name: found.name };
  }

  /** The edits that describe an item of a list anew. @param at the place of the item */
  descriptionEdits(kind: ItemKind, target: string, name: string, text: string, at: Span): readonly Edit[] {
    const entry = this.entryOf(kind, target, name);
    if (entry === undefined) return [];
    const edits: Edit[] = [];
    for (const member of described) {
      const value = entry[member];
      if (value === undefined) continue;
      const place = memberOf(text, at, member);
      const json = JSON.stringify(value);
      if (typeof place === 'object') edits.push({ start: place.start, end: place.end, replacement: json });
      else if (place === undefined) {
        const after = text.indexOf('{', at.start) + 1;
        edits.push({ start: after, end: after, replacement: `"${member}":${json},` });
      }
    }
    return edits;
  }
}

/** A name in which `*` stands for any characters, and an expression of a template (RFC 6570) does so, too. */
function matcherOf(pattern: string): (name: string) => boolean {
  if (!/[*{]/.test(pattern)) return (name) => name === pattern;
  const parts = pattern.split(/\*|\{[^{}]*\}/);
  return (name) => name === pattern || consistsOf(name, parts);
}

/** Do the parts stand in the text in this order, the first at its start and the last at its end? */
function consistsOf(text: string, parts: readonly string[]): boolean {
  const [first = '', ...rest] = parts;
  const last = rest.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}
