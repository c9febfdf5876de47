import type {
  Backend,
  BackendAddress,
  Listener,
  McpTarget,
  Mirror,
  Model,
  Route,
  TcpRoute,
  UdpRoute,
} from './model.ts';

/** Addresses by key. */
export type AddressLists = ReadonlyMap<string, readonly BackendAddress[]>;

type Located = { readonly endpoints?: string; readonly addresses?: readonly BackendAddress[] };

/**
 * Fills in the addresses of backends that name them by key. A list that is not there is an empty one: the backend
 * answers 503 until it comes. Everything that names no key is taken over as it is.
 */
export const joinEndpoints = (model: Model, table: AddressLists): Model => ({
  ...model,
  binds: model.binds.map((bind) => ({
    ...bind,
    listeners: bind.listeners.map((listener) => joinListener(listener, table)),
  })),
});

function joinListener(listener: Listener, table: AddressLists): Listener {
  if ('routes' in listener)
    return { ...listener, routes: listener.routes.map((route) => joinRoute(route, table)) };
  const stream = <Kind extends TcpRoute | UdpRoute>(route: Kind): Kind => ({
    ...route,
    backends: route.backends.map((backend) =>
      backend.kind === 'invalid' ? backend : located(backend, table),
    ),
  });
  return 'tcpRoutes' in listener
    ? { ...listener, tcpRoutes: listener.tcpRoutes.map((route) => stream(route)) }
    : { ...listener, udpRoutes: listener.udpRoutes.map((route) => stream(route)) };
}

const joinRoute = (route: Route, table: AddressLists): Route => ({
  ...route,
  backends: route.backends.map((backend) => joinBackend(backend, table)),
  ...joinMirrors(route, table),
});

function joinBackend(backend: Backend, table: AddressLists): Backend {
  if (backend.kind === 'mcp')
    return { ...backend, targets: backend.targets.map((target) => joinTarget(target, table)) };
  if (backend.kind !== 'http') return backend;
  return { ...located(backend, table), ...joinMirrors(backend, table) };
}

const joinTarget = (target: McpTarget, table: AddressLists): McpTarget =>
  'endpoints' in target ? located(target, table) : target;

const joinMirrors = (
  { mirrors }: { readonly mirrors?: readonly Mirror[] },
  table: AddressLists,
): { readonly mirrors?: readonly Mirror[] } =>
  mirrors === undefined
    ? {}
    : { mirrors: mirrors.map((mirror) => ({ ...mirror, backend: located(mirror.backend, table) })) };

function located<Kind extends Located>(backend: Kind, table: AddressLists): Kind {
  const { endpoints } = backend;
  return endpoints === undefined ? backend : { ...backend, addresses: table.get(endpoints) ?? [] };
}
