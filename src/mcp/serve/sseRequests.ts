/** The requests of HTTP+SSE (MCP 2024-11-05), which share a path with those of Streamable HTTP. */

import type { HttpRequest } from '../../http/index.ts';

/** The path whose GET opens a session, and whose POSTs carry the messages. */
const ssePath = '/sse';
/** The parameter of the query that names the session of a message. */
const sessionParameter = 'sessionId';

/** The parts of a request that tell which transport it belongs to. */
type Request = Pick<HttpRequest, 'method' | 'path' | 'query'> & {
  header(name: string): string | undefined;
};

/** Is it a request of HTTP+SSE? One with the header of Streamable HTTP is not, whatever its path. */
const onPath = (request: Request): boolean =>
  request.path === ssePath && request.header('mcp-session-id') === undefined;

/** Does the request open the event stream of a new session? */
export const opensSse = (request: Request): boolean => request.method === 'GET' && onPath(request);

/** The session to which the request brings messages; undefined for a request of Streamable HTTP. */
export function sseSessionOf(request: Request): string | undefined {
  if (request.method !== 'POST' || !onPath(request)) return undefined;
  return new URLSearchParams(request.query).get(sessionParameter) ?? undefined;
}

/** The path and query for the messages of a session; the query of the stream stays, since it may hold credentials. */
export function messageTarget({ query }: Pick<HttpRequest, 'query'>, session: string): string {
  const kept = query.split('&').filter((pair) => pair !== '' && !pair.startsWith(`${sessionParameter}=`));
  return `${ssePath}?${[...kept, `${sessionParameter}=${session}`].join('&')}`;
}
