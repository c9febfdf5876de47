import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { corsHeaders } from './cors.ts';
import { Refused, sendJson } from './reply.ts';
import { findRoute } from './routes.ts';
import { attachWebSocket, isWebSocketPath } from './webSocket.ts';

export interface EchoOptions {
  /** 0 takes a free one. */
  readonly port?: number;
  readonly host?: string;
}

export interface Echo {
  readonly url: string;
  readonly port: number;
  /** Stops listening and ends every connection, WebSockets too. */
  close(): Promise<void>;
}

/** Starts the sample app; rejects when the port cannot be had. */
export async function startEcho({ port = 8000, host = '127.0.0.1' }: EchoOptions = {}): Promise<Echo> {
  const server = createServer(
    {
      // Larger than any gateway's limit, so that it is the gateway's limit that a test meets.
      maxHeaderSize: 256 * 1024,
      // Without this an offer of h2c (`curl --http2`) would be taken for a WebSocket and refused.
      shouldUpgradeCallback: (request) => request.headers.upgrade?.toLowerCase() === 'websocket',
    },
    (request, response) => void answer(request, response),
  );
  const webSockets = attachWebSocket(server);
  server.listen(port, host);
  await once(server, 'listening');
  const bound = (server.address() as AddressInfo).port;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    port: bound,
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of webSockets.clients) socket.terminate();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  // A client that goes away mid-answer is everyday life for an echo.
  request.on('error', () => undefined);
  response.on('error', () => undefined);
  for (const [name, value] of corsHeaders(request)) response.setHeader(name, value);
  try {
    const url = new URL(request.url ?? '/', 'http://echo.invalid');
    if (request.method === 'OPTIONS') return void response.end();
    const found = findRoute(url.pathname);
    if (isWebSocketPath(url.pathname)) throw new Refused(426, 'a WebSocket handshake is expected here');
    if (!found) throw new Refused(404, `nothing is served at ${url.pathname}`);
    const { route, values } = found;
    const method = request.method === 'HEAD' ? 'GET' : (request.method ?? '');
    if (route.methods && !route.methods.includes(method)) {
      response.setHeader('allow', ['OPTIONS', ...route.methods].join(', '));
      throw new Refused(405, `${request.method} is not served here`);
    }
    await route.handle({ request, response, url, values });
  } catch (error) {
    if (response.headersSent) return void response.destroy();
    if (error instanceof Refused && error.status === 426) response.setHeader('upgrade', 'websocket');
    const status =
      error instanceof Refused
        ? error.status
        : error instanceof URIError || error instanceof TypeError
          ? 400
          : 500;
    sendJson(response, status, { status_code: status, error: (error as Error).message });
  }
}
