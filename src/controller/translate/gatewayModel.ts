import type { Bind, Listener, Model, ProcessSettings } from '../../model/index.ts';
import type { Gateway } from '../types/index.ts';
import { isProgrammed, listenersOf, type GatewayState, type ListenerState } from './state.ts';

/** The model for the proxies of a Gateway. */
export function modelOf(gateway: GatewayState, process: ProcessSettings): Model {
  const binds = new Map<number, Listener[]>();
  for (const state of listenersOf(gateway)) {
    if (!isProgrammed(state)) continue;
    const listener = listenerOf(state, gateway.object);
    const others = binds.get(state.spec.port);
    if (others === undefined) binds.set(state.spec.port, [listener]);
    else others.push(listener);
  }
  const sorted = [...binds].sort(([a], [b]) => a - b);
  return { process, binds: sorted.map(([port, listeners]): Bind => ({ port, listeners })) };
}

function listenerOf(
  { spec, name, tls, routes, tcpRoutes, udpRoutes }: ListenerState,
  { metadata }: Gateway,
): Listener {
  const { protocol, hostname } = spec;
  const host = hostname === undefined ? {} : { hostname };
  const secure = tls === undefined ? {} : { tls };
  switch (protocol) {
    case 'UDP':
      return { name, protocol, udpRoutes };
    case 'TCP':
      return { name, protocol, tcpRoutes };
    case 'TLS':
      return { name, protocol, ...host, ...secure, tcpRoutes };
    default:
      return {
        name,
        protocol: protocol === 'HTTPS' ? 'HTTPS' : 'HTTP',
        ...host,
        gateway: { name: metadata.name, namespace: metadata.namespace ?? '' },
        ...secure,
        policies: [],
        routes,
      };
  }
}
