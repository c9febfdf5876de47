import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import type { InvalidBackend, TcpBackend, TcpRoute } from '../model/index.ts';
import { BackendConnection } from './wire.testing.ts';

export const place = { file: 'test', line: 1, column: 1, path: '' };

/** A server that speaks no HTTP: it says its name first, where it has one, and then what a test tells it. */
export interface RawServer {
  readonly port: number;
  readonly connections: readonly BackendConnection[];
  /** The one accepted after `index` others. */
  connection(index?: number): Promise<BackendConnection>;
  stop(): Promise<void>;
}

export interface RawServerOptions {
  readonly name?: string;
  readonly tls?: TlsOptions;
  readonly host?: string;
  readonly port?: number;
  onConnection?(socket: Socket): void;
}

export async function startRaw(t: TestContext, options: RawServerOptions = {}): Promise<RawServer> {
  const { name = '', tls, host = '127.0.0.1', onConnection } = options;
  const connections: BackendConnection[] = [];
  const waiting: (() => void)[] = [];
  const sockets = new Set<Socket>();
  const accept = (socket: Socket): void => {
    if (onConnection === undefined) connections.push(new BackendConnection(socket));
    else onConnection(socket);
    if (name !== '') socket.write(`${name}\n`);
    for (const wake of waiting.splice(0)) wake();
  };
  const server: Server =
    tls === undefined
      ? createServer({ allowHalfOpen: true }, accept)
      : createTlsServer({ ...tls, allowHalfOpen: true } as TlsOptions, accept);
  // Below TLS, where there is any.
  server.on('connection', (socket: Socket) => void sockets.add(socket));
  server.listen(options.port ?? 0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const stop = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  t.after(stop);
  return {
    port,
    connections,
    stop,
    connection: async (index = 0) => {
      for (;;) {
        const found = connections[index];
        if (found !== undefined) return found;
        await new Promise<void>((resolve) => void waiting.push(resolve));
      }
    },
  };
}

export const tcpBackend = (port: number, more: Partial<TcpBackend> = {}): TcpBackend => ({
  kind: 'tcp',
  weight: 1,
  key: `tcp/${port}`,
  place,
  host: '127.0.0.1',
  port,
  ...more,
});

export const invalidBackend = (weight = 1): InvalidBackend => ({
  kind: 'invalid',
  weight,
  key: 'nobody',
  place,
  problem: 'there is no such service',
});

export const tcpRoute = (
  backends: TcpRoute['backends'],
  hostnames: readonly string[] = [],
  name = `route-${hostnames.join('-')}`,
): TcpRoute => ({ name, hostnames, backends, place });
