import type { Socket } from 'node:net';
import type { ProxiedEnds } from '../../http/index.ts';

/** Both ends of a client's connection, as reported by its holder: a proxy in front of the gateway, or another worker. */
export interface ReportedEnds extends ProxiedEnds {
  /** The proxy (PROXY protocol), where there is one. */
  readonly peer: { readonly address: string; readonly port: number } | undefined;
  /** The version of HTTP that the client speaks, where that is not the one of the bytes. */
  readonly version?: string;
}

/** The other end of a connection; IPv4 as such on sockets that are open for both families. */
export function peerOf(socket: Pick<Socket, 'remoteAddress'>): string {
  const address = socket.remoteAddress ?? '';
  return address.startsWith('::ffff:') ? address.slice(7) : address;
}
