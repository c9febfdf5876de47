import type { ParentReference, PolicyAncestorStatus } from '../types/index.ts';
import { mergeConditions, problem, verdict, withOwnEntries, type Problem } from './conditions.ts';
import type { StatusUpdate } from './contract.ts';
import type { Ancestor, GatewayPolicyState } from './policyState.ts';
import { update } from './status.ts';

/** The API takes no more of them. */
const ANCESTORS_MOST = 16;

/** The first of them is the reason; the message says all. */
const reasons = ['Invalid', 'TargetNotFound', 'Conflicted'];

/** Undefined where the policy is not, and was not, of our concern. */
export function gatewayPolicyStatus(
  { object, invalid, ancestors }: GatewayPolicyState,
  controllerName: string,
  now: string,
): StatusUpdate | undefined {
  const before = object.status?.ancestors ?? [];
  const known = before.some((entry) => entry.controllerName === controllerName);
  if (ancestors.size === 0 && !known) return undefined;
  const own = [...ancestors]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { ref, problems }]): PolicyAncestorStatus => {
      const old = before.find(
        (entry) => entry.controllerName === controllerName && same(entry.ancestorRef, ref),
      );
      return {
        ancestorRef: ref,
        controllerName,
        conditions: mergeConditions(old?.conditions, [verdict('Accepted', worst(invalid, problems))], {
          now,
          generation: object.metadata.generation,
        }),
      };
    });
  const entries = withOwnEntries(before, own, controllerName, ANCESTORS_MOST);
  return update('GatewayPolicy', object, { ...object.status, ancestors: entries });
}

function worst(invalid: Problem | undefined, problems: Ancestor['problems']): Problem | undefined {
  const all = invalid === undefined ? problems : [invalid, ...problems];
  const reason = reasons.find((one) => all.some((each) => each.reason === one));
  if (reason === undefined) return undefined;
  return problem(reason, all.map(({ message }) => message).join('; '));
}

const same = (a: ParentReference, b: ParentReference): boolean =>
  a.group === b.group &&
  a.kind === b.kind &&
  a.namespace === b.namespace &&
  a.name === b.name &&
  a.sectionName === b.sectionName;
