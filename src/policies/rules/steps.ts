import { catalogue, GatewayError } from '../../errors.ts';
import type { Exchange, NeededScopes, Steps } from '../policy.ts';
import type { RuleRefusal, RuleSet } from './ruleSet.ts';
import { allScopes, stepUpOf } from './scopes.ts';

/**
 * Refuses with 403 when the gate of the rules does: at once, or after the scopes of the call are known. The rule is for
 * the log only.
 */
export function passGate(rules: RuleSet, exchange: Exchange): undefined | Promise<never> {
  const refused = rules.gate?.(exchange);
  if (refused === undefined) return undefined;
  if (refused.scopes !== undefined) return refuseForScopes(rules, exchange, refused);
  throw new GatewayError('authorization_denied', {
    detail: `rule: ${refused.rule}`,
    by: refused,
    jsonBody: { error: 'forbidden', error_description: 'authorization failed' },
  });
}

/** A client that learns only the scopes of this gate would have to log in again for those of other rules or its call. */
function refuseForScopes(
  { neededScopes }: RuleSet,
  exchange: Exchange,
  refused: RuleRefusal,
): Promise<never> {
  const sets = exchange.scopeRules ?? (neededScopes === undefined ? [] : [neededScopes]);
  const ofRequest = sets.map((needed) => needed(exchange));
  const errorWith = (all: readonly NeededScopes[]): GatewayError =>
    scopeError(exchange, refused, allScopes([...all, { scopes: refused.scopes ?? [] }]));
  const named = ofRequest.some(({ dependOnItem }) => dependOnItem) ? exchange.namedItem?.() : undefined;
  if (named === undefined) throw errorWith(ofRequest);
  // A body that cannot be read names no item.
  return named
    .catch(() => undefined)
    .then((found) => {
      const ofCall = found === undefined ? ofRequest : sets.map((needed) => needed(exchange, found));
      throw errorWith(ofCall.some(({ isRefused }) => isRefused) ? ofRequest : ofCall);
    });
}

/** The client can come back with a token that has more scopes, or with one at all. */
function scopeError(
  exchange: Exchange,
  { rule, place }: RuleRefusal,
  scopes: readonly string[],
): GatewayError {
  const { challenge } = stepUpOf(exchange, scopes);
  const code = exchange.identity === undefined ? 'token_missing' : 'scope_missing';
  const error = code === 'token_missing' ? 'unauthorized' : 'insufficient_scope';
  return new GatewayError(code, {
    detail: `rule: ${rule}`,
    by: { rule, place },
    headers: [['www-authenticate', challenge]],
    jsonBody: { error, error_description: catalogue[code].message, scope: scopes.join(' ') },
  });
}

/** The steps of a policy that is nothing but rules. */
export function ruleSteps(rules: RuleSet): Steps {
  const { gate, refusalOfItem, neededScopes, ruleScopes, itemsByIdentity, explain, toolNames } = rules;
  return {
    ...(explain === undefined
      ? {}
      : {
          explain,
          withRule: (place: string, expression: string) => {
            const changed = rules.withRule(place, expression);
            return changed && ruleSteps(changed);
          },
        }),
    ...(gate === undefined
      ? {}
      : {
          onRequest: (exchange: Exchange) => passGate(rules, exchange),
        }),
    ...(refusalOfItem === undefined ? {} : { refuseMcpItem: refusalOfItem, itemsByIdentity, toolNames }),
    ...(neededScopes === undefined ? {} : { neededScopes, ruleScopes }),
  };
}
