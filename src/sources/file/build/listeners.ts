import { reachableHostnames, type Bind, type Listener, type Route } from '../../../model/index.ts';
import type { Path } from '../path.ts';
import type { BindSettings, DocumentSettings, GatewaySettings } from '../schema/document.ts';
import { inlinePolicies } from '../schema/policies.ts';
import type { ServerTlsSettings } from '../schema/serverTls.ts';
import { buildMcp, type Surroundings } from './backend.ts';
import { buildPolicies, buildRoute, names } from './route.ts';
import { buildProtocol } from './serverTls.ts';

/** The low-level form: everything that a port serves stands below it. */
export function buildBind(settings: BindSettings, index: number, around: Surroundings): Bind {
  const path: Path = ['binds', index];
  const listenerNames = names(
    settings.listeners.map((listener) => listener.name),
    'listener',
  );
  // A port says more than a place in a list, and stays when another bind is put before; port 0 is none.
  const owner = settings.port === 0 ? `bind/#${index}` : `bind/${settings.port}`;
  return {
    ...socketOf(settings),
    listeners: settings.listeners.map((listener, at): Listener => {
      const name = listenerNames[at] ?? '';
      const here: Path = [...path, 'listeners', at];
      const routes = listener.routes ?? [];
      const routeNames = names(
        routes.map((route) => route.name),
        'route',
      );
      return {
        name,
        ...(listener.hostname === undefined ? {} : { hostname: listener.hostname }),
        ...buildProtocol(listener.tls, around.frontendTls),
        policies: buildPolicies(listener.policies, [...here, 'policies'], around),
        routes: routes.map((route, number) =>
          buildRoute(
            route,
            routeNames[number] ?? '',
            `${owner}/${name}`,
            [...here, 'routes', number],
            around,
          ),
        ),
      };
    }),
  };
}

/** Where a port is opened. */
function socketOf({
  port,
  address,
}: {
  port: number;
  address?: string | undefined;
}): Pick<Bind, 'port' | 'address'> {
  return address === undefined ? { port } : { port, address };
}

/** A route with the gateways that it attaches to. */
export interface Attachment {
  readonly gateways: readonly string[];
  readonly route: Route;
}

/** Top-level `routes`, then the routes that the top-level `mcp` stands for. */
export function buildAttachments(document: DocumentSettings, around: Surroundings): readonly Attachment[] {
  const routes = document.routes ?? [];
  const routeNames = names(
    routes.map((route) => route.name),
    'route',
  );
  const attached = routes.map((settings, index): Attachment => ({
    gateways: gatewayNames(settings.gateways),
    route: buildRoute(settings, routeNames[index] ?? '', 'route', ['routes', index], around),
  }));
  if (document.mcp === undefined || document.mcp.port !== undefined) return attached;
  return [
    ...attached,
    { gateways: gatewayNames(document.mcp.gateways), route: buildMcpRoute(document.mcp, around) },
  ];
}

function gatewayNames(refs: string | string[] | undefined): readonly string[] {
  const given = typeof refs === 'string' ? [refs] : (refs ?? []);
  return given.length === 0 ? ['default'] : given;
}

/** A gateway with the routes that attach to it. */
export function buildGateway(
  name: string,
  settings: GatewaySettings,
  attachments: readonly Attachment[],
  around: Surroundings,
): Bind {
  const path: Path = ['gateways', name];
  if (settings.listeners === undefined)
    return { ...socketOf(settings), listeners: [buildListener(name, undefined, settings, path)] };
  const listenerNames = names(
    settings.listeners.map((listener) => listener.name),
    'listener',
  );
  return {
    ...socketOf(settings),
    listeners: settings.listeners.map((listener, index) =>
      buildListener(`${name}/${listenerNames[index] ?? ''}`, listener.hostname, listener, [
        ...path,
        'listeners',
        index,
      ]),
    ),
  };

  function buildListener(
    full: string,
    hostname: string | undefined,
    fields: Readonly<Record<string, unknown>> & { readonly tls?: ServerTlsSettings | undefined },
    here: Path,
  ): Listener {
    const policies = Object.fromEntries(
      Object.keys(inlinePolicies).map((policy) => [policy, fields[policy]]),
    );
    const routes = attachments
      .filter(({ gateways }) => gateways.includes(name) || gateways.includes(full))
      .map(({ route }) => route)
      .filter((route) => reachableHostnames(hostname, route.hostnames).length > 0);
    return {
      name: full,
      ...(hostname === undefined ? {} : { hostname }),
      ...buildProtocol(fields.tls, around.frontendTls),
      policies: buildPolicies(policies, here, around),
      routes,
    };
  }
}

type SimpleMcp = NonNullable<DocumentSettings['mcp']>;

/** The port that the top-level `mcp` opens for itself. */
export function buildMcpBind(settings: SimpleMcp, port: number, around: Surroundings): Bind {
  return {
    port,
    listeners: [{ name: 'mcp', protocol: 'HTTP', policies: [], routes: [buildMcpRoute(settings, around)] }],
  };
}

/**
 * Existing programs also match `/.well-known` here so that clients find the metadata of the resource. This gateway
 * serves that for every route that checks tokens, and leaves the rest of `/.well-known` to other routes.
 */
function buildMcpRoute(settings: SimpleMcp, around: Surroundings): Route {
  const place = around.place(['mcp']);
  return {
    name: 'mcp',
    hostnames: [],
    matches: ['/mcp', '/sse'].map((value) => ({ path: { kind: 'prefix', value }, headers: [], query: [] })),
    policies: buildPolicies(settings.policies, ['mcp', 'policies'], around),
    backends: [{ ...buildMcp(settings), weight: 1, key: 'mcp', place }],
    place,
  };
}
