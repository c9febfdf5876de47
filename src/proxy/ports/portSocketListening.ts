import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { bindOn } from './bindOn.ts';

/**
 * A bound socket that another process holds open and has handed over, as it comes out of a message of that process:
 * Node's own handle, which `net.Server.listen(handle)` takes and nobody else looks into.
 */
export interface SocketHandle {
  close(): void;
}

/** Connections that wait to be accepted, for each socket. */
const backlog = 1_024;

const ignore = (): void => undefined;

/**
 * The sockets on which a port accepts connections: its own, or sockets that were handed over. Several sockets can
 * stand for one port, so that a process can take over those of another for a while. The system begins to accept
 * as soon as a port is bound, which is before it is known whether everything else of a configuration can be used:
 * who comes before `begin` waits.
 */
export class Listening {
  private readonly onSocket: (socket: Socket) => void;
  private readonly onFailure: (error: Error) => void;
  private readonly servers = new Map<SocketHandle | undefined, Server>();
  /** Connections that came before `begin`; undefined from then on. */
  private early: Set<Socket> | undefined = new Set();
  private closed = false;

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
    await bindOn(address, (host) =>
      this.listen(undefined, (server) => server.listen({ port, host, backlog })),
    );
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

  /** There is something to serve from now on. */
  begin(): void {
    const early = this.early ?? [];
    this.early = undefined;
    for (const socket of early) {
      socket.off('error', ignore);
      // A client that has left meanwhile is ignored.
      if (!socket.destroyed) this.onSocket(socket);
    }
  }

  /** Accepts no more, also where a socket is just being opened. Connections that are there stay. */
  close(): void {
    this.closed = true;
    for (const server of this.servers.values()) server.close();
    this.servers.clear();
    for (const socket of this.early ?? []) socket.destroy();
    this.early?.clear();
  }

  private accept(socket: Socket): void {
    if (this.early === undefined) {
      this.onSocket(socket);
      return;
    }
    // As many as would have waited with the system.
    if (this.early.size >= backlog) {
      socket.destroy();
      return;
    }
    this.early.add(socket);
    socket.on('error', ignore);
  }

  private listen(handle: SocketHandle | undefined, begin: (server: Server) => void): Promise<void> {
    // Half-open, so that an answer can still be written while we decide what the end of the client's side means.
    const server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) => this.accept(socket));
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.once('listening', () => {
        server.off('error', reject);
        server.on('error', this.onFailure);
        if (this.closed) {
          server.close();
          reject(new Error('the port was closed while it was being opened'));
          return;
        }
        this.servers.set(handle, server);
        resolve();
      });
      begin(server);
    });
  }
}
