// As a whole: where Node has no BoundSocket, importing it by name would keep the gateway from starting at all.
import net from 'node:net';
import { bindProblem, type SocketHandle } from '../proxy/index.ts';

/** A socket that is bound to a port and that can be handed on. */
export interface PortSocket {
  readonly port: number;
  /** Can be sent to other processes as often as needed; this one keeps it open until it closes it. */
  readonly handle: SocketHandle;
}

/** Bound sockets by the key of their bind. */
export type SocketsByKey = ReadonlyMap<string, readonly PortSocket[]>;

/** Only newer ones bind without listening. */
const lacking = (): string | undefined =>
  typeof net.BoundSocket === 'function'
    ? undefined
    : `Node 26.4 or newer, and this is ${process.versions.node}`;

/** The reason why this Node cannot run several workers, if there is one. */
export function workersUnsupported(): string | undefined {
  const lacks = lacking();
  return lacks === undefined ? undefined : `config.workers: more than one worker requires ${lacks}`;
}

/** The reason why this Node cannot hand its ports over to another program, if there is one. */
export function handoverUnsupported(): string | undefined {
  const lacks = lacking();
  return lacks === undefined ? undefined : `an upgrade requires ${lacks}`;
}

/**
 * Binds with SO_REUSEPORT, so that the system shares out the connections of the port among all sockets on which
 * somebody listens.
 * @throws the system's error
 */
function bind(port: number, host: string): PortSocket {
  const bound = new net.BoundSocket({ port, host, reusePort: true });
  const { port: chosen } = bound.address();
  // Sending a BoundSocket gives it away. What it is around is Node's handle, which can be sent and kept: a socket that
  // adopts it makes it accessible, as `server.listen(handle)` documents it.
  const holder = new net.Socket({ handle: bound }) as net.Socket & { readonly _handle: SocketHandle };
  return { port: chosen, handle: holder._handle };
}

/**
 * Binds as many sockets to one port.
 * @param port 0 for any free one
 * @param address every address of the machine where absent: IPv4 alone where IPv6 is off
 * @param joins there are sockets of this gateway on the port already
 * @param open the ports of this gateway that are open
 * @throws Error saying which port and why
 */
export function bindPort(
  port: number,
  address: string | undefined,
  count: number,
  joins = false,
  open: Parameters<typeof bindProblem>[2] = [],
): readonly PortSocket[] {
  try {
    return bindAll(port, address ?? '::', count, joins);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (address !== undefined || (code !== 'EAFNOSUPPORT' && code !== 'EADDRNOTAVAIL'))
      throw bindProblem({ port, ...(address === undefined ? {} : { address }) }, error, open);
  }
  try {
    return bindAll(port, '0.0.0.0', count, joins);
  } catch (error) {
    throw bindProblem({ port }, error, open);
  }
}

function bindAll(port: number, host: string, count: number, joins: boolean): readonly PortSocket[] {
  // SO_REUSEPORT lets another program of this user in that asks for it, too: a second gateway started by mistake
  // would get half of the connections. Without it the system says whether somebody listens there.
  if (port !== 0 && !joins) new net.BoundSocket({ port, host }).close();
  const sockets: PortSocket[] = [];
  try {
    while (sockets.length < count) sockets.push(bind(sockets[0]?.port ?? port, host));
  } catch (error) {
    for (const { handle } of sockets) handle.close();
    throw error;
  }
  return sockets;
}
