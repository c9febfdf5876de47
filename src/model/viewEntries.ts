/** The entries of a view, and the names that they match. */

import type { ViewEntry } from './model.ts';

/** The part of an entry that decides which items it matches. */
type Pattern = { readonly target?: string | undefined; readonly name: string };

/** An entry that is ready to be compared with names. */
export interface CompiledEntry {
  readonly entry: ViewEntry;
  readonly matches: (name: string) => boolean;
}

export const compileEntries = (entries: readonly ViewEntry[]): readonly CompiledEntry[] =>
  entries.map((entry) => ({ entry, matches: matcherOf(entry.name) }));

/** The first entry that matches an item decides about it. */
export const entryOf = (
  entries: readonly CompiledEntry[],
  target: string,
  name: string,
): ViewEntry | undefined =>
  entries.find(
    ({ entry, matches }) => (entry.target === undefined || entry.target === target) && matches(name),
  )?.entry;

/** Does an entry name one item? */
export const isLiteral = ({ name }: Pattern): boolean => !wildcard.test(name);

/** Does an entry match every item that a later one matches? The later one then decides about nothing. */
export function shadows(first: Pattern, later: Pattern): boolean {
  if (first.target !== undefined && first.target !== later.target) return false;
  // A star of the later pattern is a character that only a star of the first one matches.
  return first.name === later.name || matcherOf(first.name)(later.name.replaceAll(expression, '*'));
}

const wildcard = /[*{]/;
const expression = /\{[^{}]*\}/g;

/** A name in which `*` stands for any characters, and an expression of a template (RFC 6570) does so, too. */
function matcherOf(pattern: string): (name: string) => boolean {
  if (!wildcard.test(pattern)) return (name) => name === pattern;
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
