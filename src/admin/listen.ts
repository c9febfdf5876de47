import { unlinkSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { connect, Server as NetServer, type Socket } from 'node:net';
import { messageOf } from '../errorText.ts';
import { FairShare, type Held } from '../http/index.ts';
import type { ListenAddress } from '../model/index.ts';
import type { SocketHandle } from '../proxy/index.ts';

/** A server that listens; whoever opened it closes it. */
export interface OpenServer {
  /** `http://host:port` or `unix:/path`. */
  readonly address: string;
  /**
   * The handle on which another process can listen, too; undefined for a socket file, which belongs to its maker.
   */
  readonly handle: SocketHandle | undefined;
  /** Takes no more connections; resolves when all are gone, which idle ones may take a while for. */
  stopAccepting(): Promise<void>;
  close(): Promise<void>;
}

/** Limits for a peer: these ports answer small questions. */
const limits = { maxConnections: 512, requestTimeoutMs: 10_000, maxHeaderBytes: 16_384 };

/**
 * Opens a small HTTP server; undefined where the address is `off`.
 * @param inherited a socket of that address, from the program before this one
 * @throws Error naming the purpose and the address when it cannot listen there
 */
export const openServer = async (
  purpose: string,
  where: ListenAddress,
  handle: RequestListener,
  inherited?: SocketHandle,
): Promise<OpenServer | undefined> => {
  if (where.kind === 'off') return undefined;
  let leaving = false;
  const server = createServer(
    {
      requestTimeout: limits.requestTimeoutMs,
      headersTimeout: limits.requestTimeoutMs,
      maxHeaderSize: limits.maxHeaderBytes,
      // The interval at which the two limits are checked; the default is so long that a silent connection stays
      // for 40 seconds.
      connectionsCheckingInterval: 1_000,
    },
    (request, response) => {
      if (leaving) response.setHeader('connection', 'close');
      handle(request, response);
    },
  );
  shareConnections(server);
  try {
    await (inherited === undefined ? listenOrRetry(server, where) : adopt(server, inherited));
  } catch (error) {
    const reason = messageOf(error);
    const { code } = error as NodeJS.ErrnoException;
    const hint =
      code === 'EADDRINUSE'
        ? ` (another program listens there, another gateway perhaps: ${purpose}Addr names another place, or off)`
        : '';
    throw new Error(`cannot open the ${purpose} address: ${reason}${hint}`, { cause: error });
  }
  return {
    address: addressOf(server),
    // `server.listen` documents it: a server is something with a handle that another one can listen on.
    handle:
      where.kind === 'tcp' ? (server as Server & { readonly _handle: SocketHandle })._handle : undefined,
    stopAccepting: async () => {
      leaving = true;
      // The method of HTTP would end connections whose request is still on its way.
      await new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
    },
    close: async () => await close(server),
  };
};

/** A connection and its state. */
interface OpenSocket extends Held {
  readonly socket: Socket;
  idleSince: number | undefined;
}

/**
 * Keeps the connections within their limit. Above 80 % of it whoever holds most loses its longest idle ones: silent
 * connections must not keep a probe or a scraper out.
 */
const shareConnections = (server: Server): void => {
  const open = new Map<Socket, OpenSocket>();
  const share = new FairShare(() => open.values());
  server.on('connection', (socket) => {
    const largest = share.makeRoom(open.size, limits.maxConnections);
    for (const { socket: idle } of largest?.longestIdle ?? []) {
      open.delete(idle);
      idle.destroy();
    }
    if (open.size >= limits.maxConnections) {
      socket.destroy();
      return;
    }
    open.set(socket, { socket, remoteAddress: socket.remoteAddress ?? '', idleSince: Date.now() });
    socket.once('close', () => open.delete(socket));
  });
  server.on('request', ({ socket }, response) => {
    const known = open.get(socket);
    if (known === undefined) return;
    known.idleSince = undefined;
    response.once('close', () => (known.idleSince = Date.now()));
  });
};

const adopt = async (server: Server, handle: SocketHandle): Promise<void> =>
  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(handle, () => {
      server.off('error', reject);
      resolve();
    });
  });

type Open = Exclude<ListenAddress, { kind: 'off' }>;

const listenOrRetry = async (server: Server, where: Open): Promise<void> => {
  try {
    await listen(server, where);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (where.kind === 'tcp' && where.host === '::' && (code === 'EAFNOSUPPORT' || code === 'EADDRNOTAVAIL'))
      // IPv6 is off on this machine; the wish was "every address".
      await listen(server, { ...where, host: '0.0.0.0' });
    else if (where.kind === 'unix' && code === 'EADDRINUSE' && (await isStale(where.path))) {
      unlinkSync(where.path);
      await listen(server, where);
    } else throw error;
  }
};

const listen = async (server: Server, where: Open): Promise<void> =>
  await new Promise((resolve, reject) => {
    const failed = (error: Error): void => reject(error);
    server.once('error', failed);
    const opened = (): void => {
      server.off('error', failed);
      resolve();
    };
    if (where.kind === 'tcp') {
      server.listen(where.port, where.host, opened);
      return;
    }
    // The socket file is made within this call; nobody but the owner may connect, from its first moment.
    const mask = process.umask(0o177);
    try {
      server.listen(where.path, opened);
    } finally {
      process.umask(mask);
    }
  });

/** A socket file that a dead process left behind: nobody answers. */
const isStale = async (path: string): Promise<boolean> =>
  await new Promise((resolve) => {
    const probe = connect(path);
    probe.once('connect', () => {
      probe.destroy();
      resolve(false);
    });
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'));
  });

const addressOf = (server: Server): string => {
  const address = server.address();
  if (typeof address === 'string') return `unix:${address}`;
  if (address === null) return '';
  return `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${String(address.port)}`;
};

const close = async (server: Server): Promise<void> =>
  await new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
