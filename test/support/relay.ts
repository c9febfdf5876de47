import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A cable between a client and a port of loopback that a test can cut, freeze and mend. */
export class Relay {
  readonly #target: number;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #server: Server | undefined;
  port = 0;

  constructor(target: number) {
    this.#target = target;
  }

  /** Listens; on the same port as before when it was cut. */
  async mend(): Promise<void> {
    const server = createServer((client) => this.#join(client));
    this.#server = server;
    server.listen(this.port, '127.0.0.1');
    await once(server, 'listening');
    this.port = (server.address() as AddressInfo).port;
  }

  /** Ends all connections and refuses new ones. */
  async cut(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    const closed = once(server, 'close');
    server.close();
    for (const [client, upstream] of this.#pairs) {
      client.destroy();
      upstream.destroy();
    }
    await closed;
  }

  /** The connections there are stay open and carry nothing any more, as when a router forgets them. */
  freeze(): void {
    for (const [client, upstream] of this.#pairs) {
      client.unpipe(upstream);
      upstream.unpipe(client);
      client.resume();
      upstream.resume();
    }
  }

  #join(client: Socket): void {
    const upstream = connect(this.#target, '127.0.0.1');
    const pair = [client, upstream] as const;
    this.#pairs.add(pair);
    client.pipe(upstream).pipe(client);
    for (const socket of pair) {
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#pairs.delete(pair);
        for (const other of pair) other.destroy();
      });
    }
  }
}
