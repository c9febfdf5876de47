import {
  reachableHostnames,
  type Bind,
  type HttpListener,
  type Listener,
  type Route,
  type TcpRoute,
  type UdpRoute,
} from '../../model/index.ts';
import type { Path } from '../path.ts';
import type { BindSettings, DocumentSettings, GatewaySettings } from '../schema/document.ts';
import { usualMcpPort } from '../schema/mcp.ts';
import { inlinePolicies } from '../schema/policies.ts';
import type { ServerTlsSettings } from '../schema/serverTls.ts';
import { buildMcp } from './mcp.ts';
import type { Surroundings } from './surroundings.ts';
import { buildSocket } from './proxyProtocol.ts';
import { buildTcpRoute, buildUdpRoute } from './rawRoute.ts';
import { buildPolicies } from './policies.ts';
import { buildRoute, names } from './route.ts';
import { buildProtocol, buildServerTls } from './serverTls.ts';
import { buildConsoleRoute } from './ui.ts';

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
    ...buildSocket(settings, around.frontendProxy),
    listeners: settings.listeners.map((listener, at): Listener => {
      const name = listenerNames[at] ?? '';
      const here: Path = [...path, 'listeners', at];
      const all = <Settings extends { name?: string | undefined }, Built>(
        field: string,
        given: readonly Settings[] | undefined,
        build: (settings: Settings, name: string, owner: string, path: Path, around: Surroundings) => Built,
      ): Built[] => {
        const routeNames = names(
          (given ?? []).map((route) => route.name),
          'route',
        );
        return (given ?? []).map((route, number) =>
          build(route, routeNames[number] ?? '', `${owner}/${name}`, [...here, field, number], around),
        );
      };
      return buildListener(name, listener, around, {
        policies: () => buildPolicies(listener.policies, [...here, 'policies'], around),
        routes: () => all('routes', listener.routes, buildRoute),
        tcpRoutes: () => all('tcpRoutes', listener.tcpRoutes, buildTcpRoute),
        udpRoutes: () => all('udpRoutes', listener.udpRoutes, buildUdpRoute),
      });
    }),
  };
}

interface ListenerFields {
  readonly hostname?: string | undefined;
  readonly protocol?: Listener['protocol'] | undefined;
  readonly tls?: ServerTlsSettings | undefined;
}

/** The contents of a listener; read by the protocols that have them. */
interface Contents {
  policies(): HttpListener['policies'];
  routes(): readonly Route[];
  tcpRoutes(): readonly TcpRoute[];
  udpRoutes(): readonly UdpRoute[];
}

function buildListener(
  name: string,
  { protocol, hostname: written, tls }: ListenerFields,
  { frontendTls }: Surroundings,
  contents: Contents,
): Listener {
  const hostname = servedHost(written);
  const base = { name, ...(hostname === undefined ? {} : { hostname }) };
  switch (protocol) {
    case 'UDP':
      return { name, protocol, udpRoutes: contents.udpRoutes() };
    case 'TCP':
      return { name, protocol, tcpRoutes: contents.tcpRoutes() };
    case 'TLS':
      return {
        ...base,
        protocol,
        ...(tls === undefined ? {} : { tls: buildServerTls(tls, frontendTls) }),
        tcpRoutes: contents.tcpRoutes(),
      };
    default:
      return {
        ...base,
        ...buildProtocol(tls, frontendTls),
        policies: contents.policies(),
        routes: contents.routes(),
      };
  }
}

/** `*` is how some files write what others leave out. */
const servedHost = (hostname: string | undefined): string | undefined =>
  hostname === '*' ? undefined : hostname;

/** A route with the gateways that it attaches to. */
interface Attached<Built> {
  readonly gateways: readonly string[];
  readonly route: Built;
}

/** Top-level routes of every kind. */
export interface Attachments {
  readonly routes: readonly Attached<Route>[];
  readonly tcpRoutes: readonly Attached<TcpRoute>[];
  readonly udpRoutes: readonly Attached<UdpRoute>[];
}

