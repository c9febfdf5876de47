import type { Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Lets an HTTP server listen on a free port of 127.0.0.1; `close` ends its connections too. */
export async function listenOnLoopback(
  server: HttpServer,
): Promise<{ port: number; close: () => Promise<void> }> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

export { freePorts } from '../../src/proxy/ports.testing.ts';
