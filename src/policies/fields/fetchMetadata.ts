import type { HttpRequest } from '../../http/index.ts';

/**
 * Does the browser say that a page of the same origin, or the user at the address bar, caused the request? Browsers send
 * `Sec-Fetch-Site` (Fetch Metadata §2.3) to addresses with TLS and of the own machine; undefined for a request without it.
 */
export function isOwnBySite(request: HttpRequest): boolean | undefined {
  const site = request.header('sec-fetch-site');
  return site === undefined ? undefined : site === 'same-origin' || site === 'none';
}
