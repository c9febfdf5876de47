/** Members that are kept of one name, and characters of their values. */
const most = { members: 1_024, length: 128 };

/** Longest text in a line, in characters. */
export const maxText = 512;

/** The member with a comma before it; empty where there is no value. */
export type MemberText = (value: string | undefined) => string;

/**
 * Makes the JSON text of a member of one name. It keeps the texts, since the same listeners, targets and callers come again
 * and again. Values must be those of the gateway, of its configuration, or of a token that was proven.
 */
export function keptMember(name: string): MemberText {
  const kept = new Map<string, string>();
  return (value) => {
    if (value === undefined || value === '') return '';
    const known = kept.get(value);
    if (known !== undefined) return known;
    const text = flat(`,"${name}":`, JSON.stringify(value.slice(0, maxText)));
    if (value.length > most.length) return text;
    if (kept.size >= most.members) kept.clear();
    kept.set(value, text);
    return text;
  };
}

/** The parts as one piece of memory: V8 keeps a sum as a tree of its parts, and walks it each time that it is read. */
export const flat = (...parts: readonly string[]): string => parts.join('');
