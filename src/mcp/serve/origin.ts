/**
 * Protection against DNS rebinding: a page of a hostile site makes its own name resolve to 127.0.0.1 and then
 * talks to whatever listens there, with the browser's blessing. The browser still tells the truth in `Origin`.
 */

import type { HttpRequest } from '../../http/index.ts';

const localName = /^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** Does a host name (no port, lower case) mean this machine? */
export function isLocalName(host: string): boolean {
  return localName.test(host);
}

function isLoopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.') || address.startsWith('::ffff:127.');
}

/**
 * May a request with this Host and Origin use the endpoint?
 *
 * `strict` (`dnsRebindingProtection: true`): both must name the local machine.
 *
 * Otherwise an Origin is refused only where rebinding pays, on a connection that came in over loopback, unless it
 * is local itself. An `https:` Origin with a public Host on a plain connection passes: a TLS terminator on this
 * machine stands in between, and a rebound page cannot look like that (a browser does not let an `https:` page
 * call `http:`). Elsewhere cross-origin callers are the business of tokens and the cors policy.
 */
export function originAllowed(request: HttpRequest, strict: boolean): boolean {
  const origin = request.header('origin');
  if (strict && !isLocalName(request.host)) return false;
  if (origin === undefined) return true;
  if (!strict && !isLoopback(request.localAddress)) return true;
  const parts = /^([a-z][a-z0-9+.-]*):\/\/(\[[^\]]*\]|[^/:]*)(?::\d+)?$/.exec(origin.toLowerCase());
  if (parts === null) return false;
  const [, scheme = '', host = ''] = parts;
  if (isLocalName(host)) return true;
  return !strict && scheme === 'https' && request.scheme === 'http' && !isLocalName(request.host);
}
