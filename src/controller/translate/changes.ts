import { isDeepStrictEqual } from 'node:util';
import type { Named } from '../types/index.ts';
import { servicesOf } from './backendTls.ts';
import type { KubeObjects, TranslateOptions } from './contract.ts';
import { pairsOf } from './grants.ts';
import type { AskedBy } from './index.ts';
import { askedFields, keyOfNamed, newAsked, type Asked } from './lookup.ts';
import { podsOf } from './mcpBackends.ts';
import { targetKeys } from './policies.ts';

/** The keys that let proxies in, by `namespace/name/target` of the pods. */
export type PodKeys = ReadonlyMap<string, string | undefined>;

/** The input of a translation. */
interface Input {
  readonly objects: KubeObjects;
  readonly options: TranslateOptions;
  readonly podKeys: PodKeys;
}

export const podKeysOf = ({ mcpBackends }: KubeObjects, { pods }: TranslateOptions): PodKeys =>
  new Map(mcpBackends.flatMap(podsOf).map((pod) => [pod, pods?.key(pod)]));

/**
 * The names behind which a Gateway may find something else than before. A policy stands for its targets: Gateways ask
 * for the policies of a target, not for the objects that a policy names.
 * @param before with the questions of its policies
 */
export function changesFor(before: Input & { readonly asked: AskedBy }, now: Input): Asked {
  const names = newAsked();
  const [old, { objects }] = [before.objects, now];
  for (const field of askedFields)
    for (const one of changesOf<Named>(old[field], objects[field])) names[field].add(one.key);
  for (const one of changedData(old.services, objects.services))
    for (const { metadata } of versions(one)) names.serviceNamespaces.add(metadata.namespace ?? '');
  for (const one of changesOf(old.referenceGrants, objects.referenceGrants))
    for (const grant of versions(one)) for (const pair of pairsOf(grant)) names.references.add(pair);
  for (const { key } of changedData(old.mcpBackends, objects.mcpBackends)) names.mcpBackends.add(key);
  for (const key of changedPods(before, now)) names.mcpBackends.add(key);
  for (const one of changedPolicies(
    old.gatewayPolicies,
    objects.gatewayPolicies,
    before.asked.gatewayPolicies,
    names,
  ))
    for (const policy of versions(one)) {
      names.gatewayPolicies.add(one.key);
      for (const target of targetKeys(policy)) names.policyTargets.add(target);
    }
  for (const one of changedPolicies(
    old.backendTLSPolicies,
    objects.backendTLSPolicies,
    before.asked.backendTLSPolicies,
    names,
  ))
    for (const policy of versions(one))
      for (const { service } of servicesOf(policy)) names.services.add(service);
  return names;
}

/** Did it ask for any of these names? */
export const meets = (asked: Asked, names: Asked): boolean =>
  fields.some((field) => haveCommon(asked[field], names[field]));

function haveCommon(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  const [few, many] = a.size < b.size ? [a, b] : [b, a];
  for (const name of few) if (many.has(name)) return true;
  return false;
}

const fields = Object.keys(newAsked()) as readonly (keyof Asked)[];

interface Change<Kind> {
  readonly key: string;
  readonly old: Kind | undefined;
  readonly now: Kind | undefined;
}

export function* changesOf<Kind extends Named>(
  before: readonly Kind[],
  after: readonly Kind[],
): Iterable<Change<Kind>> {
  if (isSameList(before, after)) return;
  const earlier = new Map(before.map((object) => [keyOfNamed(object), object]));
  for (const now of after) {
    const key = keyOfNamed(now);
    const old = earlier.get(key);
    earlier.delete(key);
    if (old !== now) yield { key, old, now };
  }
  for (const [key, old] of earlier) yield { key, old, now: undefined };
}

const versions = <Kind>({ old, now }: Change<Kind>): readonly Kind[] =>
  [old, now].filter((one) => one !== undefined);

/** Without those of which only the status is another. */
function* changedData<Kind extends Named>(
  before: readonly Kind[],
  after: readonly Kind[],
): Iterable<Change<Kind>> {
  for (const one of changesOf(before, after))
    if (one.old === undefined || one.now === undefined || !isSameButForStatus(one.old, one.now)) yield one;
}

/** The policies that say something else, be it because of what they name. */
function* changedPolicies<Kind extends Named>(
  before: readonly Kind[],
  after: readonly Kind[],
  asked: ReadonlyMap<string, Asked>,
  names: Asked,
): Iterable<Change<Kind>> {
  yield* changedData(before, after);
  for (const policy of after) {
    const key = keyOfNamed(policy);
    const own = asked.get(key);
    if (own !== undefined && meets(own, names)) yield { key, old: policy, now: policy };
  }
}

/** The McpBackends to whose pods the way is another. */
function* changedPods(
  { options: old, podKeys }: Input,
  { objects, options, podKeys: keys }: Input,
): Iterable<string> {
  const hasChanged = (pod: string): boolean =>
    podKeys.get(pod) !== keys.get(pod) ||
    !isDeepStrictEqual(old.pods?.infrastructure.get(pod), options.pods?.infrastructure.get(pod));
  for (const backend of objects.mcpBackends) if (podsOf(backend).some(hasChanged)) yield keyOfNamed(backend);
}

export const isSameButForStatus = (a: Named, b: Named): boolean =>
  a === b ||
  isDeepStrictEqual(
    { ...a, status: undefined, metadata: { ...a.metadata, resourceVersion: '' } },
    { ...b, status: undefined, metadata: { ...b.metadata, resourceVersion: '' } },
  );

export const isSameList = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((item, index) => item === b[index]);
