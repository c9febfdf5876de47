/** Keeps the proxies of a cluster from calling their own machine, or the metadata of a cloud, for a tenant. */

import { isIP } from 'node:net';
import { promisify } from 'node:util';
import { closedAddresses, isAmong, tenantLookup } from '../http/index.ts';
import { systemLookup, type Found, type LookupTools } from './resolve.ts';

const closed = closedAddresses();

/** Is this an address that no tenant may have the proxies call? */
export const isClosed = (host: string): boolean => isIP(host) !== 0 && isAmong(closed, host);

const lookupOfTenant = promisify(tenantLookup);

/** Looks at names that tenants wrote, apart from those of backends. */
export const tenantNames: LookupTools = {
  ...systemLookup,
  lookup: (name) => lookupOfTenant(name, { all: true, order: 'verbatim' }),
};

/** Looks at names of which no address is closed. */
export const guardedLookup = (tools: LookupTools): LookupTools => ({
  ...tools,
  async lookup(name) {
    const found = await tools.lookup(name);
    const refused = found.find(({ address }) => isClosed(address));
    // A name with one such address is not a server's with a slip in it, but somebody's who tries.
    if (refused !== undefined) throw new Error(`the gateway does not call ${refused.address}`);
    return found;
  },
});

/** The addresses that are known and open. A name that was not looked at yet is none: it would be looked up once more. */
export const openOnes = (found: readonly Found[]): readonly Found[] =>
  found.filter(({ host }) => isIP(host) !== 0 && !isClosed(host));
