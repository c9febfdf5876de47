import { reachableHostnames } from '../../model/index.ts';
import type { AnyRoute, ParentReference } from '../types/index.ts';
import { problem, type Problem } from './conditions.ts';
import { admits } from './gateways.ts';
import { GATEWAY_GROUP, keyOfNamed, type Lookup } from './lookup.ts';
import {
  namespaceOf,
  parentKey,
  type ListenerState,
  type Parents,
  type ParentState,
  type RouteKind,
} from './state.ts';

/** The Gateway or ListenerSet of ours that a reference names, where it names one. */
export function parentOf(
  reference: ParentReference,
  route: AnyRoute,
  parents: Parents,
): ParentState | undefined {
  if ((reference.group ?? GATEWAY_GROUP) !== GATEWAY_GROUP) return undefined;
  const namespace = namespaceOf(reference, route.metadata.namespace ?? '');
  return parents.get(parentKey(reference.kind ?? 'Gateway', `${namespace}/${reference.name}`));
}

/** The listeners that take a route, or why none of them does. */
export type Attachment =
  | { readonly listeners: readonly ListenerState[] }
  | { readonly listeners: readonly []; readonly refused: Problem };

/**
 * The listeners of a parent that take the route by its reference: name and port, kind and namespace, then host
 * names.
 */
export function attach(
  kind: RouteKind,
  route: AnyRoute,
  reference: ParentReference,
  { listeners, set, gateway }: ParentState,
): Attachment {
  if (set?.refused !== undefined)
    return none('NoMatchingParent', `ListenerSet ${keyOfNamed(set.object)} is not part of its Gateway`);
  const { sectionName, port } = reference;
  const named = listeners.filter(
    ({ spec }) =>
      (sectionName === undefined || spec.name === sectionName) && (port === undefined || spec.port === port),
  );
  if (named.length === 0) return none('NoMatchingParent', 'no listener has that name and port');
  const allowed = named.filter((listener) => allows(listener, kind, route, gateway.lookup));
  if (allowed.length === 0)
    return none('NotAllowedByListeners', `no listener allows ${kind}s of this namespace`);
  const hostnames = hostnamesOf(route);
  const reached = allowed.filter(({ spec }) => reachableHostnames(spec.hostname, hostnames).length > 0);
  if (reached.length === 0)
    return none('NoMatchingListenerHostname', 'no listener has a host name in common with the route');
  const free = reached.filter((listener) => !belongsToOther(listener, kind, hostnames));
  // HTTPRoutes and GRPCRoutes never share a host of a listener; the older one has it (GRPCRouteSpec, "hostnames").
  if (free.length === 0)
    return none('HostnameConflict', 'its host names belong to an older route of another kind');
  return { listeners: free };
}

/** Notes that the listeners have the route. */
export function noteAttached(kind: RouteKind, route: AnyRoute, listeners: readonly ListenerState[]): void {
  const name = `${kind} ${keyOfNamed(route)}`;
  for (const { spec, attached, hosts } of listeners) {
    if (attached.has(name)) continue;
    attached.add(name);
    if (kind === 'HTTPRoute' || kind === 'GRPCRoute')
      for (const hostname of reachableHostnames(spec.hostname, hostnamesOf(route)))
        hosts[kind].add(hostname ?? spec.hostname);
  }
}

const none = (reason: string, message: string): Attachment => ({
  listeners: [],
  refused: problem(reason, message),
});

export const hostnamesOf = ({ spec }: AnyRoute): readonly string[] =>
  'hostnames' in spec ? (spec.hostnames ?? []) : [];

function allows(
  { spec, owner, kinds }: ListenerState,
  kind: RouteKind,
  route: AnyRoute,
  lookup: Lookup,
): boolean {
  const [own, other] = [owner.object.metadata.namespace ?? '', route.metadata.namespace ?? ''];
  return kinds.includes(kind) && admits(spec.allowedRoutes?.namespaces ?? {}, own, other, lookup.namespaces);
}

const rivals: Partial<Record<RouteKind, 'HTTPRoute' | 'GRPCRoute'>> = {
  HTTPRoute: 'GRPCRoute',
  GRPCRoute: 'HTTPRoute',
};

function belongsToOther(
  { spec, hosts }: ListenerState,
  kind: RouteKind,
  hostnames: readonly string[],
): boolean {
  const rival = rivals[kind];
  return (
    rival !== undefined &&
    reachableHostnames(spec.hostname, hostnames).some((hostname) =>
      hosts[rival].meets(hostname ?? spec.hostname),
    )
  );
}
