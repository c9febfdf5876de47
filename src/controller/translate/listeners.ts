import { operatorUseOf } from '../operatorPorts.ts';
import type { Gateway, ListenerSpec } from '../types/index.ts';
import { tlsTooLarge, type Budget } from './bulk.ts';
import { problem, type Problem } from './conditions.ts';
import { terminated, type ListenerTls } from './listenerTls.ts';
import { GATEWAY_GROUP, keyOfNamed, type Lookup } from './lookup.ts';
import { newHosts, type ListenerState, type Owner, type RouteKind } from './state.ts';

/** The kinds of routes that go with a protocol. */
const protocols: ReadonlyMap<string, readonly RouteKind[]> = new Map<string, readonly RouteKind[]>([
  ['HTTP', ['HTTPRoute', 'GRPCRoute']],
  ['HTTPS', ['HTTPRoute', 'GRPCRoute']],
  ['TLS', ['TLSRoute']],
  ['TCP', ['TCPRoute']],
  ['UDP', ['UDPRoute']],
]);

/**
 * A listener by itself: without routes, and of other listeners only what they leave of the budget.
 * @param budget of all listeners of the owner
 */
export function readListener(
  spec: ListenerSpec,
  owner: Owner,
  gateway: Gateway,
  lookup: Lookup,
  budget: Budget,
): ListenerState {
  const known = protocols.get(spec.protocol);
  const kinds = allowedKinds(spec, known ?? []);
  const tls = known === undefined ? {} : withinBudget(tlsOf(spec, owner, gateway, lookup), owner, budget);
  const impossible =
    known === undefined
      ? problem('UnsupportedProtocol', `protocol ${spec.protocol} is not supported`)
      : unsupported(spec);
  return {
    owner,
    spec,
    name: owner.kind === 'Gateway' ? spec.name : `${keyOfNamed(owner.object)}/${spec.name}`,
    kinds: kinds.known,
    tls: tls.tls,
    refused: impossible ?? tls.refused,
    claims: impossible === undefined,
    unresolved: kinds.problem ?? tls.unresolved,
    unusable: unusable(spec, kinds.known, tls),
    conflict: undefined,
    closed: undefined,
    overlaps: false,
    attached: new Set(),
    hosts: newHosts(),
    routes: [],
    tcpRoutes: [],
    udpRoutes: [],
  };
}

/** TLS ends at the gateway. */
export const terminates = ({ protocol, tls }: ListenerSpec): boolean =>
  protocol === 'HTTPS' || (protocol === 'TLS' && (tls?.mode ?? 'Terminate') === 'Terminate');

const tlsOf = (spec: ListenerSpec, owner: Owner, gateway: Gateway, lookup: Lookup): ListenerTls =>
  terminates(spec) ? terminated(spec, owner, gateway, lookup) : {};

/** A listener that is too large is left out, so that the rest of the model can be sent. */
function withinBudget(tls: ListenerTls, { kind }: Owner, budget: Budget): ListenerTls {
  const why = tls.tls === undefined ? undefined : tlsTooLarge(tls.tls, budget, `the ${kind}`);
  if (why === undefined) return tls;
  const { refused = problem('UnsupportedValue', why), unresolved } = tls;
  return { refused, ...(unresolved === undefined ? {} : { unresolved }) };
}

/** A value that cannot be done is told, not passed over. */
function unsupported({ protocol, port, tls }: ListenerSpec): Problem | undefined {
  const use = protocol === 'UDP' ? undefined : operatorUseOf(port);
  if (use !== undefined)
    return problem('PortUnavailable', `port ${port} is the ${use} port of the proxies themselves`);
  const [option] = Object.keys(tls?.options ?? {});
  if (option !== undefined) return problem('UnsupportedValue', `tls.options: ${option} is not known`);
  const { mode = 'Terminate' } = tls ?? {};
  if (mode !== 'Terminate' && (mode !== 'Passthrough' || protocol !== 'TLS'))
    return problem('UnsupportedValue', `tls.mode: ${mode} is not possible with protocol ${protocol}`);
  return undefined;
}

function unusable(spec: ListenerSpec, kinds: readonly RouteKind[], { tls }: ListenerTls): string | undefined {
  if (kinds.length === 0) return 'no kind of route that it allows can be used with its protocol';
  return terminates(spec) && tls === undefined ? 'there is no certificate that can be used' : undefined;
}

function allowedKinds(
  { protocol, allowedRoutes }: ListenerSpec,
  possible: readonly RouteKind[],
): { readonly known: readonly RouteKind[]; readonly problem?: Problem } {
  const asked = allowedRoutes?.kinds ?? [];
  if (asked.length === 0) return { known: possible };
  const known = possible.filter((kind) =>
    asked.some((one) => one.kind === kind && (one.group ?? GATEWAY_GROUP) === GATEWAY_GROUP),
  );
  const other = asked.find(
    ({ group = GATEWAY_GROUP, kind }) => group !== GATEWAY_GROUP || !possible.some((one) => one === kind),
  );
  if (other === undefined) return { known };
  return {
    known,
    problem: problem(
      'InvalidRouteKinds',
      `${other.kind} of ${other.group ?? GATEWAY_GROUP} cannot be used with protocol ${protocol}`,
    ),
  };
}
