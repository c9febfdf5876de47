import { keyOf } from '../api/object.ts';
import type {
  Gateway,
  GatewayAddress,
  GatewayClass,
  ListenerStatus,
  Named,
  ParentReference,
  PolicyAncestorStatus,
  PolicyStatus,
} from '../types/index.ts';
import type { PolicyState, PolicyUseByGateway } from './backendTls.ts';
import {
  mergeConditions,
  problem,
  sameData,
  verdict,
  type Problem,
  type Stamp,
  type Verdict,
  withOwnEntries,
} from './conditions.ts';
import type { Infrastructure, StatusKind, StatusUpdate } from './contract.ts';
import { supportedFeatures, supportedVersions } from './features.ts';
import { GATEWAY_GROUP } from './lookup.ts';
import {
  isAccepted,
  isProgrammed,
  listenersOf,
  type GatewayState,
  type ListenerState,
  type NamedGateway,
  type SetState,
} from './state.ts';

export function update(
  kind: StatusKind,
  { metadata, ...object }: Named & { readonly status?: object },
  status: object,
): StatusUpdate {
  const { namespace, name, resourceVersion } = metadata;
  return {
    kind,
    ...(namespace === undefined ? {} : { namespace }),
    name,
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    status,
    changed: !sameData(object.status ?? {}, status),
  };
}

/** Without a problem, `reason` is that of True. */
const accepted = (why: Problem | undefined, reason = 'Accepted'): Verdict => verdict('Accepted', why, reason);

export function gatewayClassStatus(
  gatewayClass: GatewayClass,
  wrong: Problem | undefined,
  versions: readonly string[],
  now: string,
): StatusUpdate {
  const other = versions.find((version) => !supportedVersions.test(version));
  const stamp = { now, generation: gatewayClass.metadata.generation };
  const version =
    other === undefined
      ? undefined
      : problem('UnsupportedVersion', `CRDs of ${other} are installed; others may work, with no promise`);
  return update('GatewayClass', gatewayClass, {
    ...gatewayClass.status,
    conditions: mergeConditions(
      gatewayClass.status?.conditions,
      [accepted(wrong), verdict('SupportedVersion', version)],
      stamp,
    ),
    supportedFeatures: supportedFeatures.map((name) => ({ name })),
  });
}

/** The known facts about the proxies of a Gateway. */
export interface Serving {
  readonly infrastructure: Infrastructure | undefined;
  /** Whether the Gateway is programmed, which counts for each of its ListenerSets. */
  readonly programmed: () => Verdict;
}

/** @param refusal why proxies do not take its model */
export function servingOf(
  gateway: GatewayState,
  infrastructure: Infrastructure | undefined,
  refusal: Problem | undefined,
): Serving {
  // Its listeners may be those of thousands of ListenerSets: they are looked through once for all of them.
  let known: Verdict | undefined;
  return { infrastructure, programmed: () => (known ??= programmed(gateway, infrastructure, refusal)) };
}

export function gatewayStatus(state: GatewayState, serving: Serving, now: string): StatusUpdate {
  const { infrastructure } = serving;
  const { object, sets, insecure } = state;
  const stamp = { now, generation: object.metadata.generation };
  const wrong = gatewayProblem(state);
  const conditions = mergeConditions(
    object.status?.conditions,
    [
      accepted(wrong, state.listeners.every(isListenerAccepted) ? 'Accepted' : 'ListenersNotValid'),
      serving.programmed(),
      verdict('ResolvedRefs', referenceProblem(state)),
      ...(insecure ? [insecureMode] : []),
    ],
    stamp,
    [insecureMode.type],
  );
  const addresses = wrong === undefined ? listed(infrastructure?.addresses ?? [], object).map(typed) : [];
  return update('Gateway', object, {
    ...object.status,
    addresses,
    conditions,
    listeners: listenerStatuses(state.listeners, object.status?.listeners, stamp, state.refused),
    attachedListenerSets: sets.filter((set) => setProblem(set) === undefined).length,
  });
}

const isListenerAccepted = ({ refused, conflict }: ListenerState): boolean =>
  refused === undefined && conflict === undefined;

/** Programmed as far as the proxies have told. */
const isServed = (listener: ListenerState): boolean =>
  isProgrammed(listener) && listener.closed === undefined;

const typed = ({ type = 'IPAddress', value }: GatewayAddress): GatewayAddress => ({ type, value });

/** The API takes no more of them. */
const ADDRESSES_MOST = 16;

