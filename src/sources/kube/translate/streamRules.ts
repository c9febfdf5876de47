import type {
  InvalidBackend,
  Place,
  TcpBackend,
  TcpRoute,
  UdpBackend,
  UdpRoute,
} from '../../../model/index.ts';
import type {
  BackendRef,
  TcpRoute as TcpRouteObject,
  TlsRoute as TlsRouteObject,
  UdpRoute as UdpRouteObject,
} from '../types/index.ts';
import { hostnamesOf } from './attach.ts';
import type { Asker, BackendResolver } from './backendRef.ts';
import type { Problem } from './conditions.ts';
import { invalid, type ReadRules } from './rules.ts';

type Kind = 'TLSRoute' | 'TCPRoute' | 'UDPRoute';
type Route = TlsRouteObject | TcpRouteObject | UdpRouteObject;

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
  make: Backend['kind'],
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
      return { kind: make, weight, key: target.endpoints, place, ...target } as Backend;
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
  resolver: BackendResolver,
): ReadRules<TcpRoute> {
  const read = readStream<TcpBackend>(kind, route, asker, resolver, 'tcp');
  const hostnames = hostnamesOf(route);
  return { ...read, items: read.items.map((item) => ({ ...item, hostnames })) };
}

export const readUdpRules = (
  route: UdpRouteObject,
  asker: Asker,
  resolver: BackendResolver,
): ReadRules<UdpRoute> => readStream<UdpBackend>('UDPRoute', route, asker, resolver, 'udp');
