import type { IncomingMessage, ServerResponse } from 'node:http';
import { isLoopbackUrl } from './loopback.ts';

/**
 * Lets pages served from this machine (MCP clients that run in a browser, such as the Inspector) use every OAuth
 * endpoint, registration too. Other origins are left to the provider, which opens metadata and keys to all.
 * Answers a preflight itself: true when it did.
 */
export function allowLocalPages(request: IncomingMessage, response: ServerResponse): boolean {
  const { origin } = request.headers;
  if (!origin || !isLoopbackUrl(origin)) return false;
  response.setHeader('access-control-allow-origin', origin);
  response.setHeader('access-control-expose-headers', 'WWW-Authenticate');
  response.setHeader('vary', 'Origin');
  const asked = request.headers['access-control-request-method'];
  if (request.method !== 'OPTIONS' || !asked) return false;
  response.setHeader('access-control-allow-methods', 'GET, POST');
  response.setHeader('access-control-allow-headers', request.headers['access-control-request-headers'] ?? '');
  response.setHeader('access-control-max-age', '3600');
  response.writeHead(204).end();
  return true;
}
