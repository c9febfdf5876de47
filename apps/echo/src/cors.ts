import type { IncomingMessage } from 'node:http';

/** The headers httpbin puts on every answer: any origin, with credentials; a preflight gets the rest too. */
export function corsHeaders(request: IncomingMessage): [string, string][] {
  const headers: [string, string][] = [
    ['access-control-allow-origin', request.headers.origin ?? '*'],
    ['access-control-allow-credentials', 'true'],
  ];
  if (request.method !== 'OPTIONS') return headers;
  headers.push(
    ['access-control-allow-methods', 'GET, POST, HEAD, PUT, DELETE, PATCH, OPTIONS'],
    ['access-control-max-age', '3600'],
  );
  const asked = request.headers['access-control-request-headers'];
  if (asked) headers.push(['access-control-allow-headers', asked]);
  return headers;
}
