import { BlockList, isIP, SocketAddress } from 'node:net';
import { CelScalar, celFunc, celMethod, type CelFunc } from '@bufbuild/cel';

const { BOOL, INT, STRING } = CelScalar;

/** Ranges of kinds of addresses (RFC 4291, RFC 5735), by the name of the function that asks for them. */
const kinds: Readonly<Record<string, readonly string[]>> = {
  isUnspecified: ['0.0.0.0/32', '::/128'],
  isLoopback: ['127.0.0.0/8', '::1/128'],
  isLinkLocalMulticast: ['224.0.0.0/24', 'ff02::/16'],
  isLinkLocalUnicast: ['169.254.0.0/16', 'fe80::/10'],
};

/** Private addresses are global in this sense. */
const notGlobal = [
  ...['0.0.0.0/32', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/4', '255.255.255.255/32'],
  ...['::/128', '::1/128', 'fe80::/10', 'ff00::/8'],
];

/**
 * IP addresses and ranges, after the Kubernetes libraries. Both are texts in their canonical form, so `==` works; that a
 * text is not taken for an address by mistake is checked where the expression is compiled (`addressTypes`).
 */
export const addressFunctions: readonly CelFunc[] = [
  celFunc('isIP', [STRING], BOOL, (text) => isIP(text) !== 0 && !text.includes('%')),
  celFunc('ip', [STRING], STRING, (text) => ip(text).text),
  celMethod('family', STRING, [], INT, function () {
    return BigInt(ip(String(this)).version);
  }),
  ...Object.entries(kinds).map(([name, those]) =>
    celMethod(name, STRING, [], BOOL, function () {
      return isInside(those, ip(String(this)));
    }),
  ),
  celMethod('isGlobalUnicast', STRING, [], BOOL, function () {
    return !isInside(notGlobal, ip(String(this)));
  }),

  celFunc('cidr', [STRING], STRING, (text) => cidr(text).text),
  celMethod('ip', STRING, [], STRING, function () {
    return cidr(String(this)).network.text;
  }),
  celMethod('masked', STRING, [], STRING, function () {
    const { network, prefix } = cidr(String(this));
    return `${masked(network, prefix)}/${prefix}`;
  }),
  celMethod('prefixLength', STRING, [], INT, function () {
    return BigInt(cidr(String(this)).prefix);
  }),
  celMethod('containsIP', STRING, [STRING], BOOL, function (address) {
    return isInside([String(this)], ip(address));
  }),
  celMethod('containsCIDR', STRING, [STRING], BOOL, function (other) {
    const { prefix } = cidr(String(this));
    const inner = cidr(other);
    return inner.prefix >= prefix && isInside([String(this)], inner.network);
  }),
];

interface AddressTypes {
  readonly target?: string;
  readonly result?: string;
}

/** The types that the functions return and expect instead of texts: function (with `.` before a method) → types. */
export const addressTypes: ReadonlyMap<string, AddressTypes> = new Map<string, AddressTypes>([
  ['ip', { result: 'ip' }],
  ['cidr', { result: 'cidr' }],
  ['.ip', { target: 'cidr', result: 'ip' }],
  ['.masked', { target: 'cidr', result: 'cidr' }],
  ...['.prefixLength', '.containsIP', '.containsCIDR'].map(
    (name) => [name, { target: 'cidr' }] as [string, AddressTypes],
  ),
  ...['.family', '.isGlobalUnicast', ...Object.keys(kinds).map((name) => `.${name}`)].map(
    (name) => [name, { target: 'ip' }] as [string, AddressTypes],
  ),
]);

interface Ip {
  readonly version: 4 | 6;
  readonly text: string;
}

/**
 * An IPv4 address written as IPv6 (`::ffff:10.0.0.1`) is the IPv4 address, or a rule about one could be walked around.
 * @throws Error for anything else than one address; zones (`%eth0`) belong to one machine and are refused
 */
export function ip(text: string): Ip {
  const version = text.includes('%') ? 0 : isIP(text);
  if (version === 4) return { version, text };
  if (version !== 6) throw new Error(`not an IP address: ${text}`);
  const canonical = new SocketAddress({ address: text, family: 'ipv6' }).address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(canonical)?.[1];
  return mapped === undefined ? { version, text: canonical } : { version: 4, text: mapped };
}

/** @throws Error for anything else than an address and the length of its prefix */
export function cidr(text: string): { network: Ip; prefix: number; text: string } {
  const [address = '', bits = '', ...rest] = text.split('/');
  const network = isIP(address) === 0 ? undefined : ip(address);
  const prefix = /^(?:0|[1-9]\d{0,2})$/.test(bits) ? Number(bits) : -1;
  // A mapped address counts its prefix in IPv6; nobody means that.
  const fits = network !== undefined && prefix >= 0 && prefix <= (network.version === 4 ? 32 : 128);
  if (!fits || rest.length > 0 || (network.version === 4 && address.includes(':')))
    throw new Error(`not an address range: ${text}`);
  return { network, prefix, text: `${network.text}/${prefix}` };
}

interface Range {
  readonly version: 4 | 6;
  readonly list: BlockList;
}

/** Node's own lists take an IPv4 address for one of IPv6 too (`::/0` has them all), so the version is compared first. */
const isInside = (ranges: readonly string[], address: Ip): boolean =>
  ranges.some((text) => {
    const { version, list } = range(text);
    return version === address.version && list.check(address.text, `ipv${version}`);
  });

/** Ranges are few and written out in the configuration; those made of request data must not fill the memory. */
const ranges = new Map<string, Range>();

function range(text: string): Range {
  const known = ranges.get(text);
  if (known !== undefined) return known;
  const { network, prefix } = cidr(text);
  const made: Range = { version: network.version, list: new BlockList() };
  made.list.addSubnet(network.text, prefix, `ipv${network.version}`);
  if (ranges.size >= 256) ranges.clear();
  ranges.set(text, made);
  return made;
}

function masked(network: Ip, prefix: number): string {
  const bytes = bytesOf(network);
  const kept = bytes.map((byte, i) => byte & (0xff00 >> Math.max(0, Math.min(8, prefix - i * 8))) & 0xff);
  if (network.version === 4) return kept.join('.');
  const groups = Array.from({ length: 8 }, (_, i) =>
    (((kept[2 * i] ?? 0) << 8) | (kept[2 * i + 1] ?? 0)).toString(16),
  );
  return ip(groups.join(':')).text;
}

function bytesOf({ version, text }: Ip): number[] {
  if (version === 4) return text.split('.').map(Number);
  const [head = '', tail] = text.split('::');
  const groups = (part: string): number[] =>
    part === '' ? [] : part.split(':').flatMap((group) => groupOf(group));
  const left = groups(head);
  if (tail === undefined) return left;
  const right = groups(tail);
  return [...left, ...new Array<number>(16 - left.length - right.length).fill(0), ...right];
}

/** Two bytes of a hexadecimal group, or four of an IPv4 ending. */
const groupOf = (group: string): number[] =>
  group.includes('.')
    ? group.split('.').map(Number)
    : [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff];
