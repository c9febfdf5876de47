import { foldKey, type Span } from './envelope.ts';
import { Elements, Members } from './scan.ts';

const OPEN_LIST = 0x5b;
const OPEN_OBJECT = 0x7b;

/**
 * Does an object in the JSON text have a member twice, whatever the case of its letters? Readers disagree on the value of
 * such a member (RFC 8259 §4).
 */
export function hasRepeatedMembers(
  text: string,
  at: Span = { start: text.search(/\S/), end: text.length },
): boolean {
  const open = text.charCodeAt(at.start);
  if (open === OPEN_LIST) {
    const elements = new Elements(text, at.start);
    while (elements.next())
      if (hasRepeatedMembers(text, { start: elements.start, end: elements.end })) return true;
    return false;
  }
  if (open !== OPEN_OBJECT) return false;
  const seen = new Set<string>();
  const members = new Members(text, at.start);
  while (members.next()) {
    const key = foldKey(members.key);
    if (seen.has(key) || hasRepeatedMembers(text, { start: members.start, end: members.end })) return true;
    seen.add(key);
  }
  return false;
}
