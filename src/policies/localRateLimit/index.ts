import { GatewayError, NotEvaluated } from '../../errors.ts';
import { formatDuration } from '../../model/index.ts';
import type { Exchange, Policy, RateLimitState, TokenLimit } from '../policy.ts';
import { keysOf } from './keys.ts';
import { localRateLimitSchema, type LocalRateLimitSettings } from './facts.ts';

export const localRateLimit: Policy<LocalRateLimitSettings> = {
  schema: localRateLimitSchema,
  prepare({ limits }, { place, tokens, globalTokens }) {
    const keys = keysOf(limits);
    const isGlobal = limits.some(({ scope }) => scope === 'global');
    const counter = isGlobal ? globalTokens : tokens;
    if (counter === undefined) throw new Error('localRateLimit: scope: global needs config.store');
    const named = limits.map(limitName);
    const draws = counter.open(place, limits);
    return {
      onRequest(exchange) {
        if (exchange.trial !== undefined) throw new NotEvaluated(`it counts: ${named.join('; ')}`);
        const state = draws.draw(keys(exchange));
        if (!(state instanceof Promise)) return tell(exchange, state, named);
        return state.then((told) => tell(exchange, told, named));
      },
      close: () => draws.close(),
    };
  },
};

/** Allowed or not, the client learns where it stands. @throws GatewayError rate_limited */
function tell(
  exchange: Exchange,
  { allowed, most, left, fillMs, limit = 0 }: RateLimitState,
  limits: readonly string[],
): undefined {
  const seconds = String(Math.max(1, Math.ceil(fillMs / 1000)));
  const { responseHeaders } = exchange;
  responseHeaders.set('x-ratelimit-limit', String(most));
  responseHeaders.set('x-ratelimit-remaining', String(left));
  responseHeaders.set('x-ratelimit-reset', seconds);
  if (!allowed)
    throw new GatewayError('rate_limited', {
      headers: [['retry-after', seconds]],
      detail: `limit: ${limits[limit] ?? ''}`,
      by: { rule: limits[limit] ?? '', place: `[${limit}]` },
    });
  return undefined;
}

/** Names a limit in the log: its size, its rate, and the expression of its key. */
const limitName = ({ maxTokens, tokensPerFill, fillInterval, key }: TokenLimit): string =>
  `${maxTokens} at once, ${tokensPerFill} every ${formatDuration(fillInterval)}${key === undefined ? '' : `, key ${key}`}`;
