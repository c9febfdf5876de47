import { createServer, type Socket } from 'node:net';
import { PrivateFolder } from './privateFolder.ts';

/** The time for the connection to arrive, in milliseconds. */
const waitMs = 5_000;

/**
 * A socket that takes one connection of this gateway to itself, and is closed then. Only this user can reach it.
 * Whoever opened it closes it.
 */
export class Entrance {
  readonly path: string;
  /** Resolves (never rejects) when it takes no connection any more. */
  readonly closed: Promise<void>;
  private readonly folder = new PrivateFolder();
  private readonly server;
  private readonly timer: NodeJS.Timeout;
  private onClosed: () => void = () => undefined;

  private constructor(admit: (socket: Socket) => void) {
    this.path = this.folder.socket('entrance');
    this.closed = new Promise((resolve) => (this.onClosed = resolve));
    this.server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) => {
      this.close();
      admit(socket);
    });
    this.server.maxConnections = 1;
    this.timer = setTimeout(() => this.close(), waitMs).unref();
  }

  /** @param admit serves the connection @throws Error where no socket can be opened */
  static async open(admit: (socket: Socket) => void): Promise<Entrance> {
    const entrance = new Entrance(admit);
    const { server, path } = entrance;
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(path, resolve);
      });
    } catch (error) {
      entrance.close();
      throw error;
    }
    return entrance;
  }

  /** Takes no connection any more. */
  close(): void {
    clearTimeout(this.timer);
    this.server.close();
    this.folder.remove();
    this.onClosed();
  }
}
