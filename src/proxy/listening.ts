import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/**
 * A bound socket that another process holds open and has handed over, as it comes out of a message of that process:
 * Node's own handle, which `net.Server.listen(handle)` takes and nobody else looks into.
 */
export interface SocketHandle {
  close(): void;
}

/** Connections that wait to be accepted, for each socket. */
const backlog = 1_024;

/**
 * What one port accepts connections on: a socket of its own, or sockets that were handed over. Several sockets can
 * stand for one port, so that a process can take over those of another for a while.
 */
export class Listening {
  private readonly onSocket: (socket: Socket) => void;
  private readonly onFailure: (error: Error) => void;
  private readonly servers = new Map<SocketHandle | undefined, Server>();

  /** @param onFailure hears of every connection that the system could not hand over, and goes on by itself */
  constructor(onSocket: (socket: Socket) => void, onFailure: (error: Error) => void) {
    this.onSocket = onSocket;
    this.onFailure = onFailure;
  }

  /** The port in use; 0 while nothing is. */
  get port(): number {
    for (const server of this.servers.values()) {
      const address = server.address() as AddressInfo | null;
      if (address !== null) return address.port;
    }
    return 0;
  }

  /**
   * Binds on one address, or on all of them: IPv4 alone where IPv6 is off.
   * @throws the system's error, as EADDRINUSE
   */
  async open(port: number, address?: string): Promise<void> {
    try {
      await this.listen(undefined, (server) => server.listen({ port, host: address ?? '::', backlog }));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (address !== undefined || (code !== 'EAFNOSUPPORT' && code !== 'EADDRNOTAVAIL')) throw error;
      await this.listen(undefined, (server) => server.listen({ port, host: '0.0.0.0', backlog }));
    }
  }

  /**
   * Accepts on a socket that was handed over; it is closed together with this.
   * @throws the system's error
   */
  async take(handle: SocketHandle): Promise<void> {
    await this.listen(handle, (server) => server.listen(handle, backlog));
  }

  /** Accepts no more on one socket; whoever else holds it goes on. */
  release(handle: SocketHandle): void {
    this.servers.get(handle)?.close();
    this.servers.delete(handle);
  }

  /** Accepts no more. Connections that are there stay. */
  close(): void {
    for (const server of this.servers.values()) server.close();
    this.servers.clear();
  }

  private listen(handle: SocketHandle | undefined, begin: (server: Server) => void): Promise<void> {
    // Half-open, so that an answer can still be written while we decide what the end of the client's side means.
    const server = createServer({ noDelay: true, allowHalfOpen: true }, this.onSocket);
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.once('listening', () => {
        server.off('error', reject);
        server.on('error', this.onFailure);
        this.servers.set(handle, server);
        resolve();
      });
      begin(server);
    });
  }
}
