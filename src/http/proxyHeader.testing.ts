import { crc32c } from './crc32c.ts';

const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');

/** A header of version 2 as a proxy writes it; every part of it can be wrong. */
export interface Block {
  /** Version and command; PROXY of version 2 unless given. */
  readonly command?: number;
  /** Family and transport; TCP over IPv4 unless given. */
  readonly family?: number;
  readonly addresses?: Buffer;
  readonly extensions?: Buffer;
  /** The length that the header claims; the true one unless given. */
  readonly length?: number;
}

export const ipv4Addresses = (from: string, to: string, fromPort: number, toPort: number): Buffer =>
  Buffer.concat([
    Buffer.from(from.split('.').map(Number)),
    Buffer.from(to.split('.').map(Number)),
    ports(fromPort, toPort),
  ]);

/** @param from as 32 hexadecimal digits */
export const ipv6Addresses = (from: string, to: string, fromPort: number, toPort: number): Buffer =>
  Buffer.concat([Buffer.from(from, 'hex'), Buffer.from(to, 'hex'), ports(fromPort, toPort)]);

function ports(from: number, to: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt16BE(from, 0);
  bytes.writeUInt16BE(to, 2);
  return bytes;
}

export function block(parts: Block = {}): Buffer {
  const {
    command = 0x21,
    family = 0x11,
    addresses = ipv4Addresses('192.0.2.7', '198.51.100.1', 40_000, 443),
    extensions = Buffer.alloc(0),
  } = parts;
  const head = Buffer.from([command, family, 0, 0]);
  head.writeUInt16BE(parts.length ?? addresses.length + extensions.length, 2);
  return Buffer.concat([SIGNATURE, head, addresses, extensions]);
}

export function extension(type: number, value: Buffer): Buffer {
  const head = Buffer.from([type, 0, 0]);
  head.writeUInt16BE(value.length, 1);
  return Buffer.concat([head, value]);
}

/** The same header with a checksum as its last extension, over all of it. */
export function withChecksum(parts: Block = {}): Buffer {
  const empty = extension(3, Buffer.alloc(4));
  const bytes = block({ ...parts, extensions: Buffer.concat([parts.extensions ?? Buffer.alloc(0), empty]) });
  bytes.writeUInt32BE(crc32c(bytes), bytes.length - 4);
  return bytes;
}