/** The addresses that fit into a status; those that the Gateway asks for go first where others have to be left out. */
function listed(addresses: readonly GatewayAddress[], { spec }: Gateway): readonly GatewayAddress[] {
  if (addresses.length <= ADDRESSES_MOST) return addresses;
  const asked = new Set(spec.addresses?.map(({ value }) => value));
  const [first, others] = [
    addresses.filter(({ value }) => asked.has(value)),
    addresses.filter(({ value }) => !asked.has(value)),
  ];
  return [...first, ...others].slice(0, ADDRESSES_MOST);
}

const insecureMode: Verdict = {
  type: 'InsecureFrontendValidationMode',
  status: 'True',
  reason: 'ConfigurationChanged',
  message: 'AllowInsecureFallback: clients are let in without a valid certificate',
};

function gatewayProblem(state: GatewayState): Problem | undefined {
  if (state.refused !== undefined || isAccepted(state)) return state.refused;
  return problem('ListenersNotValid', 'none of the listeners is accepted');
}

function programmed(
  state: GatewayState,
  infrastructure: Infrastructure | undefined,
  refusal: Problem | undefined,
): Verdict {
  if (!isAccepted(state))
    return verdict('Programmed', problem('Invalid', gatewayProblem(state)?.message ?? ''));
  if (!listenersOf(state).some(isProgrammed))
    return verdict('Programmed', problem('Invalid', 'none of the listeners can be served'));
  if (refusal !== undefined) return verdict('Programmed', refusal);
  if (!listenersOf(state).some(isServed))
    return verdict('Programmed', problem('Invalid', 'the proxies could bind none of the ports'));
  if (infrastructure === undefined)
    return { type: 'Programmed', status: 'Unknown', reason: 'Pending', message: 'proxies are being set up' };
  const { addresses, pending, unusable = [] } = infrastructure;
  if (unusable.length > 0)
    return verdict(
      'Programmed',
      problem(
        'AddressNotUsable',
        `the network does not give ${unusable.join(', ')}; remove it from spec.addresses`,
      ),
    );
  if (pending !== undefined) return verdict('Programmed', problem('Pending', pending));
  if (addresses.length === 0)
    return verdict('Programmed', problem('AddressNotAssigned', 'the network has given no address yet'));
  const count = addresses.length;
  const message =
    count > ADDRESSES_MOST
      ? `the network has given ${count} addresses; the status can list ${ADDRESSES_MOST}`
      : '';
  return verdict('Programmed', undefined, 'Programmed', message);
}

function referenceProblem({ client, listeners }: GatewayState): Problem | undefined {
  if (client !== undefined && 'reason' in client) return client;
  const names = listeners.filter(({ unresolved }) => unresolved !== undefined).map(({ spec }) => spec.name);
  return names.length === 0
    ? undefined
    : problem('ListenersNotResolved', `references of listeners cannot be followed: ${names.join(', ')}`);
}

function listenerStatuses(
  listeners: readonly ListenerState[],
  before: readonly ListenerStatus[] | undefined,
  stamp: Stamp,
  parent?: Problem,
): readonly ListenerStatus[] {
  return listeners.map((listener) => ({
    name: listener.spec.name,
    supportedKinds: listener.kinds.map((kind) => ({ group: GATEWAY_GROUP, kind })),
    attachedRoutes: listener.attached.size,
    conditions: mergeConditions(
      before?.find(({ name }) => name === listener.spec.name)?.conditions,
      listenerVerdicts(listener, parent),
      stamp,
      [overlapping.type],
    ),
  }));
}

const overlapping: Verdict = {
  type: 'OverlappingTLSConfig',
  status: 'True',
  reason: 'OverlappingHostnames',
  message:
    'another listener of this port has host names in common; requests on a connection that was opened for the other get 421',
};

function listenerVerdicts(listener: ListenerState, parent: Problem | undefined): readonly Verdict[] {
  const { refused, conflict, unresolved, unusable, overlaps, closed } = listener;
  const whole = parent === undefined ? undefined : `the Gateway is not accepted: ${parent.message}`;
  const invalid = refused?.message ?? unusable ?? whole;
  const notServed = closed === undefined ? undefined : problem('PortUnavailable', `a proxy says: ${closed}`);
  return [
    accepted(conflict ?? refused),
    verdict('Programmed', conflict ?? (invalid === undefined ? notServed : problem('Invalid', invalid))),
    verdict('ResolvedRefs', unresolved),
    conflict === undefined
      ? { type: 'Conflicted', status: 'False', reason: 'NoConflicts', message: '' }
      : { type: 'Conflicted', status: 'True', ...conflict },
    ...(overlaps ? [overlapping] : []),
  ];
}

