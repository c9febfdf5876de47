import type { HeaderLine } from '../http/index.ts';
import { withoutOwnCookies } from './ownCookies.ts';
import type { Exchange } from './policy.ts';

/**
 * The headers of the client for a server that a policy asks, pseudo-headers first, without the credentials that policies
 * took out of the request.
 * @param isWanted gets names in lower case
 */
export function clientHeaders(
  { request, requestHeaders, clientTarget }: Exchange,
  isWanted: (name: string) => boolean,
): readonly HeaderLine[] {
  const pseudo: readonly HeaderLine[] = [
    [':method', request.method],
    [':scheme', request.scheme],
    [':authority', request.authority],
    [':path', clientTarget],
  ];
  const lines = request.headerLines().filter(([name]) => !requestHeaders.dropsName(name));
  // A policy that takes a cookie out writes the others anew.
  const written = requestHeaders.lines.filter(([name]) => name === 'cookie');
  return withoutOwnCookies([...pseudo, ...lines, ...written].filter(([name]) => isWanted(name)));
}
