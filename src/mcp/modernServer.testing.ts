/** The server of `fixtures/modern.ts` over Streamable HTTP, and what it gets. */

import { createMcpHandler } from '@modelcontextprotocol/server';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { createModernServer, type Eras } from './fixtures/modern.ts';
import { stdioTarget } from './harness.testing.ts';
import type { StdioTarget } from '../model/index.ts';
import type { Message } from './rawClient.testing.ts';

export interface SeenPost {
  readonly headers: IncomingMessage['headers'];
  readonly message: Message;
}

export interface ModernServer {
  readonly url: string;
  readonly seen: SeenPost[];
  /** Methods other than POST that it got. */
  readonly others: string[];
  /** `subscriptions/listen` streams that are open. */
  readonly streams: Set<ServerResponse>;
  of(method: string): SeenPost[];
  close(): Promise<void>;
}

/** Starts one on a free port of 127.0.0.1. */
export async function startModern(eras: Exclude<Eras, 'legacy'> = 'modern'): Promise<ModernServer> {
  const seen: SeenPost[] = [];
  const others: string[] = [];
  const streams = new Set<ServerResponse>();
  const handler = createMcpHandler(
    () =>
      createModernServer({
        toolsChanged: () => handler.notify.toolsChanged(),
        resourceUpdated: (uri) => handler.notify.resourceUpdated(uri),
      }),
    { legacy: eras === 'modern' ? 'reject' : 'stateless' },
  );
  const take = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const parts: Buffer[] = [];
    for await (const part of req) parts.push(part as Buffer);
    const body = Buffer.concat(parts).toString();
    if (req.method === 'POST') {
      const message = JSON.parse(body) as Message;
      seen.push({ headers: req.headers, message });
      if (message.method === 'subscriptions/listen') {
        streams.add(res);
        res.once('close', () => streams.delete(res));
      }
    } else others.push(req.method ?? '');
    const gone = new AbortController();
    res.once('close', () => gone.abort());
    const response = await handler.fetch(
      new Request(`http://127.0.0.1${req.url ?? '/'}`, {
        method: req.method ?? 'GET',
        headers: Object.entries(req.headers).map(([name, value]): [string, string] => [name, String(value)]),
        signal: gone.signal,
        ...(req.method === 'POST' ? { body } : {}),
      }),
    );
    res.writeHead(response.status, Object.fromEntries(response.headers));
    res.flushHeaders();
    if (response.body === null) res.end();
    else await pipeline(Readable.fromWeb(response.body), res);
  };
  const server = createServer((req, res) => {
    take(req, res).catch(() => res.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    seen,
    others,
    streams,
    of: (method) => seen.filter(({ message }) => message.method === method),
    close: async () => {
      await handler.close();
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

const program = fileURLToPath(new URL('./fixtures/modern.ts', import.meta.url));

/** The same server as a child process. */
export const modernTarget = (eras: Eras = 'modern', settings: Partial<StdioTarget> = {}): StdioTarget =>
  stdioTarget({ name: 'modern', args: [program, eras], ...settings });
