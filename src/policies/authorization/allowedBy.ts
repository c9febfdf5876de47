import { requestAttributes } from '../attributes/declared.ts';
import type { AuthorizationSettings } from './facts.ts';
import type { Exchange } from '../policy.ts';
import { prepareRules } from '../rules/ruleSet.ts';

/**
 * Rules that stand outside of the policies of a route, and grant something.
 * @param settings as those of `authorization`
 * @param place the field path of the rules, for the log
 * @returns whether the rules allow a caller; no rules allow nobody
 * @throws Error for an expression that does not compile
 */
export function allowedBy(settings: unknown, place: string): (exchange: Exchange) => boolean {
  const { gate } = prepareRules(settings as AuthorizationSettings, requestAttributes, place);
  if (gate === undefined) return () => false;
  return (exchange) => gate(exchange) === undefined;
}
