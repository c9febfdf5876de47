/** The server that exercises every part of the protocol, over Streamable HTTP as the 1.x SDK speaks it. */

import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { everything } from './harness.testing.ts';

interface Made {
  readonly server: {
    connect(transport: StreamableHTTPServerTransport): Promise<void>;
    close(): Promise<void>;
  };
  readonly cleanup: (sessionId?: string) => void;
}

export interface EverythingServer {
  readonly url: string;
  /** Sessions that are open. */
  sessions(): number;
  close(): Promise<void>;
}

/** Starts one on a free port of 127.0.0.1. */
export async function startEverything(): Promise<EverythingServer> {
  // The package has no types for its inside.
  const { createServer: make } = (await import(join(dirname(everything), 'server/index.js'))) as {
    createServer: () => Made;
  };
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const begin = async (): Promise<StreamableHTTPServerTransport> => {
    const { server, cleanup } = make();
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => {
        sessions.delete(id);
        cleanup(id);
      },
    });
    await server.connect(transport);
    return transport;
  };
  const http: Server = createServer((request, response) => {
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id) : undefined;
    if (id !== undefined && known === undefined) {
      response.writeHead(404).end();
      return;
    }
    void (known === undefined ? begin() : Promise.resolve(known)).then((transport) =>
      transport.handleRequest(request, response),
    );
  });
  await new Promise<void>((resolve) => void http.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    sessions: () => sessions.size,
    close: async () => {
      await Promise.all([...sessions.values()].map((transport) => transport.close()));
      http.closeAllConnections();
      await new Promise((resolve) => void http.close(resolve));
    },
  };
}
