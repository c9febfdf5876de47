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

/** The host, and the port where there is one, that the last proxy says it was asked for; undefined for other texts. */
export function forwardedHost(value: string | undefined): string | undefined {
  const last = value
    ?.slice(value.lastIndexOf(',') + 1)
    .trim()
    .toLowerCase();
  return last !== undefined && /^(?:[a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/.test(last)
    ? last
    : undefined;
}

const pair = /[; \t]*([\w-]+)=(?:([^\s",;]+)|"([^"\\]*)")[ \t]*(?=;|$)/y;

/** The parameters `proto` and `host` of the last element of `Forwarded` (RFC 7239 §4). Nothing for other texts. */
export function lastHop(value: string | undefined): { readonly proto?: string; readonly host?: string } {
  if (value === undefined) return {};
  // A comma in quotes would be part of no host and of no scheme.
  const last = value.slice(value.lastIndexOf(',') + 1).trim();
  const found: { proto?: string; host?: string } = {};
  pair.lastIndex = 0;
  while (pair.lastIndex < last.length) {
    const [, name = '', token, quoted] = pair.exec(last) ?? [];
    if (name === '') return {};
    const key = name.toLowerCase();
    if (key === 'proto' || key === 'host') found[key] = token ?? quoted ?? '';
  }
  return found;
}
