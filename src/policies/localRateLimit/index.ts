import { GatewayError } from '../../errors.ts';
import type { Exchange, Policy } from '../policy.ts';
import type { Bucket } from './bucket.ts';
import { bucketsOf } from './buckets.ts';
import { localRateLimitSchema, type LocalRateLimitSettings } from './schema.ts';

export const localRateLimit: Policy<LocalRateLimitSettings> = {
  name: 'localRateLimit',
  schema: localRateLimitSchema,
  prepare({ limits }, { now }) {
    const sources = limits.map((limit) => ({ limit, bucketOf: bucketsOf(limit, now()) }));
    const [only] = sources.length === 1 ? sources : [];

    /** All or none: what one limit refuses must not cost a token of another. */
    function drawFromAll(x: Exchange, at: number): undefined {
      const drawn = sources.map(({ limit, bucketOf }) => {
        const bucket = bucketOf(x, at);
        return { limit, bucket, left: bucket.available(at) };
      });
      const allowed = drawn.every(({ left }) => left > 0);
      if (allowed)
        for (const one of drawn) {
          one.bucket.take();
          one.left -= 1;
        }
      // The one that will refuse first is the one a client should know about.
      const tightest = drawn.reduce((a, b) => (b.left < a.left ? b : a));
      return tell(x, tightest.limit.maxTokens, tightest.left, tightest.bucket, at, allowed);
    }

    return {
      onRequest(x) {
        const at = now();
        if (only === undefined) return drawFromAll(x, at);
        const bucket = only.bucketOf(x, at);
        const left = bucket.available(at);
        if (left > 0) bucket.take();
        return tell(x, only.limit.maxTokens, Math.max(0, left - 1), bucket, at, left > 0);
      },
    };
  },
};

/** Allowed or not, the client learns where it stands. @throws GatewayError rate_limited */
function tell(
  x: Exchange,
  most: number,
  left: number,
  bucket: Bucket,
  at: number,
  allowed: boolean,
): undefined {
  const seconds = String(Math.max(1, Math.ceil(bucket.untilFill(at) / 1000)));
  const { responseHeaders } = x;
  responseHeaders.set('x-ratelimit-limit', String(most));
  responseHeaders.set('x-ratelimit-remaining', String(left));
  responseHeaders.set('x-ratelimit-reset', seconds);
  if (!allowed) throw new GatewayError('rate_limited', { headers: [['retry-after', seconds]] });
  return undefined;
}
