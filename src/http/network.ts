import { isIPv6 } from 'node:net';

/** Groups of 16 bits in the prefix of one subscriber: RFC 6177 gives each at least a /64. */
const prefixGroups = 4;

/**
 * The network that one client controls: its whole IPv4 address, or the /64 of its IPv6 address. A client may take any
 * address of its /64, so a limit on single IPv6 addresses limits nobody.
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const [bare = ''] = address.split('%');
  if (!isIPv6(bare)) return address;
  const groups = groupsOf(bare);
  // An IPv4 address in IPv6 form (RFC 4291 §2.5.5.2), as dual-stack sockets show it.
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    const [high = 0, low = 0] = groups.slice(6);
    return [high >> 8, high & 255, low >> 8, low & 255].join('.');
  }
  const prefix = groups.slice(0, prefixGroups).map((group) => group.toString(16));
  return `${prefix.join(':')}::/64`;
}

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): number[] {
  const [before = '', after] = address.split('::');
  const head = read(before);
  if (after === undefined) return head;
  const tail = read(after);
  return [...head, ...new Array<number>(8 - head.length - tail.length).fill(0), ...tail];
}

function read(part: string): number[] {
  if (part === '') return [];
  return part.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
    return [(a << 8) | b, (c << 8) | d];
  });
}
