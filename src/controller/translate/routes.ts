import type { Route, TcpRoute, UdpRoute } from '../../model/index.ts';
import type {
  AnyRoute,
  GrpcRoute,
  HttpRoute,
  ParentReference,
  RouteParentStatus,
  TcpRoute as TcpRouteObject,
  TlsRoute,
  UdpRoute as UdpRouteObject,
} from '../types/index.ts';
import { attach, noteAttached, parentOf } from './attach.ts';
import type { Asker, Spoken } from './backendRef.ts';
import { mergeConditions, verdict, withOwnEntries, type Problem } from './conditions.ts';
import { GATEWAY_GROUP, keyOfNamed } from './lookup.ts';
import type { GatewayPolicies } from './policies.ts';
import { nothing, type Level } from './policyLevel.ts';
import { RulePolicies } from './policyRules.ts';
import { readRules, type BackendResolvers, type ReadRules } from './rules.ts';
import { namespaceOf, type ListenerState, type Parents, type ParentState, type RouteKind } from './state.ts';
import { readTcpRules, readUdpRules } from './streamRules.ts';
import { terminates } from './listeners.ts';
import type { ProxyTroubles } from './troubles.ts';

/** A route with its kind, which lists of objects do not say. */
export interface KindedRoute {
  readonly kind: RouteKind;
  readonly route: AnyRoute;
}

export interface RouteTools {
  readonly parents: Parents;
  readonly backends: BackendResolvers;
  readonly policies: GatewayPolicies;
  readonly troubles: ProxyTroubles;
  readonly controllerName: string;
  readonly now: string;
}

/** The API takes no more of them. */
const PARENTS_MOST = 32;

/**
 * Puts a route into the listeners that take it.
 * @returns the parents of its status, those of other controllers included
 */
export function placeRoute({ kind, route }: KindedRoute, tools: RouteTools): readonly RouteParentStatus[] {
  const { controllerName } = tools;
  const before = route.status?.parents ?? [];
  const own: RouteParentStatus[] = [];
  for (const reference of route.spec.parentRefs ?? []) {
    const parent = parentOf(reference, route, tools.parents);
    if (parent === undefined) continue;
    const parentRef = { group: GATEWAY_GROUP, kind: 'Gateway', ...reference };
    const known = before.find(
      (entry) => entry.controllerName === controllerName && sameReference(entry.parentRef, parentRef, route),
    );
    const { accepted, rules } = place(kind, route, reference, parent, tools);
    const partial =
      rules.partial ?? tools.troubles.ofRoute(parent.gateway.key, `${kind}/${keyOfNamed(route)}`);
    const conditions = mergeConditions(
      known?.conditions,
      [
        verdict('Accepted', accepted),
        verdict('ResolvedRefs', rules.unresolved),
        ...(accepted === undefined && partial !== undefined
          ? [{ type: 'PartiallyInvalid', status: 'True' as const, ...partial }]
          : []),
      ],
      { now: tools.now, generation: route.metadata.generation },
      ['PartiallyInvalid'],
    );
    own.push({ parentRef, controllerName, conditions });
  }
  return withOwnEntries(before, own, controllerName, PARENTS_MOST);
}

function sameReference(a: ParentReference, b: ParentReference, route: AnyRoute): boolean {
  const own = route.metadata.namespace ?? '';
  return (
    (a.group ?? GATEWAY_GROUP) === (b.group ?? GATEWAY_GROUP) &&
    (a.kind ?? 'Gateway') === (b.kind ?? 'Gateway') &&
    namespaceOf(a, own) === namespaceOf(b, own) &&
    a.name === b.name &&
    a.sectionName === b.sectionName &&
    a.port === b.port
  );
}

interface Placed {
  readonly accepted: Problem | undefined;
  readonly rules: ReadRules<unknown>;
}

function place(
  kind: RouteKind,
  route: AnyRoute,
  reference: ParentReference,
  parent: ParentState,
  tools: RouteTools,
): Placed {
  const attachment = attach(kind, route, reference, parent);
  const refused = 'refused' in attachment ? attachment.refused : undefined;
  const { listeners } = attachment;
  // A listener that took the route by another reference has it already.
  const name = `${kind} ${route.metadata.namespace}/${route.metadata.name}`;
  const fresh = listeners.filter(({ attached }) => !attached.has(name));
  const rules = readers[kind](route, fresh, {
    tools,
    asker: {
      from: { group: GATEWAY_GROUP, kind, namespace: route.metadata.namespace ?? '' },
      gateway: parent.gateway,
      attached: refused === undefined,
      spoken: spokenBy[kind](listeners),
    },
  });
  const accepted = refused ?? rules.refused;
  if (accepted === undefined) {
    noteAttached(kind, route, listeners);
    const sections = (route.spec.rules ?? []).flatMap(({ name: rule }) =>
      rule === undefined ? [] : [{ name: rule }],
    );
    tools.policies.noteUse(GATEWAY_GROUP, kind, keyOfNamed(route), parent.gateway, sections);
  }
  return { accepted, rules };
}

