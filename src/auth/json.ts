/** `ignoreBOM` keeps a byte order mark in the text, where JSON refuses it (RFC 8259 §8.1); otherwise it would vanish. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Deeper data has no place in a token; the bound keeps every later walk short. */
const maxDepth = 32;

/**
 * Reads the JSON object in `bytes`. Refuses what parsers disagree about: bytes that are not UTF-8, a byte order
 * mark, a member named twice (RFC 7515 §4, RFC 7519 §4: one program would check the first `aud`, another the last), and very deep data.
 */
export function parseStrictObject(bytes: Buffer): Record<string, unknown> | undefined {
  try {
    const text = utf8.decode(bytes);
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    return isPlain(text) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** For text that is valid JSON: no repeated names and not too deep? */
function isPlain(text: string): boolean {
  /** An entry for each open bracket: the names seen in an object, null in a list. */
  const open: (Set<string> | null)[] = [];
  for (let i = 0; i < text.length; i += 1) {
    const char = text[i];
    if (char === '{' || char === '[') {
      if (open.push(char === '{' ? new Set() : null) > maxDepth) return false;
    } else if (char === '}' || char === ']') {
      open.pop();
    } else if (char === '"') {
      const end = endOfString(text, i);
      const names = open.at(-1);
      if (names && isName(text, end + 1)) {
        const name = JSON.parse(text.slice(i, end + 1)) as string;
        if (names.has(name)) return false;
        names.add(name);
      }
      i = end;
    }
  }
  return true;
}

function endOfString(text: string, start: number): number {
  let i = start + 1;
  while (text[i] !== '"') i += text[i] === '\\' ? 2 : 1;
  return i;
}

function isName(text: string, after: number): boolean {
  let i = after;
  while (' \t\n\r'.includes(text[i] ?? '.')) i += 1;
  return text[i] === ':';
}