/** The routes at the top level; among `routes` those that the top-level `mcp` stands for. */
export function buildAttachments(document: DocumentSettings, around: Surroundings): Attachments {
  const all = <
    Settings extends { name?: string | undefined; gateways?: string | string[] | undefined },
    Built,
  >(
    field: string,
    owner: string,
    given: readonly Settings[] | undefined,
    build: (settings: Settings, name: string, owner: string, path: Path, around: Surroundings) => Built,
  ): Attached<Built>[] => {
    const routeNames = names(
      (given ?? []).map((route) => route.name),
      'route',
    );
    return (given ?? []).map((settings, index) => ({
      gateways: gatewayNames(settings.gateways),
      route: build(settings, routeNames[index] ?? '', owner, [field, index], around),
    }));
  };
  const routes = all('routes', 'route', document.routes, buildRoute);
  if (document.mcp !== undefined && portOfMcp(document) === undefined)
    routes.push({
      gateways: gatewayNames(document.mcp.gateways),
      route: buildMcpRoute(document.mcp, around),
    });
  const { ui } = document;
  if (ui?.gateways !== undefined && ui.gateways.length > 0)
    routes.push({ gateways: gatewayNames(ui.gateways), route: buildConsoleRoute(ui, around) });
  return {
    routes,
    tcpRoutes: all('tcpRoutes', 'tcpRoute', document.tcpRoutes, buildTcpRoute),
    udpRoutes: all('udpRoutes', 'udpRoute', document.udpRoutes, buildUdpRoute),
  };
}

function gatewayNames(refs: string | string[] | undefined): readonly string[] {
  const given = typeof refs === 'string' ? [refs] : (refs ?? []);
  return given.length === 0 ? ['default'] : given;
}

/** A gateway with the routes that attach to it. */
export function buildGateway(
  name: string,
  settings: GatewaySettings,
  attachments: Attachments,
  around: Surroundings,
): Bind {
  const path: Path = ['gateways', name];
  const socket = buildSocket(settings, around.frontendProxy);
  if (settings.listeners === undefined) return { ...socket, listeners: [attach(name, settings, path)] };
  const listenerNames = names(
    settings.listeners.map((listener) => listener.name),
    'listener',
  );
  return {
    ...socket,
    listeners: settings.listeners.map((listener, index) =>
      attach(`${name}/${listenerNames[index] ?? ''}`, listener, [...path, 'listeners', index]),
    ),
  };

  function attach(
    full: string,
    fields: ListenerFields & Readonly<Record<string, unknown>>,
    here: Path,
  ): Listener {
    const attached = <Built extends Route | TcpRoute | UdpRoute>(all: readonly Attached<Built>[]): Built[] =>
      all
        .filter(({ gateways }) => gateways.includes(name) || gateways.includes(full))
        .map(({ route }) => route)
        .filter(
          (route) =>
            reachableHostnames(servedHost(fields.hostname), 'hostnames' in route ? route.hostnames : [])
              .length > 0,
        );
    const listener = buildListener(full, fields, around, {
      policies: () =>
        buildPolicies(
          Object.fromEntries(Object.keys(inlinePolicies).map((policy) => [policy, fields[policy]])),
          here,
          around,
        ),
      routes: () => attached(attachments.routes),
      tcpRoutes: () => attached(attachments.tcpRoutes),
      udpRoutes: () => attached(attachments.udpRoutes),
    });
    return 'routes' in listener ? { ...listener, gateway: { name } } : listener;
  }
}

type SimpleMcp = NonNullable<DocumentSettings['mcp']>;

/** The port that the top-level `mcp` opens for itself; undefined where it attaches to gateways. */
export function portOfMcp({ mcp, gateways = {} }: DocumentSettings): number | undefined {
  if (mcp === undefined) return undefined;
  const standsAlone = mcp.gateways === undefined && Object.keys(gateways).length === 0;
  return mcp.port ?? (standsAlone ? usualMcpPort : undefined);
}

/** The port that the top-level `mcp` opens for itself. */
export function buildMcpBind(settings: SimpleMcp, port: number, around: Surroundings): Bind {
  return {
    ...buildSocket({ port }, around.frontendProxy),
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
    backends: [
      {
        ...buildMcp(settings, ['mcp'], around, { backendTLS: settings.policies?.backendTLS }),
        weight: 1,
        key: 'mcp',
        place,
      },
    ],
    place,
  };
}
