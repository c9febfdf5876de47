/** The server that exercises every part of the protocol, over HTTP+SSE as the 1.x SDK speaks it. */

import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import type { EverythingServer } from './everythingServer.testing.ts';
import { everything } from './harness.testing.ts';

interface Made {
  readonly server: {
    connect(transport: SSEServerTransport): Promise<void>;
    readonly server: { onclose?: () => void };
  };
  readonly cleanup: (sessionId?: string) => void;
}

/** Starts one on a free port of 127.0.0.1. */
export async function startEverythingSse(): Promise<EverythingServer> {
  // The package has no types for its inside.
  const { createServer: make } = (await import(join(dirname(everything), 'server/index.js'))) as {
    createServer: () => Made;
  };
  const sessions = new Map<string, SSEServerTransport>();
  const http: Server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://server');
    if (request.method === 'GET') {
      const { server, cleanup } = make();
      const transport = new SSEServerTransport('/message', response);
      sessions.set(transport.sessionId, transport);
      void server.connect(transport).then(() => {
        const { onclose } = server.server;
        server.server.onclose = () => {
          onclose?.();
          sessions.delete(transport.sessionId);
          cleanup(transport.sessionId);
        };
      });
      return;
    }
    const transport = sessions.get(url.searchParams.get('sessionId') ?? '');
    if (transport === undefined) response.writeHead(404).end();
    else void transport.handlePostMessage(request, response);
  });
  await new Promise<void>((resolve) => void http.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/sse`,
    sessions: () => sessions.size,
    close: async () => {
      http.closeAllConnections();
      await new Promise((resolve) => void http.close(resolve));
    },
  };
}
