import type { AnyRoute } from '../types/index.ts';
import type { KubeObjects, StatusKind, Translation } from './contract.ts';
import { addressesIn } from './endpoints.ts';
import { gatewayOfSet } from './gateways.ts';
import type { Traced } from './index.ts';
import { keyOfNamed, type Asked } from './lookup.ts';
import { keyOfRoute, keyOfUpdate, routeFields } from './reportKeys.ts';
import { GatewayNames } from './routeParents.ts';

type Noted = Pick<Traced, 'asked' | 'uses'>;

/** The Gateways whose models need a Secret or ConfigMap that is not in memory yet, by themselves or by a policy. */
export function gatewaysWithUnread({ asked, uses }: Noted): ReadonlySet<string> {
  const ofPolicies = [
    ...namesIn(asked.gatewayPolicies).map((name) => uses.policies.get(name)),
    ...namesIn(asked.backendTLSPolicies).map((name) => uses.backendTls.get(name)),
  ];
  return new Set([...namesIn(asked.gateways), ...ofPolicies.flatMap((used) => [...(used?.keys() ?? [])])]);
}

/** The objects that asked for unread data. */
const namesIn = (asked: ReadonlyMap<string, Asked>): readonly string[] =>
  [...asked].flatMap(([name, { unread }]) => (unread.size === 0 ? [] : [name]));

/**
 * A translation in which some Gateways stay as they were: their models are those of the translation in use, and nothing
 * is said of their objects.
 * @param held `namespace/name` of the Gateways
 * @param before the translation in use, if there is one
 */
export function holding(
  traced: Traced & { readonly objects: KubeObjects },
  held: ReadonlySet<string>,
  before: Translation | undefined,
): Translation {
  const { translation: fresh, objects } = traced;
  if (held.size === 0) return fresh;
  const models = new Map(fresh.models);
  const keys = new Set(fresh.endpoints.keys());
  for (const gateway of held) {
    const earlier = before?.models.get(gateway);
    if (earlier === undefined) models.delete(gateway);
    else models.set(gateway, earlier);
    for (const key of earlier?.endpoints ?? []) keys.add(key);
  }
  const pods = new Map(
    Array.from(fresh.pods, ([key, pod]) => {
      const isHeld = pod.model === undefined && pod.gateways.some((one) => held.has(keyOfNamed(one)));
      return [key, isHeld ? { ...pod, model: before?.pods.get(key)?.model } : pod];
    }),
  );
  const silent = objectsOf(held, traced);
  const report = fresh.report.filter((update) => !silent.has(keyOfUpdate(update)));
  return { ...fresh, models, pods, endpoints: addressesIn(objects, keys), report };
}

/** The keys, as in a report, of the objects whose status depends on a held Gateway. */
function objectsOf(
  held: ReadonlySet<string>,
  { asked, uses, objects }: Noted & { readonly objects: KubeObjects },
): ReadonlySet<string> {
  const keys = new Set<string>(Array.from(held, (gateway) => `Gateway ${gateway}`));
  for (const set of objects.listenerSets) {
    const gateway = gatewayOfSet(set);
    if (gateway !== undefined && held.has(gateway)) keys.add(`ListenerSet ${keyOfNamed(set)}`);
  }
  const names = new GatewayNames(objects.listenerSets);
  for (const field of routeFields)
    for (const route of objects[field] as readonly AnyRoute[])
      if (names.of(route).some((name) => held.has(name))) keys.add(keyOfRoute(field, route));
  const shared: readonly (readonly [StatusKind, ReadonlyMap<string, ReadonlyMap<string, unknown>>])[] = [
    ['GatewayPolicy', uses.policies],
    ['BackendTLSPolicy', uses.backendTls],
    ['McpBackend', uses.mcp],
  ];
  for (const [kind, noted] of shared)
    for (const [name, byGateway] of noted)
      if ([...byGateway.keys()].some((gateway) => held.has(gateway))) keys.add(`${kind} ${name}`);
  for (const name of namesIn(asked.gatewayPolicies)) keys.add(`GatewayPolicy ${name}`);
  return keys;
}