/** @param gateway that it belongs to */
export function listenerSetStatus(
  set: SetState,
  gateway: GatewayState,
  serving: Serving,
  now: string,
): StatusUpdate {
  const { object, refused, listeners } = set;
  const stamp = { now, generation: object.metadata.generation };
  const wrong = setProblem(set);
  const whole = listeners.every(isProgrammed) ? 'Accepted' : 'ListenersNotValid';
  const closed =
    wrong === undefined && !listeners.some(isServed)
      ? problem('Invalid', 'the proxies could bind none of its ports')
      : wrong;
  const notServed =
    refused?.reason === 'ParentNotAccepted' ? problem('ParentNotProgrammed', refused.message) : closed;
  return update('ListenerSet', object, {
    ...object.status,
    conditions: mergeConditions(
      object.status?.conditions,
      [
        accepted(wrong, whole),
        notServed === undefined
          ? setProgrammed(gateway, serving.programmed())
          : verdict('Programmed', notServed),
      ],
      stamp,
    ),
    listeners: listenerStatuses(listeners, object.status?.listeners, stamp),
  });
}

/** A ListenerSet without a problem of its own is served when its Gateway is. */
function setProgrammed(gateway: GatewayState, parent: Verdict): Verdict {
  if (parent.status === 'True') return verdict('Programmed', undefined);
  if (parent.status === 'Unknown') return parent;
  return verdict(
    'Programmed',
    problem('ParentNotProgrammed', `Gateway ${gateway.key} is not programmed: ${parent.message}`),
  );
}

function setProblem({ refused, listeners }: SetState): Problem | undefined {
  if (refused !== undefined || listeners.some(isProgrammed)) return refused;
  return problem('ListenersNotValid', 'none of the listeners can be served');
}

/** The API takes no more of them. */
const ANCESTORS_MOST = 16;

/** Undefined where the policy is not, and was not, of our concern. */
export const policyStatus = (
  state: PolicyState,
  controllerName: string,
  now: string,
): StatusUpdate | undefined =>
  ancestorsStatus(
    'BackendTLSPolicy',
    state.object,
    Array.from(state.uses.values(), (use) => ({
      ...ancestorOf(use.gateway),
      verdicts: policyVerdicts(state, use),
    })),
    controllerName,
    now,
  );

/** The part of an object's status about one of its ancestors. */
export interface AncestorEntry {
  /** Entries are in the order of these. */
  readonly key: string;
  readonly ref: ParentReference;
  readonly verdicts: readonly Verdict[];
}

/** A Gateway as an ancestor. */
export function ancestorOf({ key, object }: NamedGateway): Omit<AncestorEntry, 'verdicts'> {
  const { namespace = '', name } = object.metadata;
  return { key, ref: { group: GATEWAY_GROUP, kind: 'Gateway', namespace, name } };
}

/**
 * The status of an object that is said for each ancestor (GEP-713); entries of other controllers stay as they are.
 * @param optional types of conditions that not every entry has
 * @returns undefined where the object is not, and was not, of our concern
 */
export function ancestorsStatus(
  kind: StatusKind,
  object: Named & { readonly status?: PolicyStatus },
  entries: readonly AncestorEntry[],
  controllerName: string,
  now: string,
  optional: readonly string[] = [],
): StatusUpdate | undefined {
  const before = object.status?.ancestors ?? [];
  if (entries.length === 0 && !before.some((entry) => entry.controllerName === controllerName))
    return undefined;
  const own = entries
    .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ ref, verdicts }): PolicyAncestorStatus => {
      const known = before.find(
        (entry) => entry.controllerName === controllerName && isSameAncestor(entry.ancestorRef, ref),
      );
      return {
        ancestorRef: ref,
        controllerName,
        conditions: mergeConditions(
          known?.conditions,
          verdicts,
          { now, generation: object.metadata.generation },
          optional,
        ),
      };
    });
  return update(kind, object, {
    ...object.status,
    ancestors: withOwnEntries(before, own, controllerName, ANCESTORS_MOST),
  });
}

const isSameAncestor = (a: ParentReference, b: ParentReference): boolean =>
  (a.group ?? GATEWAY_GROUP) === (b.group ?? GATEWAY_GROUP) &&
  (a.kind ?? 'Gateway') === (b.kind ?? 'Gateway') &&
  keyOf(a.namespace, a.name) === keyOf(b.namespace, b.name) &&
  a.sectionName === b.sectionName;

const policyVerdicts = (
  { conflict, invalid, unresolved }: PolicyState,
  { missing }: PolicyUseByGateway,
): readonly Verdict[] => [accepted(conflict ?? invalid ?? missing), verdict('ResolvedRefs', unresolved)];
