import { problem, verdict, type Problem } from './conditions.ts';
import type { StatusUpdate } from './contract.ts';
import type { Ancestor, GatewayPolicyState } from './policyState.ts';
import { ancestorsStatus } from './status.ts';

/** The first of them is the reason; the message says all. */
const reasons = ['Invalid', 'TargetNotFound', 'Conflicted'];

/** Undefined where the policy is not, and was not, of our concern. */
export const gatewayPolicyStatus = (
  { object, invalid, ancestors }: GatewayPolicyState,
  controllerName: string,
  now: string,
): StatusUpdate | undefined =>
  ancestorsStatus(
    'GatewayPolicy',
    object,
    Array.from(ancestors, ([key, { ref, problems }]) => ({
      key,
      ref,
      verdicts: [verdict('Accepted', worst(invalid, problems))],
    })),
    controllerName,
    now,
  );

function worst(invalid: Problem | undefined, problems: Ancestor['problems']): Problem | undefined {
  const all = invalid === undefined ? problems : [invalid, ...problems];
  const reason = reasons.find((one) => all.some((each) => each.reason === one));
  if (reason === undefined) return undefined;
  return problem(reason, all.map(({ message }) => message).join('; '));
}
