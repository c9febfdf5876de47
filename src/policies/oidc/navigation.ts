import type { HttpRequest } from '../../http/index.ts';
import { isOwnBySite } from '../fields/fetchMetadata.ts';

/**
 * Does a browser show the answer as a page? Only then can its user log in: a script that is sent to another site gets
 * an error of CORS. Browsers say so themselves (Fetch Metadata); older ones ask for HTML.
 */
export function isNavigation(request: HttpRequest): boolean {
  if (request.method !== 'GET' || isPrefetch(request)) return false;
  const mode = request.header('sec-fetch-mode');
  if (mode !== undefined) return mode === 'navigate' && !isEmbedded(request);
  if (request.header('x-requested-with') !== undefined) return false;
  return /(?:^|[\s,])text\/html(?:$|[\s,;])/i.test(request.header('accept') ?? '');
}

/** A page that is loaded before its user asks for it must neither begin nor end a login. */
const isPrefetch = (request: HttpRequest): boolean =>
  /prefetch/i.test(request.header('sec-purpose') ?? request.header('purpose') ?? '');

const isEmbedded = (request: HttpRequest): boolean =>
  ['object', 'embed'].includes(request.header('sec-fetch-dest') ?? '');

/**
 * Did the user ask for the address on a page of this origin, or by typing it? Anything else may be the work of another
 * site (cross-site request forgery).
 */
export function isOwnRequest(request: HttpRequest, origin: string): boolean {
  if (isPrefetch(request)) return false;
  return isOwnBySite(request) ?? (request.method === 'POST' && request.header('origin') === origin);
}
