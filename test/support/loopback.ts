import type { Server as HttpServer } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';

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

/**
 * A port that was free a moment ago, for programs that take a number only. All are held open together before any is
 * given back, so that they differ.
 */
export async function freePorts(count: number): Promise<number[]> {
  const holders = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(
    holders.map(
      (holder) =>
        new Promise<number>((resolve, reject) => {
          holder.once('error', reject);
          holder.listen(0, '127.0.0.1', () => resolve((holder.address() as AddressInfo).port));
        }),
    ),
  );
  await Promise.all(holders.map((holder) => new Promise<void>((done) => void holder.close(() => done()))));
  return ports;
}
