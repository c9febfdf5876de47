/**
 * Line breaks of Unicode, which can stand only in strings. Some readers of lines, Node's readline among them, end a
 * line there: a message within a string would be one of its own to such a server, past every rule.
 */

/** The JSON text with the line breaks in its strings as escapes. */
export function oneLine(text: string): string {
  return text
    .replaceAll('\u0085', String.raw`\u0085`)
    .replaceAll('\u2028', String.raw`\u2028`)
    .replaceAll('\u2029', String.raw`\u2029`);
}

/** Does one of them begin here, in UTF-8? */
export function isSeparator(bytes: Buffer, at: number): boolean {
  if (bytes[at] === 0xc2) return bytes[at + 1] === 0x85;
  return bytes[at] === 0xe2 && bytes[at + 1] === 0x80 && (bytes[at + 2]! & 0xfe) === 0xa8;
}
