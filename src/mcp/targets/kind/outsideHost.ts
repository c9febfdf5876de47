import { BlockList, isIP } from 'node:net';

/** Names whose last part begins with a digit are addresses in disguise: systems read 127.1 as 127.0.0.1. */
export const hostName = /^([a-z0-9]([-a-z0-9]*[a-z0-9])?\.)+[a-z]([-a-z0-9]*[a-z0-9])?$/;
/** Names of this machine, and of Services. */
export const insideName = /(^|\.)(localhost|svc|cluster\.local)$|\.svc\./;

/**
 * Addresses that stand for this machine or its link (RFC 6890), where clouds keep the credentials of machines;
 * and no host at all.
 */
const inside4 = new BlockList();
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['224.0.0.0', 3],
] as const)
  inside4.addSubnet(network, bits, 'ipv4');
// A list of its own: every address of IPv4 would be found among those of ::/64.
const inside6 = new BlockList();
for (const [network, bits] of [
  // Loopback, unspecified, and IPv4 in the clothes of IPv6.
  ['::', 64],
  ['64:ff9b::', 96],
  ['fe80::', 10],
  ['ff00::', 8],
] as const)
  inside6.addSubnet(network, bits, 'ipv6');

/**
 * Is it somewhere else than in the proxy or its cluster, as far as the text can tell? Whoever writes it must not reach
 * the ports of the operator, nor Services that no ReferenceGrant allows.
 */
export function isExternal(host: string): boolean {
  const family = isIP(host);
  if (family === 0) return hostName.test(host) && !insideName.test(host);
  if (family === 4) return !inside4.check(host);
  return !host.includes('%') && !inside6.check(host, 'ipv6');
}
