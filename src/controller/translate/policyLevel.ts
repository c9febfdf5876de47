import type { Place, PolicyUse } from '../../model/index.ts';
import { factsOf } from '../../policies/facts.ts';
import { isRecord } from '../api/object.ts';
import { problem, type Problem } from './conditions.ts';
import type { ReadPolicy } from './policyReading.ts';
import { nameOf, type GatewayPolicyState } from './policyState.ts';
import type { GatewayState } from './state.ts';

/** A policy that holds somewhere. */
export interface Holding {
  readonly read: ReadPolicy;
  readonly state: GatewayPolicyState;
}

/** The policies of one place, by name. */
export type Level = ReadonlyMap<string, Holding>;

export const nothing: Level = new Map();

/** The closer level replaces the inherited one, whole policies at a time. */
export function over(inherited: Level, closer: Level): Level {
  if (closer.size === 0) return inherited;
  return inherited.size === 0 ? closer : new Map([...inherited, ...closer]);
}

/** The problems of policies that need a store, at a Gateway whose proxies have none. */
export function storeProblems(
  { policies }: Pick<GatewayPolicyState, 'policies'>,
  gateway: GatewayState,
): readonly Problem[] {
  return [...policies].flatMap(([name, read]) => storeProblem(name, read, gateway) ?? []);
}

function storeProblem(name: string, read: ReadPolicy, { hasStore, key }: GatewayState): Problem | undefined {
  if (hasStore || 'reason' in read || read.shared === undefined) return undefined;
  return problem(
    'Invalid',
    `${name}: ${read.shared} needs a store, and the PortcullisParameters of Gateway ${key} name none`,
  );
}

/** The policies as the proxies of the Gateway can serve them. */
export function servedBy(gateway: GatewayState, level: Level): Level {
  if (gateway.hasStore) return level;
  let served: Map<string, Holding> | undefined;
  for (const [name, { read, state }] of level) {
    const why = storeProblem(name, read, gateway);
    if (why !== undefined) (served ??= new Map(level)).set(name, { read: why, state });
  }
  return served ?? level;
}

/** The policies in the words of the model; one that cannot be used closes what it is for. */
export function usesOf(level: Level): readonly PolicyUse[] | Problem {
  const uses: PolicyUse[] = [];
  for (const [name, { read, state }] of level) {
    if ('reason' in read) return problem(read.reason, `${nameOf(state)}: ${read.message}`);
    uses.push({ name, settings: read.settings, ...authorOf(state, name) });
  }
  return uses;
}

const placeOf = (state: GatewayPolicyState, name: string): Place => ({
  file: nameOf(state),
  line: 1,
  column: 1,
  path: `spec.policies.${name}`,
});

/** The place of a policy, and the tenant who may have written it. */
export const authorOf = (
  state: GatewayPolicyState,
  name: string,
): Pick<PolicyUse, 'place' | 'guarded' | 'tenant'> => ({
  place: placeOf(state, name),
  guarded: true,
  tenant: state.object.metadata.namespace ?? '',
});

/** The policies that put something in place of the path prefix of a match, and need one. */
export const prefixReplacers = (level: Level): readonly (readonly [string, GatewayPolicyState])[] =>
  [...level].flatMap(([name, { read, state }]) =>
    'settings' in read && replacesPrefix(name, read.settings) ? [[name, state] as const] : [],
  );

const replacesPrefix = (name: string, settings: unknown): boolean =>
  factsOf(name)?.replacesPrefix === true &&
  isRecord(settings) &&
  isRecord(settings['path']) &&
  settings['path']['kind'] === 'prefix';
