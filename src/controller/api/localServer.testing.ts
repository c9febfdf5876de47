import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { Access } from './access.ts';

/** The access of a client to a server that stands for the API server until the test ends. */
export async function accessTo(t: TestContext, answer: RequestListener): Promise<Access> {
  const server = createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    server: new URL(`http://127.0.0.1:${String((server.address() as AddressInfo).port)}`),
    namespace: undefined,
    options: async () => await Promise.resolve({}),
    refused: () => {},
    close: () => {},
  };
}
