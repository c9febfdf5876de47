import type { Pem, Route, ServerTls, TcpRoute, UdpRoute } from '../../model/index.ts';
import type { Gateway, ListenerSet, ListenerSpec, Reference } from '../types/index.ts';
import type { Problem } from './conditions.ts';
import { HostSet } from './hostSet.ts';
import { keyOfNamed, type Lookup } from './lookup.ts';

export type RouteKind = 'HTTPRoute' | 'GRPCRoute' | 'TLSRoute' | 'TCPRoute' | 'UDPRoute';

/** The owner of a listener. */
export type Owner =
  | { readonly kind: 'Gateway'; readonly object: Gateway }
  | { readonly kind: 'ListenerSet'; readonly object: ListenerSet };

/** The state of a listener in the course of a translation. */
export interface ListenerState {
  readonly owner: Owner;
  readonly spec: ListenerSpec;
  /** Unique within the Gateway, the ListenerSets included. */
  readonly name: string;
  /** Kinds of routes it takes; none where it is of no use. */
  readonly kinds: readonly RouteKind[];
  readonly tls: ServerTls | undefined;
  /** The reason why it is not accepted; a conflict aside. */
  readonly refused: Problem | undefined;
  /**
   * Keeps its host and port from others. Also where an object that it names is missing: whoever comes later must not get
   * its clients meanwhile. Only a listener that can never be served as it is written keeps nothing.
   */
  readonly claims: boolean;
  /** A reference that cannot be followed. */
  readonly unresolved: Problem | undefined;
  /** Accepted, and yet there is nothing to serve with. */
  readonly unusable: string | undefined;
  conflict: Problem | undefined;
  /** The reason why a proxy keeps it closed that has it in its model. */
  closed: string | undefined;
  /** Shares host names with another listener of TLS. */
  overlaps: boolean;
  /** Routes by kind and name. */
  readonly attached: Set<string>;
  /** Host names of the routes that are attached. */
  readonly hosts: { readonly HTTPRoute: HostSet; readonly GRPCRoute: HostSet };
  readonly routes: Route[];
  readonly tcpRoutes: TcpRoute[];
  readonly udpRoutes: UdpRoute[];
}

/** Is it served? */
export const isProgrammed = ({ refused, conflict, unusable }: ListenerState): boolean =>
  refused === undefined && conflict === undefined && unusable === undefined;

/** A ListenerSet of a Gateway. */
export interface SetState {
  readonly object: ListenerSet;
  /** The reason why it does not belong to the Gateway, if it does not. */
  readonly refused: Problem | undefined;
  readonly listeners: readonly ListenerState[];
}

export interface GatewayState {
  readonly object: Gateway;
  readonly key: string;
  readonly listeners: readonly ListenerState[];
  readonly sets: readonly SetState[];
  /** The reason why it is not accepted, its listeners aside. */
  readonly refused: Problem | undefined;
  /** The certificate that it shows to backends that speak TLS; a problem if it should and cannot. */
  readonly client: { readonly cert: Pem; readonly key: Pem } | Problem | undefined;
  /** The other objects; it notes which of them matter to this Gateway. */
  readonly lookup: Lookup;
  /** Its proxies share a store. */
  readonly hasStore: boolean;
  /** Takes clients without, or with any, certificate. */
  readonly insecure: boolean;
  /** Keys of the endpoint lists that its routes use. */
  readonly endpoints: Set<string>;
  /**
   * Set while a fact about this installation is unknown: its proxies then keep the model they have, rather than
   * end the sessions of routes that would not serve.
   */
  waits: boolean;
}

/** A Gateway as the status of others names it. */
export type NamedGateway = Pick<GatewayState, 'key' | 'object'>;

/** All listeners that may serve something, those of ListenerSets after its own. */
export const listenersOf = ({ listeners, sets }: GatewayState): readonly ListenerState[] => [
  ...listeners,
  ...sets.flatMap((set) => set.listeners),
];

/** Accepted with at least one of its listeners. */
export const isAccepted = (gateway: GatewayState): boolean =>
  gateway.refused === undefined &&
  listenersOf(gateway).some(({ refused, conflict }) => refused === undefined && conflict === undefined);

/** The possible parents of a route. */
export interface ParentState {
  readonly gateway: GatewayState;
  /** The ListenerSet, if it is one. */
  readonly set?: SetState;
  readonly listeners: readonly ListenerState[];
}

/** Parents by kind and `namespace/name`. */
export type Parents = ReadonlyMap<string, ParentState>;

export const parentKey = (kind: string, key: string): string => `${kind} ${key}`;

export function parentsOf(gateways: Iterable<GatewayState>): Parents {
  const parents = new Map<string, ParentState>();
  for (const gateway of gateways) {
    parents.set(parentKey('Gateway', gateway.key), { gateway, listeners: gateway.listeners });
    for (const set of gateway.sets)
      parents.set(parentKey('ListenerSet', keyOfNamed(set.object)), {
        gateway,
        set,
        listeners: set.listeners,
      });
  }
  return parents;
}

export const newHosts = (): ListenerState['hosts'] => ({
  HTTPRoute: new HostSet(),
  GRPCRoute: new HostSet(),
});

/** The namespace of a reference that does not name one. */
export const namespaceOf = (reference: Reference, own: string): string => reference.namespace ?? own;
