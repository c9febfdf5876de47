import type { AnyRoute } from '../types/index.ts';
import type { StatusUpdate } from './contract.ts';
import { keyOfNamed } from './lookup.ts';

export const routeFields = ['httpRoutes', 'grpcRoutes', 'tlsRoutes', 'tcpRoutes', 'udpRoutes'] as const;
type RouteField = (typeof routeFields)[number];

const kindOf = {
  httpRoutes: 'HTTPRoute',
  grpcRoutes: 'GRPCRoute',
  tlsRoutes: 'TLSRoute',
  tcpRoutes: 'TCPRoute',
  udpRoutes: 'UDPRoute',
} as const satisfies Readonly<Record<RouteField, string>>;

/** The key of an object in a report: its kind and `namespace/name`. */
export const keyOfUpdate = ({
  kind,
  namespace,
  name,
}: Pick<StatusUpdate, 'kind' | 'namespace' | 'name'>): string => `${kind} ${namespace ?? ''}/${name}`;

export const keyOfRoute = (field: RouteField, route: AnyRoute): string =>
  `${kindOf[field]} ${keyOfNamed(route)}`;
