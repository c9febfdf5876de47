import { BlockList, isIP } from 'node:net';

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

/** Is this the name of a Service of a cluster, inside of which plain text may pass? */
export const isServiceName = (host: string): boolean => /\.svc(?:\.cluster\.local)?$/.test(host);
