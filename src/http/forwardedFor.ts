import { isIPv4, isIPv6 } from 'node:net';
import type { Networks } from './networks.ts';
import { canonical } from './proxyHeader.ts';

/** Proxies in a row that are looked at: a longer list is no chain of proxies, but work for the gateway. */
const HOPS_MOST = 32;

/** The client of a request, as trusted proxies name it. */
export interface ForwardedClient {
  readonly address: string;
  /** 0 where no proxy tells it. */
  readonly port: number;
  /** The addresses from the client on to the last proxy, without what stands before and nobody vouches for. */
  readonly chain: string;
}

/**
 * Reads X-Forwarded-For from its end: each trusted proxy vouches for the address before its own, and the first address
 * that is not a trusted proxy is the client.
 *
 * @param value all lines of the field, joined with commas
 * @param peer the other end of the connection, a trusted proxy
 */
export function forwardedClient(value: string, peer: string, trusted: Networks): ForwardedClient {
  let client = { address: peer, port: 0 };
  let chain = peer;
  let end = value.length;
  for (let hops = 0; hops < HOPS_MOST && end > 0; hops++) {
    const comma = value.lastIndexOf(',', end - 1);
    const hop = hopOf(value.slice(comma + 1, end).trim());
    if (hop === undefined) break;
    client = hop;
    chain = `${hop.address}, ${chain}`;
    if (!trusted.has(hop.address)) break;
    end = comma;
  }
  return { ...client, chain };
}

/** An address, alone or with a port: `192.0.2.7`, `192.0.2.7:40000`, `2001:db8::7`, `[2001:db8::7]:40000`. */
function hopOf(text: string): { readonly address: string; readonly port: number } | undefined {
  const [, inBrackets, before, port = '0'] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d{1,5}))?$/.exec(text) ?? [];
  if (inBrackets === undefined && before === undefined)
    return isIPv6(text) && !text.includes('%') ? { address: canonical(text), port: 0 } : undefined;
  const address = inBrackets ?? before ?? '';
  const known = inBrackets === undefined ? isIPv4(address) : isIPv6(address) && !address.includes('%');
  return known && Number(port) <= 65_535 ? { address: canonical(address), port: Number(port) } : undefined;
}

/** The scheme that the last proxy says it was asked by; undefined where it says none that is known. */
export function forwardedScheme(value: string | undefined): 'http' | 'https' | undefined {
  const last = value
    ?.slice(value.lastIndexOf(',') + 1)
    .trim()
    .toLowerCase();
  return last === 'http' || last === 'https' ? last : undefined;
}
