import { z } from 'zod';

/** Schemes that a browser would run or read instead of calling a program. */
const closedSchemes: ReadonlySet<string> = new Set([
  'javascript:',
  'data:',
  'vbscript:',
  'file:',
  'blob:',
  'about:',
  'filesystem:',
  'view-source:',
]);
const loopback: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);

/** May a client bring users back there? https, a scheme of an app, or http on the user's machine (RFC 8252 §7). */
export function isRedirectUri(text: unknown): text is string {
  const url = typeof text === 'string' && text.length <= 512 ? URL.parse(text) : null;
  if (url === null || (text as string).includes('#') || url.username !== '' || url.password !== '')
    return false;
  if (url.protocol === 'http:') return loopback.has(url.hostname);
  return !closedSchemes.has(url.protocol);
}

/** Says what `isRedirectUri` takes. */
export const redirectUriForms = 'https, an app scheme, or http on a loopback address';

/** The shape of `redirect_uris` (RFC 7591 §2). @param most entries */
export const redirectUriList = (most: number) =>
  z
    .array(z.string().refine(isRedirectUri, `expected ${redirectUriForms}`))
    .min(1)
    .max(most);

/** Is it a registered address? Exactly, or on another port of the user's machine (RFC 8252 §7.3). */
export const isRegistered = (asked: string, registered: readonly string[]): boolean =>
  registered.includes(asked) ||
  (isRedirectUri(asked) && registered.some((one) => withoutPort(one) === withoutPort(asked)));

/** Does it lead to a program on the user's machine (RFC 8252 §7)? Only https leads to a host of its own. */
export const isOnUsersMachine = (uri: string): boolean => URL.parse(uri)?.protocol !== 'https:';

function withoutPort(text: string): string | symbol {
  const url = URL.parse(text);
  if (url === null || url.protocol !== 'http:' || !loopback.has(url.hostname)) return Symbol(text);
  url.port = '';
  return url.href;
}
