import { lookup as systemLookup, type LookupAddress, type LookupOptions } from 'node:dns';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { BlockList, isIP } from 'node:net';
import { Readable } from 'node:stream';

/** Looks up the name of a server, as `dns.lookup` does with `all`. */
export type LookupAll = (
  hostname: string,
  options: LookupOptions & { readonly all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface GuardOptions {
  readonly lookup?: LookupAll;
  /** Addresses that are not connected to; those of `closedAddresses` unless given. */
  readonly closed?: BlockList;
  /** Is an address open although it is among those that are closed? */
  readonly isOpen?: (address: string) => boolean;
}

/**
 * Addresses that a tenant of a cluster must not have a proxy ask: of the proxy itself, of its node, and those by which
 * clouds hand out credentials. Private networks are open: Services are there.
 */
export const closedAddresses = (): BlockList => listOf(closed4, closed6);

/** The same, and all other addresses that are not public (RFC 6890, and the IANA registries that follow it). */
export const specialAddresses = (): BlockList => listOf([...closed4, ...private4], [...closed6, ...private6]);

/** @param address as text, of IPv4 or IPv6 */
export const isAmong = (list: BlockList, address: string): boolean =>
  list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');

type Subnets = readonly (readonly [network: string, bits: number])[];

function listOf(subnets4: Subnets, subnets6: Subnets): BlockList {
  const list = new BlockList();
  for (const [network, bits] of subnets4) list.addSubnet(network, bits, 'ipv4');
  for (const [network, bits] of subnets6) list.addSubnet(network, bits, 'ipv6');
  return list;
}

const closed4: Subnets = [
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  // Link-local, metadata of most clouds among it.
  ['169.254.0.0', 16],
  // Metadata of Alibaba Cloud, Azure and Oracle Cloud.
  ['100.100.100.200', 32],
  ['168.63.129.16', 32],
  ['192.0.0.0', 24],
  ['224.0.0.0', 3],
];
const closed6: Subnets = [
  // With the addresses of IPv4 that are written behind zeros.
  ['::', 96],
  ['fe80::', 10],
  ['ff00::', 8],
  // Metadata of AWS and Google Cloud.
  ['fd00:ec2::', 32],
  ['fd20:ce::', 32],
  // IPv4 in other clothes: NAT64 and 6to4 lead to addresses that this list cannot see.
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['2002::', 16],
];
const private4: Subnets = [
  ['10.0.0.0', 8],
  // Between a provider and its customers.
  ['100.64.0.0', 10],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  // Documentation, benchmarks, and relays of 6to4.
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
];
const private6: Subnets = [
  ['fc00::', 7],
  ['fec0::', 10],
  // Discard-only, protocols (Teredo among them), documentation, and segment routing.
  ['100::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['3fff::', 20],
  ['5f00::', 16],
];

/**
 * Allows plain text for a Service only, and TLS for everything: a key set that an attacker can change is
 * worthless.
 */
const isAllowed = ({ protocol, hostname }: URL): boolean =>
  protocol === 'https:' || (protocol === 'http:' && /\.svc(?:\.cluster\.local)?$/.test(hostname));

/**
 * A `fetch` for addresses that somebody other than the operator has written. The address that a name stands for is
 * checked by the very lookup that the connection is made with, so no second answer of a name server counts. It follows
 * no redirect: its caller asks it again for each.
 */
export function guardedFetch({
  lookup = systemLookup,
  closed = closedAddresses(),
  isOpen = () => false,
}: GuardOptions = {}): typeof fetch {
  const why = (address: string): string | undefined =>
    isAmong(closed, address) && !isOpen(address)
      ? `the gateway does not fetch documents from ${address}`
      : undefined;
  const guarded: LookupAll = (hostname, options, done) =>
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return done(error, []);
      const refused = addresses.map(({ address }) => why(address)).find((one) => one !== undefined);
      // A name with one such address is not a server's with a slip in it, but somebody's who tries.
      if (refused !== undefined) return done(new Error(`${hostname}: ${refused}`), []);
      done(null, addresses);
    });
  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    if (!isAllowed(url)) throw new TypeError('only https, or http to a Service of the cluster');
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const refused = isIP(host) === 0 ? undefined : why(host);
    if (refused !== undefined) throw new TypeError(refused);
    return await ask(url, guarded, init ?? {});
  };
}

async function ask(
  url: URL,
  lookup: LookupAll,
  { signal, headers: written, method = 'GET', body: content }: RequestInit,
): Promise<Response> {
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const headers = new Headers(written);
  const isForm = content instanceof URLSearchParams;
  if (!isForm && typeof (content ?? '') !== 'string')
    throw new TypeError('only a text or a form can be sent');
  if (isForm && !headers.has('content-type'))
    headers.set('content-type', 'application/x-www-form-urlencoded;charset=UTF-8');
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = send(url, {
      // A connection of its own: one that is kept would have been checked for another request.
      agent: false,
      lookup: (hostname, options, done) =>
        lookup(hostname, { ...options, all: true }, (error, addresses) => {
          const [first] = addresses;
          if (error !== null || first === undefined) done(error ?? new Error('no address'), '', 0);
          else if (options.all === true) done(null, addresses as unknown as string, 0);
          else done(null, first.address, first.family);
        }),
      method,
      headers: Object.fromEntries(headers),
      ...(signal ? { signal } : {}),
    });
    request.once('response', resolve);
    request.once('error', reject);
    request.end(content?.toString());
  });
  const { statusCode = 502 } = answer;
  const fields = Object.entries(answer.headers).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' ? [[name, value]] : [],
  );
  const isEmpty = [204, 205, 304].includes(statusCode);
  if (isEmpty) answer.resume();
  const body = isEmpty ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>);
  return new Response(body, { status: statusCode, headers: fields });
}
