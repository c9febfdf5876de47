/**
 * A compact JWS or JWE, with the parts of it that stand in the text: its first segment is base64url of `{`, so it begins
 * with `ey`, or with `ew` where a line break follows the brace. No JOSE header fits in less than 14 characters; few host
 * names look like that. The characters are those of both base64 alphabets, padding included: a malformed token is still a
 * secret.
 *
 * A match has every character that the search has read, so the search reads no character for a second start. A client can
 * write any number of `ey`.
 */
const possibleToken = /\be[yw][\w+/=-]{12,}(?:\.[\w+/=-]*){0,4}/g;

/** Each possible token begins so. Most texts have no such place, and this look costs them least. */
const beginning = /\be[yw][\w+/=-]{12}/;

/** Fewer segments are no token. */
const fewest = 3;

/** The text with each compact token replaced by `mark`. */
export const hideTokens = (text: string, mark: string): string =>
  beginning.test(text)
    ? text.replaceAll(possibleToken, (found) => (found.split('.', fewest).length < fewest ? found : mark))
    : text;

/** The place where a token begins that the end of the text may cut; the length of the text where there is none. */
export function openTokenAt(text: string): number {
  for (const { 0: found, index } of text.matchAll(possibleToken))
    if (index + found.length === text.length) return index;
  return text.length;
}
