import type { JsonPath, JsonPathPart } from '../../model/index.ts';

const part = /\.\.(?=[\w$*[-])|\.?([\w$-]+|\*)|\[(\d{1,6}|\*|'[^'\\]*'|"[^"\\]*")\]/y;
const maxParts = 32;

/**
 * Reads a path in the arguments of a call: names, `*`, `[0]`, `[*]`, `['a name']`, and `..` for any number of levels.
 * The leading `$` may be left out.
 * @returns undefined for a text that is no path
 */
export function parseJsonPath(text: string): JsonPath | undefined {
  const parts: JsonPathPart[] = [];
  let at = text.startsWith('$') ? 1 : 0;
  const start = at;
  while (at < text.length) {
    part.lastIndex = at;
    const found = part.exec(text);
    if (found === null || parts.length >= maxParts) return undefined;
    // Two names need a dot between them, and a path from `$` begins with one.
    const [whole, name, bracket] = found;
    if (name !== undefined && !whole.startsWith('.') && !mayStandAlone(at, start, parts)) return undefined;
    at += whole.length;
    if (whole === '..') parts.push({ kind: 'deep' });
    else if ((name ?? bracket) === '*') parts.push({ kind: 'any' });
    else if (name !== undefined) parts.push({ kind: 'name', name });
    else if (bracket !== undefined)
      parts.push(
        /^\d/.test(bracket)
          ? { kind: 'index', index: Number(bracket) }
          : { kind: 'name', name: bracket.slice(1, -1) },
      );
  }
  return parts.length === 0 ? undefined : parts;
}

const mayStandAlone = (at: number, start: number, parts: readonly JsonPathPart[]): boolean =>
  (at === 0 && start === 0) || parts.at(-1)?.kind === 'deep';
