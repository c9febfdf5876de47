import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, describeWithBody, headerLists, origin } from './describe.ts';
import { pause, Refused, sendJson, write } from './reply.ts';

export interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  /** The text in place of the `{…}` of the route's path. */
  readonly values: readonly string[];
}

export interface Route {
  readonly path: string;
  /** HEAD goes with GET. Left out: every method. */
  readonly methods?: readonly string[];
  handle(call: Call): void | Promise<void>;
}

const limits = { bytes: 10 * 1024 * 1024, lines: 1000, redirects: 20, delaySeconds: 10, events: 1000 };

const routes: readonly Route[] = [
  {
    path: '/',
    methods: ['GET'],
    handle: ({ response }) => sendJson(response, 200, { paths: routes.map((r) => r.path) }),
  },
  {
    path: '/headers',
    methods: ['GET'],
    handle: ({ request, response }) => sendJson(response, 200, { headers: headerLists(request.rawHeaders) }),
  },
  {
    path: '/ip',
    methods: ['GET'],
    handle: ({ request, response }) => sendJson(response, 200, { origin: origin(request) }),
  },
  {
    path: '/user-agent',
    methods: ['GET'],
    handle: ({ request, response }) =>
      sendJson(response, 200, { 'user-agent': request.headers['user-agent'] ?? '' }),
  },
  {
    path: '/get',
    methods: ['GET'],
    handle: ({ request, response, url }) => sendJson(response, 200, describe(request, url)),
  },
  { path: '/post', methods: ['POST'], handle: sendAll },
  { path: '/put', methods: ['PUT'], handle: sendAll },
  { path: '/patch', methods: ['PATCH'], handle: sendAll },
  { path: '/delete', methods: ['DELETE'], handle: sendAll },
  { path: '/anything', handle: sendAll },
  { path: '/anything/{rest}', handle: sendAll },
  { path: '/status/{code}', handle: sendStatus },
  { path: '/delay/{seconds}', handle: sendLate },
  { path: '/redirect/{n}', methods: ['GET'], handle: redirect },
  { path: '/bytes/{n}', methods: ['GET'], handle: sendBytes },
  { path: '/stream-bytes/{n}', methods: ['GET'], handle: streamBytes },
  { path: '/stream/{n}', methods: ['GET'], handle: streamLines },
  { path: '/sse', methods: ['GET'], handle: streamEvents },
];

const compiled = routes.map((route) => ({ route, pattern: pathPattern(route.path) }));

/** Finds what serves a path. Throws URIError on a broken percent escape. */
export function findRoute(path: string): { route: Route; values: string[] } | undefined {
  for (const { route, pattern } of compiled) {
    const match = pattern.exec(path);
    if (match) return { route, values: match.slice(1).map(decodeURIComponent) };
  }
  return undefined;
}

function pathPattern(path: string): RegExp {
  return new RegExp(`^${path.replace('{rest}', '(.*)').replace(/\{\w+\}/g, '([^/]+)')}$`);
}

async function sendAll({ request, response, url }: Call): Promise<void> {
  sendJson(response, 200, await describeWithBody(request, url));
}

function sendStatus({ response, values }: Call): void {
  const status = wholeNumber(values[0], 'status code', 200, 599);
  if (status >= 300 && status < 400 && status !== 304) response.setHeader('location', '/redirect/1');
  if (status === 401) response.setHeader('www-authenticate', 'Basic realm="echo"');
  response.writeHead(status, status === 204 || status === 304 ? {} : { 'content-length': '0' });
  response.end();
}

async function sendLate(call: Call): Promise<void> {
  const seconds = Number(call.values[0]);
  if (!(seconds >= 0)) throw new Refused(400, 'the delay is a number of seconds');
  if (await pause(call.response, Math.min(seconds, limits.delaySeconds) * 1000)) await sendAll(call);
}

function redirect({ response, values }: Call): void {
  const left = wholeNumber(values[0], 'number of redirects', 1, limits.redirects);
  response
    .writeHead(302, { location: left > 1 ? `/redirect/${left - 1}` : '/get', 'content-length': '0' })
    .end();
}

function sendBytes({ response, values }: Call): void {
  const body = randomBytes(wholeNumber(values[0], 'number of bytes', 0, limits.bytes));
  response
    .writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': body.length })
    .end(body);
}

async function streamBytes({ response, url, values }: Call): Promise<void> {
  let left = wholeNumber(values[0], 'number of bytes', 0, limits.bytes);
  const size = wholeNumber(url.searchParams.get('chunk_size') ?? '10240', 'chunk size', 1, limits.bytes);
  response.writeHead(200, { 'content-type': 'application/octet-stream' });
  for (; left > 0; left -= size) if (!(await write(response, randomBytes(Math.min(left, size))))) return;
  response.end();
}

async function streamLines({ request, response, url, values }: Call): Promise<void> {
  const count = wholeNumber(values[0], 'number of lines', 0, limits.lines);
  const line = describe(request, url);
  response.writeHead(200, { 'content-type': 'application/json' });
  for (let id = 0; id < count; id++)
    if (!(await write(response, `${JSON.stringify({ id, ...line })}\n`))) return;
  response.end();
}

/** Server-sent events: `?count=10&delay=0` (seconds between two of them). */
async function streamEvents({ response, url }: Call): Promise<void> {
  const count = wholeNumber(url.searchParams.get('count') ?? '10', 'count', 1, limits.events);
  const delay = Number(url.searchParams.get('delay') ?? '0');
  if (!(delay >= 0)) throw new Refused(400, 'the delay is a number of seconds');
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  for (let id = 0; id < count; id++) {
    if (id > 0 && delay > 0 && !(await pause(response, Math.min(delay, limits.delaySeconds) * 1000))) return;
    const event = `event: ping\nid: ${id}\ndata: ${JSON.stringify({ id, timestamp: Date.now() })}\n\n`;
    if (!(await write(response, event))) return;
  }
  response.end();
}

function wholeNumber(text: string | undefined, what: string, least: number, most: number): number {
  const number = Number(text);
  if (text && /^\d+$/.test(text) && number >= least && number <= most) return number;
  throw new Refused(400, `the ${what} is a whole number from ${least} to ${most}`);
}
