import type { GatewayPolicy, ParentReference } from '../types/index.ts';
import { problem, type Problem } from './conditions.ts';
import { written } from './grants.ts';
import type { ReadPolicies } from './policyReading.ts';
import type { NamedGateway } from './state.ts';
import { ancestorOf } from './status.ts';

/** The state of a GatewayPolicy. */
export interface GatewayPolicyState {
  readonly object: GatewayPolicy;
  readonly policies: ReadPolicies;
  /** The reason why some of them cannot be used: their targets are out of service. */
  readonly invalid: Problem | undefined;
  /** The Gateways whose requests it concerns, and targets that are not there. */
  readonly ancestors: Map<string, Ancestor>;
}

export interface Ancestor {
  readonly ref: ParentReference;
  /** `namespace/name`, where it is a Gateway that uses the policy. */
  readonly gateway: string | undefined;
  /** Without those that the policy has everywhere. */
  readonly problems: Problem[];
}

/** `GatewayPolicy namespace/name`. */
export const nameOf = ({ object: { metadata } }: GatewayPolicyState): string =>
  written('GatewayPolicy', metadata.namespace, metadata.name);

export function newState(object: GatewayPolicy, policies: ReadPolicies): GatewayPolicyState {
  const wrong = [...policies.values()].flatMap((one) => ('reason' in one ? [one.message] : []));
  return {
    object,
    policies,
    invalid: wrong.length === 0 ? undefined : problem('Invalid', wrong.join('; ')),
    ancestors: new Map(),
  };
}

/** The policy concerns requests of the Gateway. */
export function noteGateway(
  state: GatewayPolicyState,
  gateway: NamedGateway,
  why: readonly Problem[] = [],
): void {
  note(state, ancestorOf(gateway).ref, why, gateway.key);
}

/** The target itself stands for the ancestor that nobody knows. */
export function note(
  state: GatewayPolicyState,
  ref: ParentReference,
  why: readonly Problem[],
  gateway?: string,
): void {
  const key = [ref.group, ref.kind, ref.namespace, ref.name, ref.sectionName].join('/');
  let ancestor = state.ancestors.get(key);
  if (ancestor === undefined) state.ancestors.set(key, (ancestor = { ref, gateway, problems: [] }));
  for (const one of why)
    if (!ancestor.problems.some(({ message }) => message === one.message)) ancestor.problems.push(one);
}
