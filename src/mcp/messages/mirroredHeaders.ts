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

/** Begins the names of headers that repeat parameters of a tool. */
export const parameterPrefix = 'mcp-param-';

const prefix = '=?base64?';
const suffix = '?=';

/** Are these visible characters of ASCII, with spaces and tabs inside? Names are short: a pattern costs more. */
function isPlain(text: string): boolean {
  const last = text.length - 1;
  for (let at = 0; at <= last; at++) {
    const code = text.charCodeAt(at);
    const isBlank = code === 0x20 || code === 0x09;
    if (isBlank ? at === 0 || at === last : code < 0x21 || code > 0x7e) return false;
  }
  return last >= 0;
}

/** A text as a header value: as it is where a header can carry it, as Base64 of its UTF-8 otherwise ("Value Encoding"). */
export function headerValue(text: string): string {
  const looksEncoded = text.startsWith(prefix) && text.endsWith(suffix);
  return isPlain(text) && !looksEncoded ? text : `${prefix}${Buffer.from(text).toString('base64')}${suffix}`;
}

/** The value of a header: plain, or `=?base64?…?=`; undefined where the base64 is none ("Value Encoding"). */
export function decodedValue(value: string): string | undefined {
  if (!value.startsWith(prefix) || !value.endsWith(suffix)) return value;
  const encoded = value.slice(prefix.length, -suffix.length);
  const bytes = Buffer.from(encoded, 'base64');
  return bytes.toString('base64') === encoded ? bytes.toString() : undefined;
}
