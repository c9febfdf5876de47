import { randomUUID } from 'node:crypto';
import { request, type IncomingMessage } from 'node:http';
import type { PlayedRequest, PlayRefusal, PlayRequest } from '../admin/index.ts';
import type { Model } from '../model/index.ts';
import { bindKey, routeId, routeViews, type Plane, type RouteView } from '../workers/index.ts';

/** Headers that belong to the connection, or that the gateway writes itself. */
const refusedHeaders: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** A request that cannot be sent. */
class PlayProblem extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * Sends a request of the operator into the data plane of this gateway, as a client on this machine would: all policies
 * apply, and the targets are those of the configuration.
 * @param signal ends the request
 * @returns why the request cannot be sent, or its response
 * @throws Error where the data plane gives no response
 */
export async function play(
  asked: PlayRequest,
  model: Model,
  plane: Plane,
  signal: AbortSignal,
): Promise<PlayedRequest | PlayRefusal> {
  try {
    return await played(asked, model, plane, signal);
  } catch (error) {
    if (error instanceof PlayProblem) return { refusal: error.message, status: error.status };
    throw error;
  }
}

async function played(
  asked: PlayRequest,
  model: Model,
  plane: Plane,
  signal: AbortSignal,
): Promise<PlayedRequest> {
  const route = routeViews(model, plane.ports).find(({ id }) => id === asked.route);
  if (route === undefined) throw new PlayProblem(404, `no route has the id ${asked.route}`);
  if (route.kind === 'tcp') throw new PlayProblem(422, 'the route takes connections and no requests');
  const headers = headersOf(asked, route);
  await checkRoute(asked, headers, route, plane);
  const path = await plane.entrance({
    bind: route.bind,
    ...(isSecure(model, route) && {
      tls: { listener: route.listener, serverName: new URL(`http://${headers.host ?? ''}`).hostname },
    }),
  });
  const response = await answerOf(path, asked, headers, signal);
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    requestId: headers['x-request-id'] ?? '',
    body: response,
  };
}

/** The router chooses the route, so the request must be one that it gives to the chosen one. @throws PlayProblem */
async function checkRoute(
  { method, path }: PlayRequest,
  headers: Readonly<Record<string, string>>,
  { id, bind }: RouteView,
  plane: Plane,
): Promise<void> {
  // Documents for clients without a token belong to the whole host, and say where the token is issued.
  if (path.startsWith('/.well-known/')) return;
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const request = [`${method} ${path} HTTP/1.1`, ...lines].join('\r\n');
  const { listener, route, outcome } = await plane.why({ request, bind });
  // The data plane refuses a malformed request by itself.
  if (outcome.error !== undefined && malformed.has(outcome.error)) return;
  if (listener === undefined || route === undefined)
    throw new PlayProblem(422, 'no route of the port serves this path: choose a path of the route');
  const found = routeId(bind, listener, route);
  if (found !== id)
    throw new PlayProblem(422, `the route ${found} serves this path: choose that route, or another path`);
}

const malformed: ReadonlySet<string> = new Set(['bad_request', 'bad_host']);

function isSecure({ binds }: Model, route: RouteView): boolean {
  const bind = binds.find((one, index) => bindKey(one, index) === route.bind);
  return bind?.listeners.find(({ name }) => name === route.listener)?.protocol === 'HTTPS';
}

/** Names in lower case. @throws PlayProblem */
function headersOf({ headers }: PlayRequest, { hostnames, port }: RouteView): Record<string, string> {
  const given = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const refused = Object.keys(given).find((name) => refusedHeaders.has(name));
  if (refused !== undefined)
    throw new PlayProblem(422, `headers.${refused}: the gateway writes this header itself`);
  // A wildcard stands for any label.
  const [hostname = 'localhost'] = hostnames;
  const host = `${hostname.replace('*', 'any')}${port === undefined ? '' : `:${port}`}`;
  return { host, 'x-request-id': randomUUID(), ...given };
}

async function answerOf(
  path: string,
  { method, path: target, body }: PlayRequest,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  try {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const sent = request({
      socketPath: path,
      agent: false,
      method,
      path: target,
      headers: { ...headers, ...length, connection: 'close' },
      setHost: false,
      signal,
    });
    sent.on('response', resolve).on('error', reject).end(body);
  } catch (error) {
    // A method, a target or a header that is none.
    throw new PlayProblem(422, error instanceof Error ? error.message : 'the request cannot be sent');
  }
  return await promise;
}
