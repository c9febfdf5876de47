import type { FromNamespaces, Gateway, ListenerSet } from '../types/index.ts';
import { limits } from './bulk.ts';
import { problem, type Problem } from './conditions.ts';
import { noteConflicts } from './conflicts.ts';
import type { Parameters } from './contract.ts';
import { whyMissing } from './entries.ts';
import type { Guard } from './guard.ts';
import { readListener } from './listeners.ts';
import { isInsecure, keyPairFor } from './listenerTls.ts';
import { byAge, GATEWAY_GROUP, keyOfNamed, type Lookup } from './lookup.ts';
import { selects } from './selector.ts';
import { namespaceOf, type GatewayState, type SetState } from './state.ts';
import { parametersProblem, type GatewayParameters, type ParametersOf } from './parameters.ts';

/** The Gateway, by `namespace/name`, that a ListenerSet names; undefined where it names another kind. */
export function gatewayOfSet({ spec: { parentRef }, metadata }: ListenerSet): string | undefined {
  const { group = GATEWAY_GROUP, kind = 'Gateway', name } = parentRef;
  return group === GATEWAY_GROUP && kind === 'Gateway'
    ? `${namespaceOf(parentRef, metadata.namespace ?? '')}/${name}`
    : undefined;
}

/** The ListenerSets by `namespace/name` of the Gateway they belong to, the first in order first. */
export function setsByGateway(
  sets: readonly ListenerSet[],
  guard: Guard,
): ReadonlyMap<string, readonly ListenerSet[]> {
  const byGateway = new Map<string, ListenerSet[]>();
  for (const set of sets.toSorted(byAge)) {
    guard('ListenerSet', set, () => {
      const key = gatewayOfSet(set);
      if (key === undefined) return;
      const others = byGateway.get(key);
      if (others === undefined) byGateway.set(key, [set]);
      else others.push(set);
    });
  }
  return byGateway;
}

/**
 * A Gateway with all that can be said before its routes are looked at.
 * @param lookup that of this Gateway
 */
export function readGateway(
  gateway: Gateway,
  sets: readonly ListenerSet[],
  classProblem: Problem | undefined,
  parameters: GatewayParameters,
  lookup: Lookup,
  guard: Guard,
): GatewayState {
  const budget = { left: limits.gateway };
  const listeners = gateway.spec.listeners.map((spec) =>
    readListener(spec, { kind: 'Gateway', object: gateway }, gateway, lookup, budget),
  );
  const own = parameters.of(gateway);
  const { ofClass, ofGateway } = own;
  const refused = classProblem ?? refusal(gateway, parameters.known) ?? missingSecret(gateway, own, lookup);
  const states: SetState[] = [];
  for (const set of sets) {
    guard('ListenerSet', set, () => {
      const why = setRefusal(set, gateway, refused, lookup);
      const own = why === undefined ? set.spec.listeners : [];
      const owner = { kind: 'ListenerSet', object: set } as const;
      const ofSet = { left: limits.listenerSet };
      const read = own.map((spec) => readListener(spec, owner, gateway, lookup, ofSet));
      states.push({ object: set, refused: why, listeners: read });
    });
  }
  noteConflicts([listeners, ...states.map((set) => set.listeners)]);
  return {
    object: gateway,
    key: keyOfNamed(gateway),
    listeners,
    sets: states,
    refused,
    client: clientCertificate(gateway, lookup),
    lookup,
    hasStore: (ofGateway?.store ?? ofClass?.store) === true,
    insecure: isInsecure(gateway),
    endpoints: new Set(),
    waits: false,
  };
}

const addressTypes: ReadonlySet<string> = new Set(['IPAddress', 'Hostname']);

function refusal({ spec, metadata }: Gateway, parameters: readonly Parameters[]): Problem | undefined {
  const reference = spec.infrastructure?.parametersRef;
  const namespace = metadata.namespace ?? '';
  const wrong =
    reference === undefined ? undefined : parametersProblem({ ...reference, namespace }, parameters);
  if (wrong !== undefined) return wrong;
  const other = spec.addresses?.find(({ type = 'IPAddress' }) => !addressTypes.has(type));
  return other === undefined
    ? undefined
    : problem('UnsupportedAddress', `addresses of type ${other.type} are not supported`);
}

/** A Secret that the pods of the Gateway would wait for. */
function missingSecret(
  { metadata }: Gateway,
  { ofClass, ofGateway }: ParametersOf,
  { secrets }: Lookup,
): Problem | undefined {
  const needed = { ...ofClass?.secrets, ...ofGateway?.secrets };
  for (const [field, one] of Object.entries(needed)) {
    if (one === null) continue;
    const key = `${metadata.namespace ?? ''}/${one.secretName}`;
    const wrong = (why: string): Problem =>
      problem('InvalidParameters', `${field} of PortcullisParameters: Secret ${key}: ${why}`);
    const secret = secrets.get(key);
    if (secret === undefined) return wrong('it does not exist');
    const there = [...Object.keys(secret.data ?? {}), ...(secret.named ?? [])];
    const missing = one.entries.find((entry) => !there.includes(entry));
    if (missing !== undefined) return wrong(whyMissing(secret, missing));
  }
  return undefined;
}

function setRefusal(
  set: ListenerSet,
  gateway: Gateway,
  parent: Problem | undefined,
  { namespaces }: Lookup,
): Problem | undefined {
  const from = gateway.spec.allowedListeners?.namespaces ?? {};
  const [own, other] = [gateway.metadata.namespace ?? '', set.metadata.namespace ?? ''];
  if (!admits({ from: 'None', ...from }, own, other, namespaces))
    return problem(
      'NotAllowed',
      `Gateway ${keyOfNamed(gateway)} allows no ListenerSet of namespace ${other}`,
    );
  return parent === undefined
    ? undefined
    : problem('ParentNotAccepted', `Gateway ${keyOfNamed(gateway)} is not accepted: ${parent.message}`);
}

/** May objects of a namespace come in? */
export function admits(
  { from = 'Same', selector }: FromNamespaces,
  own: string,
  other: string,
  namespaces: Lookup['namespaces'],
): boolean {
  if (from === 'All') return true;
  if (from === 'Same') return own === other;
  const namespace = namespaces.get(other);
  if (from !== 'Selector' || selector === undefined || namespace === undefined) return false;
  return selects(selector, namespace.metadata.labels ?? {});
}

function clientCertificate({ spec, metadata }: Gateway, lookup: Lookup): GatewayState['client'] {
  const reference = spec.tls?.backend?.clientCertificateRef;
  if (reference === undefined) return undefined;
  const from = { group: GATEWAY_GROUP, kind: 'Gateway', namespace: metadata.namespace ?? '' };
  const found = keyPairFor(reference, from, lookup, 'InvalidClientCertificateRef');
  if ('reason' in found) return problem(found.reason, found.message);
  return { cert: { inline: found.cert }, key: { inline: found.key } };
}
