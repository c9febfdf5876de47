import type { HeaderEdits } from './edits.ts';
import type { HttpRequest } from './exchange.ts';

/**
 * The cookies of a header as they are written. Only the semicolon parts them: values with commas are common, such as
 * JSON (RFC 6265 §5.4).
 */
export const cookiePairs = (text: string): string[] =>
  text
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '');

/** The cookies of a `Cookie` header as name and value, in order. Servers ignore blanks around both. */
export const cookiesOf = (text = ''): [name: string, value: string][] =>
  cookiePairs(text).flatMap((pair) => {
    const at = pair.indexOf('=');
    return at < 0 ? [] : [[pair.slice(0, at).trimEnd(), pair.slice(at + 1).trimStart()]];
  });

/** The values of the cookies of one name: a browser may send several (RFC 6265 §5.4). */
export const cookieValues = (text: string | undefined, name: string): string[] =>
  cookiesOf(text).flatMap(([known, value]) => (known === name ? [value] : []));

/**
 * Some servers also part cookies at a blank or a comma (RFC 2965 §3.2.2), and so find further names in a value. Bytes
 * beyond ASCII count as blanks, because UTF-8 has blanks among them.
 */
const nameInPair = /(?:^|[\s,\x80-\xff])([^\s,=\x80-\xff]+)[\s\x80-\xff]*=/g;

/** Does some server find a cookie with one of the wanted names in the pair? */
export const holdsCookie = (pair: string, isWanted: (name: string) => boolean): boolean =>
  [...pair.matchAll(nameInPair)].some(([, name = '']) => isWanted(name));

/** Takes cookies out of the request for the backend, under every name that a server may find in them. */
export function editCookies(
  request: HttpRequest,
  edits: HeaderEdits,
  isRemoved: (name: string) => boolean,
  added?: string,
): void {
  editCookiePairs(request, edits, (pair) => holdsCookie(pair, isRemoved), added);
}

/**
 * The same by pairs as they are written.
 * The edits of other policies stay: a cookie that one of them has removed does not come back.
 * @param added a pair to send behind the other cookies
 */
export function editCookiePairs(
  request: HttpRequest,
  edits: HeaderEdits,
  isRemoved: (pair: string) => boolean,
  added?: string,
): void {
  const sent = edits.dropsName('cookie') ? undefined : request.header('cookie');
  const written = edits.lines.flatMap(([name, value]) => (name === 'cookie' ? [value] : []));
  const pairs = [...(sent === undefined ? [] : [sent]), ...written].flatMap(cookiePairs);
  const kept = pairs.filter((pair) => !isRemoved(pair));
  if (added !== undefined) kept.push(added);
  else if (kept.length === pairs.length) return;
  if (kept.length === 0) edits.remove('cookie');
  else edits.set('cookie', kept.join('; '));
}
