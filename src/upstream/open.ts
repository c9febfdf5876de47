import { connect as connectPlain, type OnReadOpts, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';
import type { TlsOptions } from './tls.ts';

/** The callbacks of the platform: it delivers the bytes it read, and asks for the buffer of the next read. */
export type Reading = OnReadOpts;

export interface Address {
  readonly host: string;
  readonly port: number;
  /** The path of a socket of this machine; host and port are names then. */
  readonly path?: string | undefined;
}

export const openPlain = ({ host, port, path }: Address, onread: Reading): Socket =>
  connectPlain(path === undefined ? { host, port, noDelay: true, onread } : { path, onread });

/** @param session of an earlier connection to the same address with the same settings, to be resumed */
export function openTls(
  { host, port }: Address,
  onread: Reading,
  tls: TlsOptions,
  session: Buffer | undefined,
): TLSSocket {
  // `onread` works as for plain sockets (documented for tls.connect); the types have not heard of it.
  const options: ConnectionOptions & { onread: Reading } = {
    host,
    port,
    onread,
    ...tlsSettings(tls, session),
  };
  const socket = connectTls(options);
  socket.setNoDelay(true);
  return socket;
}

export const tlsSettings = (tls: TlsOptions, session: Buffer | undefined): ConnectionOptions => ({
  secureContext: tls.secureContext,
  servername: tls.servername,
  rejectUnauthorized: tls.rejectUnauthorized,
  checkServerIdentity: tls.checkServerIdentity,
  ALPNProtocols: [...tls.ALPNProtocols],
  ...(session === undefined ? {} : { session }),
});

/** The complaint of TLS about the other side; undefined if the network failed. */
export function tlsProblem({ code = '', message, syscall }: NodeJS.ErrnoException): string | undefined {
  if (code === 'EPROTO') {
    const [, reason] = /:error:[^:]*:[^:]*:[^:]*:([^:]+):/.exec(message) ?? [];
    return `ERR_SSL: ${reason ?? message}`;
  }
  if (syscall !== undefined) return undefined;
  return code === '' || message.startsWith(code) ? message : `${code}: ${message}`;
}
