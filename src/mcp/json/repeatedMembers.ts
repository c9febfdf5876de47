import { foldKey } from './envelope.ts';
import { CLOSE_LIST, CLOSE_OBJECT, COLON, OPEN_LIST, OPEN_OBJECT, QUOTE } from './jsonBytes.ts';
import { decodeString, skipSpace, skipString } from './scan.ts';

/**
 * Does an object in the JSON text have a member twice, whatever the case of its letters? Readers disagree on the value of
 * such a member (RFC 8259 §4). The text is read once, however deep it is nested.
 */
export function hasRepeatedMembers(text: string): boolean {
  /** The names in the open objects, the innermost last; undefined for a list. */
  const open: (Set<string> | undefined)[] = [];
  for (let at = 0; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === OPEN_OBJECT) open.push(new Set());
    else if (c === OPEN_LIST) open.push(undefined);
    else if (c === CLOSE_OBJECT || c === CLOSE_LIST) open.pop();
    else if (c === QUOTE) {
      const end = skipString(text, at);
      if (end < 0) return false;
      const names = open.at(-1);
      // A string before a colon is a name.
      if (names !== undefined && text.charCodeAt(skipSpace(text, end)) === COLON) {
        const name = foldKey(decodeString(text, at, end) ?? '');
        if (names.has(name)) return true;
        names.add(name);
      }
      at = end - 1;
    }
  }
  return false;
}
