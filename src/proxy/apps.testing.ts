import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

/** An HTTP app that answers with its address, and does what a test tells it. */
export interface App {
  readonly host: string;
  readonly port: number;
  readonly server: Server;
  requests: number;
  /** Requests under way. */
  busy: number;
  /** Replaces the usual answer. */
  behave: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
  /** Stops listening and cuts its connections. */
  stop(): Promise<void>;
  /** Listens again, on the same port. */
  restart(): Promise<void>;
}

/** @param port 0 for any free one */
export async function startApp(t: TestContext, host = '127.0.0.1', port = 0): Promise<App> {
  let use = port;
  const listen = async (server: Server): Promise<void> => {
    server.listen(use, host);
    await once(server, 'listening');
    use = (server.address() as AddressInfo).port;
  };
  const server = createServer((request, response) => {
    app.requests++;
    app.busy++;
    response.on('close', () => app.busy--);
    request.resume();
    if (app.behave !== undefined) app.behave(request, response);
    else request.on('end', () => response.end(host));
  });
  const app: App = {
    host,
    get port() {
      return use;
    },
    server,
    requests: 0,
    busy: 0,
    behave: undefined,
    stop: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
    restart: () => listen(server),
  };
  await listen(server);
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return app;
}

/** Apps on the same port of several loopback addresses. */
export async function startApps(t: TestContext, ...hosts: string[]): Promise<App[]> {
  const [first = '127.0.0.1', ...others] = hosts;
  const apps = [await startApp(t, first)];
  for (const host of others) apps.push(await startApp(t, host, apps[0]?.port));
  return apps;
}
