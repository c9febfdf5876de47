import { GatewayError } from '../../errors.ts';
import type { Exchange, Steps } from '../policy.ts';
import type { RuleSet } from './ruleSet.ts';

/** Refuses with 403 when the gate of the rules does. The rule is for the log only. */
export function passGate(rules: RuleSet, exchange: Exchange): void {
  const refused = rules.gate?.(exchange);
  if (refused === undefined) return;
  throw new GatewayError('authorization_denied', {
    detail: `rule: ${refused.rule}`,
    by: refused,
    jsonBody: { error: 'forbidden', error_description: 'authorization failed' },
  });
}

/** The steps of a policy that is nothing but rules. */
export function ruleSteps(rules: RuleSet): Steps {
  const { gate, refusalOfItem, itemsByIdentity, explain } = rules;
  return {
    explain,
    ...(gate === undefined
      ? {}
      : {
          onRequest(exchange: Exchange) {
            passGate(rules, exchange);
            return undefined;
          },
        }),
    ...(refusalOfItem === undefined ? {} : { refuseMcpItem: refusalOfItem, itemsByIdentity }),
  };
}
