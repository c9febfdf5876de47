import type { Listener, Model, PolicyUse, Route, TcpRoute } from '../model/index.ts';
import { loginOf, policyOrder } from '../policies/index.ts';
import { bindKey } from '../proxy/index.ts';
import type { PortView, RouteView } from './contract.ts';

/** The routes of a model as clients see them. @param ports those in use */
export function routeViews({ binds }: Model, ports: readonly PortView[]): readonly RouteView[] {
  const portOf = new Map(ports.map(({ key, port }) => [key, port]));
  return binds.flatMap((bind, index) => {
    const key = bindKey(bind, index);
    return bind.listeners.flatMap((listener) => viewsIn(listener, key, portOf.get(key)));
  });
}

/** Names a route in a model. */
export const routeId = (bind: string, listener: string, route: string): string =>
  `${bind}/${listener}/${route}`;

function viewsIn(listener: Listener, bind: string, port: number | undefined): readonly RouteView[] {
  if ('udpRoutes' in listener) return [];
  const common = { bind, port, listener: listener.name };
  if ('tcpRoutes' in listener)
    return listener.tcpRoutes.map((route) => ({
      ...common,
      id: routeId(bind, listener.name, route.name),
      hostnames: hostnamesOf(route, listener.hostname),
      path: undefined,
      kind: 'tcp',
      targets: targetsOf(route),
      backends: [],
      authentication: undefined,
      urls: [],
    }));
  // The console does not show itself.
  const shown = listener.routes.filter(({ backends }) => backends.every(({ kind }) => kind !== 'console'));
  return shown.map((route) => {
    const path = route.matches.map(({ path: match }) => match).find(({ kind }) => kind !== 'regex')?.value;
    const hostnames = hostnamesOf(route, listener.hostname);
    return {
      ...common,
      id: routeId(bind, listener.name, route.name),
      hostnames,
      path,
      kind: route.backends.some(({ kind }) => kind === 'mcp') ? 'mcp' : 'http',
      targets: targetsOf(route),
      backends: route.backends.map(({ key }) => key),
      authentication: authenticationOf([...listener.policies, ...route.policies]),
      urls: path === undefined ? [] : urlsOf(listener.protocol, hostnames, port, path),
    };
  });
}

const hostnamesOf = (
  { hostnames }: Pick<Route, 'hostnames'>,
  listener: string | undefined,
): readonly string[] => (hostnames.length > 0 ? hostnames : listener === undefined ? [] : [listener]);

function targetsOf({ backends }: Route | TcpRoute): RouteView['targets'] {
  const all: readonly (Route | TcpRoute)['backends'][number][] = backends;
  return all.flatMap((backend): RouteView['targets'] => {
    if (backend.kind === 'mcp') return backend.targets.map(({ name, kind }) => ({ name, kind }));
    if (backend.kind === 'invalid' || backend.kind === 'console') return [];
    return [{ name: `${backend.host}:${backend.port}`, kind: backend.kind }];
  });
}

/** The policy that acts first tells a caller what it lacks. */
const authenticationOf = (policies: readonly PolicyUse[]): RouteView['authentication'] =>
  policies
    .toSorted((a, b) => policyOrder(a.name) - policyOrder(b.name))
    .map(loginOf)
    .find((login) => login !== undefined);

function urlsOf(
  protocol: 'HTTP' | 'HTTPS',
  hostnames: readonly string[],
  port: number | undefined,
  path: string,
): readonly string[] {
  if (port === undefined) return [];
  const hosts = hostnames.filter((host) => !host.includes('*'));
  return (hosts.length > 0 ? hosts : ['localhost']).map(
    (host) => new URL(path, `${protocol.toLowerCase()}://${host}:${port}`).href,
  );
}
