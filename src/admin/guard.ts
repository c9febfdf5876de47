import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { Logger } from '../telemetry/index.ts';
import { text, type Answer } from './answer.ts';
import type { OperatorSecret } from './operatorSecret.ts';
import { reading } from './reading.ts';

/** Decides which requests may change something over an admin port. */
export interface Changes {
  /** `owner`: only the operator's user can connect. Undefined: the gateway could not store a secret. */
  readonly secret: OperatorSecret | 'owner' | undefined;
  readonly log: Logger;
}

/**
 * Decides about requests that change something. Every local account can connect to a TCP port on loopback, the child
 * processes of stdio targets included, so such a request must carry the secret of the operator's user.
 *
 * @returns the answer to a request that is refused; undefined when it may pass
 */
export const refusedChange = (request: IncomingMessage, { secret, log }: Changes): Answer | undefined => {
  if (secret === 'owner' || reading.has(request.method ?? '')) return undefined;
  if (secret?.admits(request.headers.authorization) === true) return undefined;
  const rule =
    secret === undefined
      ? 'changes over this port are off, because the gateway could not store a secret: use adminAddr: unix:/path, or signals'
      : `a change needs the secret in ${secret.file}, which \`portcullis admin\` and \`portcullis upgrade\` send; or use adminAddr: unix:/path`;
  log.warn('Admin change refused', { method: request.method, path: request.url?.split('?', 1)[0], rule });
  return { ...text(401, rule), headers: { 'www-authenticate': 'Bearer realm="portcullis admin"' } };
};

/**
 * Keeps web pages away from the admin port. A page of another site can make a browser send requests to 127.0.0.1
 * (cross-site request), or have its own name resolve to it and read the answers (DNS rebinding). Programs such as
 * curl send neither Origin nor Sec-Fetch-Site, and name the address or localhost.
 *
 * @param configuredHost the host the operator wrote for the listener, which may be a name
 * @returns why the request is refused; undefined when it may pass
 */
export const refusal = (request: IncomingMessage, configuredHost: string | undefined): string | undefined => {
  const { host, origin } = request.headers;
  // A rebound name cannot be an address, so addresses are safe whatever they are.
  if (host !== undefined && !isLocalHost(hostName(host), configuredHost)) return 'host not allowed';
  if (origin !== undefined && origin !== `http://${host ?? ''}`) return 'origin not allowed';
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    return 'cross-site request not allowed';
  return undefined;
};

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