const spokenBy: Readonly<Record<RouteKind, (listeners: readonly ListenerState[]) => Spoken>> = {
  HTTPRoute: () => 'http',
  GRPCRoute: () => 'grpc',
  // A connection whose TLS ended here may get TLS again; a connection that passes as it came has it already.
  TLSRoute: (listeners) => (listeners.some(({ spec }) => terminates(spec)) ? 'tls' : 'tcp'),
  TCPRoute: () => 'tcp',
  UDPRoute: () => 'udp',
};

interface Reading {
  readonly tools: RouteTools;
  readonly asker: Asker;
}

type Reader = (
  route: AnyRoute,
  listeners: readonly ListenerState[],
  reading: Reading,
) => ReadRules<Route | TcpRoute | UdpRoute>;

/** The reader of each kind, and the destination of its results. */
const readers: Readonly<Record<RouteKind, Reader>> = {
  HTTPRoute: (route, listeners, reading) => readHttp('HTTPRoute', route as HttpRoute, listeners, reading),
  GRPCRoute: (route, listeners, reading) => readHttp('GRPCRoute', route as GrpcRoute, listeners, reading),
  TLSRoute: (route, listeners, reading) => readTls(route as TlsRoute, listeners, reading),
  TCPRoute: (route, listeners, { tools, asker }) => {
    const rules = readTcpRules('TCPRoute', route as TcpRouteObject, asker, tools);
    for (const listener of listeners) listener.tcpRoutes.push(...rules.items);
    return rules;
  },
  UDPRoute: (route, listeners, { tools, asker }) => {
    const rules = readUdpRules(route as UdpRouteObject, asker, tools.backends.services);
    for (const listener of listeners) listener.udpRoutes.push(...rules.items);
    return rules;
  },
};

/** The rules are the same for every listener but for the port that redirects name, and the policies they inherit. */
function readHttp(
  kind: 'HTTPRoute' | 'GRPCRoute',
  route: HttpRoute | GrpcRoute,
  listeners: readonly ListenerState[],
  { tools, asker }: Reading,
): ReadRules<Route> {
  const { backends, policies } = tools;
  const name = { kind, namespace: route.metadata.namespace ?? '', key: keyOfNamed(route) };
  const known = new Map<Level, Map<number, ReadRules<Route>>>();
  const read = (port: number, inherited: Level): ReadRules<Route> => {
    const byPort = known.get(inherited) ?? new Map<number, ReadRules<Route>>();
    known.set(inherited, byPort);
    let rules = byPort.get(port);
    if (rules === undefined) {
      const held = new RulePolicies(policies, inherited, name, asker);
      byPort.set(port, (rules = readRules(kind, route, port, asker, backends, held)));
    }
    return rules;
  };
  const all = listeners.map((listener) => {
    const port = redirects(route) ? listener.spec.port : 0;
    const rules = read(port, policies.ofListener(listener, asker.gateway));
    listener.routes.push(...rules.items);
    return rules;
  });
  return all[0] ?? read(80, nothing);
}

const redirects = ({ spec }: HttpRoute | GrpcRoute): boolean =>
  (spec.rules ?? []).some(
    ({ filters = [], backendRefs = [] }) =>
      filters.some(isRedirect) || backendRefs.some((ref) => ref.filters?.some(isRedirect)),
  );

const isRedirect = ({ type }: { readonly type: string }): boolean => type === 'RequestRedirect';

/** Listeners of both modes may take one route: with TLS to the backend where it was taken off, as it came otherwise. */
function readTls(
  route: TlsRoute,
  listeners: readonly ListenerState[],
  { tools, asker }: Reading,
): ReadRules<TcpRoute> {
  let first: ReadRules<TcpRoute> | undefined;
  for (const [spoken, some] of [
    ['tls', listeners.filter(({ spec }) => terminates(spec))],
    ['tcp', listeners.filter(({ spec }) => !terminates(spec))],
  ] as const) {
    if (some.length === 0) continue;
    const rules = readTcpRules('TLSRoute', route, { ...asker, spoken }, tools);
    for (const listener of some) listener.tcpRoutes.push(...rules.items);
    first = first?.unresolved === undefined ? rules : first;
  }
  return first ?? readTcpRules('TLSRoute', route, asker, tools);
}
