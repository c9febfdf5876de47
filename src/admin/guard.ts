import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

/**
 * Keeps web pages away from the admin port. A page of another site can make a browser send requests to 127.0.0.1
 * (cross-site request), or have its own name resolve to it and read the answers (DNS rebinding). Programs such as
 * curl send neither Origin nor Sec-Fetch-Site, and name the address or localhost.
 *
 * @param configuredHost the host the operator wrote for the listener, which may be a name
 * @param fromOtherSites links and redirects of other sites may lead to the page
 * @returns why the request is refused; undefined when it may pass
 */
export const refusal = (
  request: IncomingMessage,
  configuredHost: string | undefined,
  fromOtherSites = false,
): string | undefined => {
  const { host, origin } = request.headers;
  // A rebound name cannot be an address, so addresses are safe whatever they are.
  if (host !== undefined && !isLocalHost(hostName(host), configuredHost)) return 'host not allowed';
  if (origin !== undefined && origin !== `http://${host ?? ''}`) return 'origin not allowed';
  const site = request.headers['sec-fetch-site'];
  const isOwn = site === undefined || site === 'same-origin' || site === 'none';
  if (!isOwn && !(fromOtherSites && isNavigation(request))) return 'cross-site request not allowed';
  return undefined;
};

/** A browser shows the answer in a tab, so no script of another site can read it. */
const isNavigation = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';

/** The host without port and brackets, lower case. */
const hostName = (authority: string): string =>
  authority
    .toLowerCase()
    .replace(/:\d*$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '');

const isLocalHost = (name: string, configuredHost: string | undefined): boolean =>
  isIP(name) !== 0 ||
  name === 'localhost' ||
  name.endsWith('.localhost') ||
  name === configuredHost?.toLowerCase();
