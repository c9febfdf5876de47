import type { Model, PolicyUse } from '../model/index.ts';
import { decisionsOf, type RuleDecision } from '../policies/facts.ts';

/** A line for each rule about MCP that says what it decides. Rules show no expression: it may hold secrets. */
export const decisionLines = (policies: readonly PolicyUse[]): string[] =>
  policies.flatMap((policy) => decisionsOf(policy).map(lineOf));

function lineOf({ rule, decides, reads, scopes }: RuleDecision): string {
  const by = reads.length === 0 ? '' : `, by ${reads.join(', ')}`;
  const needs = scopes.length === 0 ? '' : `, requires ${scopes.join(' ')}`;
  return `${rule}: decides ${decides}${by}${needs}`;
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
