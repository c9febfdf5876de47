import type { Socket } from 'node:net';
import type { ProxiedEnds } from '../http/index.ts';

/** The ends of a client's connection to a proxy in front of us, as that proxy tells them (PROXY protocol). */
export interface ToldEnds extends ProxiedEnds {
  /** That proxy. */
  readonly peer: { readonly address: string; readonly port: number };
}

/** The other end of a connection; IPv4 as such on sockets that are open for both families. */
export function peerOf(socket: Pick<Socket, 'remoteAddress'>): string {
  const address = socket.remoteAddress ?? '';
  return address.startsWith('::ffff:') ? address.slice(7) : address;
}
