import type { Model, PolicyUse } from '../model/index.ts';
import { decisionsOf, type RuleDecision } from '../policies/facts.ts';

/** A line for each rule, with what it decides. The caller replaces secrets. */
export const decisionLines = (policies: readonly PolicyUse[]): string[] =>
  policies.flatMap((policy) => decisionsOf(policy).map(lineOf));

function lineOf({ rule, effect, expression, decides, reads, scopes }: RuleDecision): string {
  const by = reads.length === 0 ? '' : `, by ${reads.join(', ')}`;
  const written = expression.replaceAll(/\s+/g, ' ').trim();
  const text =
    effect === 'scopes'
      ? `require scopes ${scopes.join(' ')}${written === 'true' ? '' : ` if ${written}`}`
      : `${effect} ${written}`;
  return `${rule}: ${text} (decides ${decides}${by})`;
}

/** The same of all routes, with the rules that lists do not follow only. */
export function callRuleLines({ binds }: Model): string[] {
  return binds
    .flatMap(({ listeners }) =>
      listeners.flatMap((listener) => ('routes' in listener ? listener.routes : [])),
    )
    .flatMap(({ name, policies }) =>
      policies.flatMap((policy) =>
        decisionsOf(policy)
          .filter(({ decides }) => decides === 'calls')
          .map((decision) => `route ${name}: ${lineOf(decision)}`),
      ),
    );
}
