import type { InvalidBackend, Place, TcpBackend, TcpRoute, UdpBackend, UdpRoute } from '../../model/index.ts';
import type {
  BackendRef,
  TcpRoute as TcpRouteObject,
  TlsRoute as TlsRouteObject,
  UdpRoute as UdpRouteObject,
} from '../types/index.ts';
import { hostnamesOf } from './attach.ts';
import type { Asker, BackendResolver, Target } from './backendRef.ts';
import type { Problem } from './conditions.ts';
import type { GatewayPolicies } from './policies.ts';
import { BackendPolicies } from './policyBackends.ts';
import { invalid, type ReadRules } from './rules.ts';

type Kind = 'TLSRoute' | 'TCPRoute' | 'UDPRoute';
type Route = TlsRouteObject | TcpRouteObject | UdpRouteObject;

/** The tools for reading TCP routes. */
interface TcpTools {
  readonly backends: { readonly services: BackendResolver };
  readonly policies: GatewayPolicies;
}

interface Read<Backend> {
  readonly place: Place;
  readonly name: string;
  readonly backends: readonly (Backend | InvalidBackend)[];
}

/** The rules of a route whose bytes are passed as they come: the API allows one, and more would never be reached. */
function readStream<Backend extends TcpBackend | UdpBackend>(
  kind: Kind,
  route: Route,
  asker: Asker,
  resolver: BackendResolver,
  make: (target: Target, weight: number, place: Place) => Backend | Problem,
): { readonly items: readonly Read<Backend>[]; readonly unresolved?: Problem } {
  let unresolved: Problem | undefined;
  const { namespace, name } = route.metadata;
  const file = `${kind} ${namespace}/${name}`;
  const items = (route.spec.rules ?? []).map((rule, index): Read<Backend> => {
    const path = `spec.rules[${index}]`;
    const backends = (rule.backendRefs ?? []).map((ref: BackendRef, at): Backend | InvalidBackend => {
      const place = { file, line: 1, column: 1, path: `${path}.backendRefs[${at}]` };
      const target = resolver.resolve(ref, asker);
      const { weight = 1 } = ref;
      if ('reason' in target) {
        unresolved ??= target;
        return invalid(target, weight, place);
      }
      const backend = make(target, weight, place);
      return 'reason' in backend ? invalid(backend, weight, place) : backend;
    });
    const id = `${kind}/${namespace}/${name}`;
    return {
      name: rule.name === undefined ? `${id}#${index}` : `${id}/${rule.name}`,
      place: { file, line: 1, column: 1, path },
      backends,
    };
  });
  return { items, ...(unresolved === undefined ? {} : { unresolved }) };
}

export function readTcpRules(
  kind: 'TLSRoute' | 'TCPRoute',
  route: TlsRouteObject | TcpRouteObject,
  asker: Asker,
  { backends, policies }: TcpTools,
): ReadRules<TcpRoute> {
  const ofServices = new BackendPolicies(policies, asker);
  const read = readStream<TcpBackend>(kind, route, asker, backends.services, (target, weight, place) => {
    const way = target.tls === undefined ? {} : { tls: target.tls };
    const { host, port, endpoints } = target;
    return ofServices.tcp({ kind: 'tcp', weight, key: endpoints, place, host, port, endpoints, ...way });
  });
  const hostnames = hostnamesOf(route);
  return { ...read, items: read.items.map((item) => ({ ...item, hostnames })) };
}

export const readUdpRules = (
  route: UdpRouteObject,
  asker: Asker,
  resolver: BackendResolver,
): ReadRules<UdpRoute> =>
  readStream<UdpBackend>('UDPRoute', route, asker, resolver, ({ host, port, endpoints }, weight, place) => ({
    kind: 'udp',
    weight,
    key: endpoints,
    place,
    host,
    port,
    endpoints,
  }));
