import { createServer, type Server, type Socket } from 'node:net';
import { readRelayHeader, type RelayHeader } from './relayHeader.ts';

/** The time for the header: a peer that connects and says nothing is not a worker. */
const HEADER_MS = 10_000;
/** So many may be about to say who they are. */
const ENTERING_MOST = 1_024;

/** Accepts requests from other workers for sessions that this worker holds. */
export class RelayServer {
  private readonly server: Server;
  private readonly secret: string;
  private readonly admit: (header: RelayHeader, socket: Socket) => void;
  private readonly entering = new Set<Socket>();

  /** @param admit gets each connection that was announced by somebody who knows the secret, as it is behind that */
  constructor(secret: string, admit: (header: RelayHeader, socket: Socket) => void) {
    this.secret = secret;
    this.admit = admit;
    // Half-open as on a port: what the end of one side means is decided by who reads it.
    this.server = createServer({ allowHalfOpen: true }, (socket) => this.enter(socket));
    this.server.on('error', () => undefined);
  }

  /** @throws the system's error */
  listen(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(path, () => {
        this.server.off('error', reject);
        resolve();
      });
    });
  }

  close(): void {
    // The system's own part removes the path.
    this.server.close();
    for (const socket of this.entering) socket.destroy();
  }

  private enter(socket: Socket): void {
    const { entering } = this;
    const leave = (): void => void socket.destroy();
    socket.on('error', leave);
    if (entering.size >= ENTERING_MOST) {
      leave();
      return;
    }
    entering.add(socket);
    const late = setTimeout(leave, HEADER_MS).unref();
    let read: Buffer | undefined;
    const hear = (bytes: Buffer): void => {
      read = read === undefined ? bytes : Buffer.concat([read, bytes]);
      const found = readRelayHeader(read, this.secret);
      if (found === 'incomplete') return;
      if (found === 'refused') {
        leave();
        return;
      }
      forget();
      socket.off('error', leave);
      socket.pause();
      if (read.length > found.length) socket.unshift(read.subarray(found.length));
      this.admit(found.header, socket);
      socket.resume();
    };
    const forget = (): void => {
      clearTimeout(late);
      entering.delete(socket);
      socket.off('data', hear);
      socket.off('end', leave);
      socket.off('close', forget);
    };
    socket.on('data', hear);
    socket.on('end', leave);
    socket.on('close', forget);
  }
}
