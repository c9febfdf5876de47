import { randomBytes } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { messageOf } from '../../errorText.ts';
import type { ConsoleDoorAddress } from '../../model/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { openServer, type OpenServer } from '../listen.ts';

/** A folder that only this user can enter. */
export interface DoorFolder {
  /** The path for a socket of this name. */
  socket(name: string): string;
  remove(): void;
}

/**
 * The way from routes of the data plane to the console: a socket of this machine, for requests that the policies of a
 * route have let in. It opens when a configuration has such a route for the first time.
 */
export class ConsoleDoor {
  /** Every process of this user can connect, the children of stdio targets included. */
  readonly secret = randomBytes(32).toString('hex');
  private readonly makeFolder: () => DoorFolder;
  private readonly log: Logger;
  private folder: DoorFolder | undefined;
  private server: Promise<OpenServer | undefined> | undefined;
  private handle: RequestListener = (request, response) => {
    request.resume();
    response.writeHead(503).end('the console is starting\n');
  };

  constructor(makeFolder: () => DoorFolder, log: Logger) {
    this.makeFolder = makeFolder;
    this.log = log;
  }

  /**
   * The address for the data plane, which is open from now on.
   * @throws Error where there is no place for the socket
   */
  get address(): ConsoleDoorAddress {
    this.folder ??= this.makeFolder();
    const path = this.folder.socket('console');
    this.server ??= this.open(path);
    return { path, secret: this.secret };
  }

  /** Answers requests with the console from now on. */
  serve(handle: RequestListener): void {
    this.handle = handle;
  }

  async close(): Promise<void> {
    const server = await this.server;
    await server?.close();
    this.folder?.remove();
  }

  /** Never rejects. */
  private async open(path: string): Promise<OpenServer | undefined> {
    try {
      return await openServer('console', { kind: 'unix', path }, (request, response) =>
        this.handle(request, response),
      );
    } catch (error) {
      this.log.error('Console closed on the ports of the configuration', { reason: messageOf(error) });
      return undefined;
    }
  }
}
