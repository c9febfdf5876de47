import { GatewayError } from '../../errors.ts';
import type { Exchange, Policy, RateLimitState } from '../policy.ts';
import { keysOf } from './keys.ts';
import { localRateLimitSchema, type LocalRateLimitSettings } from './facts.ts';

export const localRateLimit: Policy<LocalRateLimitSettings> = {
  schema: localRateLimitSchema,
  prepare({ limits }, { place, tokens }) {
    const keys = keysOf(limits);
    const draws = tokens.open(place, limits);
    return {
      onRequest(x) {
        const state = draws.draw(keys(x));
        if (!(state instanceof Promise)) return tell(x, state);
        return state.then((told) => tell(x, told));
      },
      close: () => draws.close(),
    };
  },
};

/** Allowed or not, the client learns where it stands. @throws GatewayError rate_limited */
function tell(x: Exchange, { allowed, most, left, fillMs }: RateLimitState): undefined {
  const seconds = String(Math.max(1, Math.ceil(fillMs / 1000)));
  const { responseHeaders } = x;
  responseHeaders.set('x-ratelimit-limit', String(most));
  responseHeaders.set('x-ratelimit-remaining', String(left));
  responseHeaders.set('x-ratelimit-reset', seconds);
  if (!allowed) throw new GatewayError('rate_limited', { headers: [['retry-after', seconds]] });
  return undefined;
}
