import { catalogue, GatewayError } from '../../errors.ts';
import type { Exchange, Steps } from '../policy.ts';
import type { RuleRefusal, RuleSet } from './ruleSet.ts';
import { stepUpOf } from './scopes.ts';

/**
 * Refuses with 403 when the gate of the rules does: at once, or after the scopes of the call are known. The rule is for
 * the log only.
 */
export function passGate(rules: RuleSet, exchange: Exchange): undefined | Promise<never> {
  const refused = rules.gate?.(exchange);
  if (refused === undefined) return undefined;
  const { scopes } = refused;
  if (scopes !== undefined) {
    const named = rules.itemsNeedScopes ? exchange.namedItem?.() : undefined;
    if (named === undefined) throw scopeError(exchange, refused, scopes);
    return scopesOfCall(rules, exchange, named).then((ofCall = scopes) => {
      throw scopeError(exchange, refused, ofCall);
    });
  }
  throw new GatewayError('authorization_denied', {
    detail: `rule: ${refused.rule}`,
    by: refused,
    jsonBody: { error: 'forbidden', error_description: 'authorization failed' },
  });
}

/** A client that learns only the scopes of the gate would have to log in again for those of its call. */
async function scopesOfCall(
  { refusalOfItem }: RuleSet,
  exchange: Exchange,
  named: NonNullable<ReturnType<NonNullable<Exchange['namedItem']>>>,
): Promise<readonly string[] | undefined> {
  // A body that cannot be read names no item.
  const found = await named.catch(() => undefined);
  return found && refusalOfItem?.(exchange, found.item, found.call)?.stepUp?.scopes;
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
  const { gate, refusalOfItem, itemsByIdentity, explain, toolNames } = rules;
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
  };
}
