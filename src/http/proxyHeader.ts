import { isIPv4, isIPv6, SocketAddress } from 'node:net';
import { crc32c } from './crc32c.ts';

/**
 * The header that a proxy sends before the first byte of a connection it passes on (haproxy, "The PROXY
 * protocol").
 */
export interface ProxyHeader {
  /** The length of the header, in bytes: the connection itself follows. */
  readonly length: number;
  /**
   * The ends of the client's connection to the proxy. Absent where the proxy speaks for itself, as in a health check,
   * or of a connection that has no addresses of IP: then the ends of this connection count.
   */
  readonly ends?: ProxiedEnds;
}

export interface ProxiedEnds {
  readonly address: string;
  readonly port: number;
  readonly localAddress: string;
  readonly localPort: number;
}

/** The reason why the header of a connection is refused. */
export interface ProxyProblem {
  readonly problem: string;
}

export type ProxyVersions = 'v1' | 'v2' | 'all';

const V1_PREFIX = Buffer.from('PROXY ');
/** "The maximum line lengths the receiver must support", CRLF included. */
const V1_MOST = 107;
const V2_SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const V2_HEAD = 16;
/** Addresses and TLVs: enough for a client certificate, too little to hold memory with. */
const V2_MOST = 4_096;

/** Extension with a checksum over the whole header, in which it counts as zero. */
const CRC32C = 3;

/**
 * Reads the header at the start of a connection.
 *
 * @returns `incomplete` while more bytes are needed, `none` where the connection begins with something else
 */
export function readProxyHeader(
  bytes: Buffer,
  versions: ProxyVersions,
): ProxyHeader | ProxyProblem | 'incomplete' | 'none' {
  const v1 = begins(bytes, V1_PREFIX);
  const v2 = begins(bytes, V2_SIGNATURE);
  if (v1 === 'perhaps' || v2 === 'perhaps') return 'incomplete';
  // Text that looks like a header is never passed on as the client's own words: the backend may believe it.
  if (v1 === 'yes') return versions === 'v2' ? { problem: 'it is of version 1' } : readLine(bytes);
  if (v2 === 'yes') return versions === 'v1' ? { problem: 'it is of version 2' } : readBlock(bytes);
  return 'none';
}

function begins(bytes: Buffer, prefix: Buffer): 'yes' | 'no' | 'perhaps' {
  const length = Math.min(bytes.length, prefix.length);
  if (bytes.compare(prefix, 0, length, 0, length) !== 0) return 'no';
  return length === prefix.length ? 'yes' : 'perhaps';
}

// Version 1: a line of text

function readLine(bytes: Buffer): ProxyHeader | ProxyProblem | 'incomplete' {
  const end = bytes.subarray(0, V1_MOST).indexOf('\r\n');
  if (end === -1) return bytes.length < V1_MOST ? 'incomplete' : { problem: 'its line does not end' };
  const length = end + 2;
  const [, family, ...words] = bytes.toString('latin1', 0, end).split(' ');
  // "The receiver must ignore anything presented before the CRLF".
  if (family === 'UNKNOWN') return { length };
  const isAddress = family === 'TCP4' ? isIPv4 : family === 'TCP6' ? isPlainIPv6 : undefined;
  if (isAddress === undefined) return { problem: 'it names no family that is known' };
  const [address = '', localAddress = '', from = '', to = ''] = words;
  const port = portOf(from);
  const localPort = portOf(to);
  if (words.length !== 4 || !isAddress(address) || !isAddress(localAddress))
    return { problem: 'its addresses are malformed' };
  if (port === undefined || localPort === undefined) return { problem: 'its ports are malformed' };
  return {
    length,
    ends: { address: canonical(address), port, localAddress: canonical(localAddress), localPort },
  };
}

/** Without the zone that means something to the proxy's machine only. */
const isPlainIPv6 = (text: string): boolean => isIPv6(text) && !text.includes('%');

function portOf(text: string): number | undefined {
  const port = /^(?:0|[1-9]\d{0,4})$/.test(text) ? Number(text) : 65_536;
  return port <= 65_535 ? port : undefined;
}

/** The canonical form of an address, since rules and limits compare addresses as text. */
export function canonical(address: string): string {
  if (isIPv4(address)) return address;
  const text = new SocketAddress({ address, family: 'ipv6' }).address;
  return /^::ffff:\d+\.\d+\.\d+\.\d+$/.test(text) ? text.slice(7) : text;
}

// Version 2: a block of bytes

/** Family and transport → bytes of one address; 0 where it is none of IP, or not of a stream. */
const families: ReadonlyMap<number, { readonly block: number; readonly address: 0 | 4 | 16 }> = new Map([
  [0x00, { block: 0, address: 0 }],
  [0x11, { block: 12, address: 4 }],
  [0x12, { block: 12, address: 0 }],
  [0x21, { block: 36, address: 16 }],
  [0x22, { block: 36, address: 0 }],
  [0x31, { block: 216, address: 0 }],
  [0x32, { block: 216, address: 0 }],
]);

const LOCAL = 0x20;
const PROXY = 0x21;

function readBlock(bytes: Buffer): ProxyHeader | ProxyProblem | 'incomplete' {
  if (bytes.length < V2_HEAD) return 'incomplete';
  const command = bytes.readUInt8(12);
  if (command !== LOCAL && command !== PROXY) return { problem: 'its version or command is unknown' };
  const rest = bytes.readUInt16BE(14);
  if (rest > V2_MOST) return { problem: `it is longer than ${V2_HEAD + V2_MOST} bytes` };
  const length = V2_HEAD + rest;
  if (bytes.length < length) return 'incomplete';
  const header = bytes.subarray(0, length);
  const family = families.get(header.readUInt8(13));
  // A proxy that speaks for itself may write any family; what it means by it "must be discarded".
  if (family === undefined) return command === LOCAL ? { length } : { problem: 'its family is unknown' };
  if (rest < family.block)
    return command === LOCAL ? { length } : { problem: 'it is too short for its addresses' };
  const problem = checkExtensions(header, V2_HEAD + family.block);
  if (problem !== undefined) return { problem };
  if (command === LOCAL || family.address === 0) return { length };
  const from = V2_HEAD + family.address;
  const ports = from + family.address;
  return {
    length,
    ends: {
      address: addressOf(header.subarray(V2_HEAD, from)),
      localAddress: addressOf(header.subarray(from, ports)),
      port: header.readUInt16BE(ports),
      localPort: header.readUInt16BE(ports + 2),
    },
  };
}

function addressOf(bytes: Buffer): string {
  if (bytes.length === 4) return [...bytes].join('.');
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(2 * index).toString(16));
  return canonical(groups.join(':'));
}

/** Walks over the extensions (TLVs), which we have no use for but the checksum. @returns what is wrong */
function checkExtensions(header: Buffer, start: number): string | undefined {
  let checksum: number | undefined;
  let at = start;
  while (at < header.length) {
    if (header.length - at < 3) return 'an extension is cut short';
    const type = header.readUInt8(at);
    const length = header.readUInt16BE(at + 1);
    at += 3;
    if (header.length - at < length) return 'an extension is longer than the header';
    if (type === CRC32C) {
      if (checksum !== undefined || length !== 4) return 'its checksum is malformed';
      checksum = at;
    }
    at += length;
  }
  if (checksum === undefined) return undefined;
  const zeroed = Buffer.from(header);
  zeroed.writeUInt32BE(0, checksum);
  return crc32c(zeroed) === header.readUInt32BE(checksum) ? undefined : 'its checksum is wrong';
}
