/** Headers that repeat members of a message (2026-07-28, Streamable HTTP, "Request Metadata"). */

/** Method → the member of `params` that `Mcp-Name` repeats. */
export const nameMembers: ReadonlyMap<string, 'name' | 'uri' | 'taskId'> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
]);

const prefix = '=?base64?';
const suffix = '?=';

/** Visible characters of ASCII, with spaces and tabs inside. */
const plain = /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/;

/** A text as a header value: as it is where a header can carry it, as Base64 of its UTF-8 otherwise ("Value Encoding"). */
export function headerValue(text: string): string {
  const looksEncoded = text.startsWith(prefix) && text.endsWith(suffix);
  return plain.test(text) && !looksEncoded
    ? text
    : `${prefix}${Buffer.from(text).toString('base64')}${suffix}`;
}
