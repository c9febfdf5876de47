import { BlockList, isIPv4, isIPv6 } from 'node:net';

/** A set of addresses and networks. */
export interface Networks {
  /** Is the address (as text, IPv4 as such) in one of them? */
  has(address: string): boolean;
}

/** @param list addresses and networks, as `10.0.0.0/8`, `192.0.2.7` or `2001:db8::/32`; checked before */
export function networks(list: readonly string[]): Networks {
  const known = new BlockList();
  for (const text of list) {
    const [address = '', bits] = text.split('/');
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    known.addSubnet(address, Number(bits ?? (family === 'ipv4' ? 32 : 128)), family);
  }
  return {
    has(address) {
      // A zone (`fe80::1%eth0`) names an interface and says nothing about the network.
      const [bare = ''] = address.split('%');
      return isIPv4(bare) ? known.check(bare, 'ipv4') : isIPv6(bare) && known.check(bare, 'ipv6');
    },
  };
}
