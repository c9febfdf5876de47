import { timingSafeEqual } from 'node:crypto';
import type { ClientCertificate } from '../../http/index.ts';

/**
 * The description of a client's connection that a worker sends before the first request it passes on. As the
 * PROXY protocol does, it speaks for the whole connection; unlike that it tells of the handshake, and proves who
 * says so.
 */
export interface RelayHeader {
  /** Key of the bind that the connection came in by. */
  readonly bind: string;
  /** The HTTP version that the client speaks. */
  readonly version: string;
  readonly address: string;
  readonly port: number;
  readonly localAddress: string;
  readonly localPort: number;
  readonly peer?: { readonly address: string; readonly port: number };
  /** Absent where the connection is plain TCP. */
  readonly tls?: {
    readonly listener: string;
    readonly terms?: string | undefined;
    readonly serverName?: string;
    readonly certificate?: ClientCertificate;
  };
}

/** A client's certificate is most of it; the platform takes none of more than 100 KB in a handshake. */
const longest = 262_144;
const lengthBytes = 4;

/** @param secret in hexadecimal digits, always as many */
export function writeRelayHeader(secret: string, header: RelayHeader): Buffer {
  const body = Buffer.from(secret + JSON.stringify(header));
  const bytes = Buffer.allocUnsafe(lengthBytes + body.length);
  bytes.writeUInt32BE(body.length, 0);
  body.copy(bytes, lengthBytes);
  return bytes;
}

/** @returns `refused` for whoever does not know the secret */
export function readRelayHeader(
  bytes: Buffer,
  secret: string,
): { readonly header: RelayHeader; readonly length: number } | 'incomplete' | 'refused' {
  if (bytes.length < lengthBytes) return 'incomplete';
  const body = bytes.readUInt32BE(0);
  if (body < secret.length || body > longest) return 'refused';
  const from = lengthBytes + secret.length;
  if (bytes.length < from) return 'incomplete';
  if (!timingSafeEqual(bytes.subarray(lengthBytes, from), Buffer.from(secret))) return 'refused';
  const length = lengthBytes + body;
  if (bytes.length < length) return 'incomplete';
  return { header: JSON.parse(bytes.toString('utf8', from, length)) as RelayHeader, length };
}
