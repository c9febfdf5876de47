import type { RuleInUse } from '../api/types.ts';

/** The route of a rule, or the listener that has it for all routes. */
export const ownerOf = ({ route, listener }: RuleInUse): string => route?.name ?? `listener ${listener}`;

/** The effect of a rule with its scopes. */
export const effectOf = ({ effect, scopes }: RuleInUse): string =>
  effect === 'scopes' ? `require scopes ${scopes.join(' ')} if` : effect;

/** The decisions that a rule takes, and the variables of a call that it reads. */
export function decidesText({ decides, reads }: RuleInUse): string {
  const what = decides === 'calls' ? 'only calls' : decides;
  return reads.length === 0 ? what : `${what}, by ${reads.join(', ')}`;
}

/** A rule in a list of rules. */
export const labelOf = (rule: RuleInUse): string =>
  `${ownerOf(rule)} · ${rule.policy}: ${effectOf(rule)} ${rule.name ?? rule.expression.slice(0, 60)} (${decidesText(rule)})`;
