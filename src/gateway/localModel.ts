import type { Bind, HttpListener, Model, Route } from '../model/index.ts';

/** A model with one MCP route, which requests of this process reach by its path. */
export interface LocalModel {
  readonly model: Model;
  /** Its only bind. */
  readonly bind: Bind;
  /** The path of the endpoint. */
  readonly path: string;
  /** The name of the route. */
  readonly route: string;
}

/** The path of requests where the matches of the route leave it open. */
const usualPath = '/mcp';
/** Requests at a time on the one connection: a call that waits for the client must not keep the answer out. */
const maxStreams = 4_096;

/**
 * The part of a configuration that serves one MCP route to this process. Policies stay as they are; host names, TLS and
 * matches have no meaning without a request of a client.
 * @param wanted the name of the route, `ROUTE` or `LISTENER/ROUTE`; undefined: the only route with MCP servers
 * @returns the reason in place of a model where no route, or more than one, can be meant
 */
export function localModel(model: Model, wanted: string | undefined): LocalModel | string {
  const all = mcpRoutes(model);
  if (all.length === 0) return 'the configuration has no route with MCP servers';
  const found = all.filter(
    ({ listener, route }) =>
      wanted === undefined || wanted === route.name || wanted === `${listener.name}/${route.name}`,
  );
  const [chosen, second] = found;
  const names = all.map(({ listener, route }) => `${listener.name}/${route.name}`).join(', ');
  if (chosen === undefined)
    return `no route ${JSON.stringify(wanted)} with MCP servers; the configuration has ${names}`;
  if (second !== undefined) return `several routes have MCP servers; choose one by --route: ${names}`;
  const path = pathOf(chosen.route);
  const bind = bindWith(chosen.listener, chosen.route, path);
  const { limits } = model.process;
  const process = {
    ...model.process,
    // Standard output is for messages.
    accessLog: 'none' as const,
    limits: { ...limits, http2: { ...limits.http2, maxStreams } },
  };
  return { model: { ...model, process, binds: [bind] }, bind, path, route: chosen.route.name };
}

const mcpRoutes = ({ binds }: Model): { readonly listener: HttpListener; readonly route: Route }[] =>
  binds
    .flatMap(({ listeners }) => listeners)
    .flatMap((listener) =>
      'routes' in listener ? listener.routes.map((route) => ({ listener, route })) : [],
    )
    .filter(({ route }) => route.backends.length > 0 && route.backends.every(({ kind }) => kind === 'mcp'));

function pathOf({ matches }: Route): string {
  for (const { path } of matches) if (path.kind !== 'regex' && path.value !== '/') return path.value;
  return usualPath;
}

const bindWith = ({ name, gateway, policies }: HttpListener, route: Route, path: string): Bind => ({
  port: 0,
  listeners: [
    {
      name,
      protocol: 'HTTP',
      ...(gateway && { gateway }),
      policies,
      routes: [
        {
          ...route,
          hostnames: [],
          matches: [{ path: { kind: 'exact', value: path }, headers: [], query: [] }],
        },
      ],
    },
  ],
});
