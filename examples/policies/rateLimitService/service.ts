/**
 * A rate limit service for examples/policies/remoteRateLimit.yaml: each descriptor may have three hits a minute. Start it
 * with: node examples/policies/rateLimitService/service.ts 8081
 */
import { serveUnary, type UnaryService } from '../../unaryService.ts';

/** A question of a gateway, as `rls.proto` has it. */
export interface Question {
  readonly domain: string;
  readonly descriptors: readonly {
    readonly entries: readonly { readonly key: string; readonly value: string }[];
    readonly limit?: { readonly requests_per_unit: number; readonly unit: string } | null;
    readonly hits_addend?: { readonly value?: number } | null;
  }[];
}

/** A `RateLimitResponse`. */
export type Answer = object;

/** Serves questions on loopback. */
export const startRateLimitService = (
  port: number,
  decide: (question: Question) => Answer | Promise<Answer>,
): Promise<UnaryService> =>
  serveUnary(
    port,
    {
      proto: new URL('rls.proto', import.meta.url),
      name: 'envoy.service.ratelimit.v3.RateLimitService',
      options: { enums: String, longs: Number },
    },
    { ShouldRateLimit: decide },
  );

/**
 * Counts the hits of each descriptor in each minute.
 * @param clock milliseconds since the epoch
 */
export function countMinutes(
  most: number,
  clock: () => number = () => Date.now(),
): (question: Question) => Answer {
  const hits = new Map<string, number>();
  let minute = 0;
  return ({ domain, descriptors }) => {
    const now = clock();
    const current = Math.floor(now / 60_000);
    if (current !== minute) hits.clear();
    minute = current;
    const statuses = descriptors.map(({ entries, hits_addend: addend }) => {
      const name = JSON.stringify([domain, entries]);
      const used = (hits.get(name) ?? 0) + (addend ? (addend.value ?? 0) : 1);
      hits.set(name, used);
      return {
        code: used > most ? 'OVER_LIMIT' : 'OK',
        current_limit: { requests_per_unit: most, unit: 'MINUTE' },
        limit_remaining: Math.max(0, most - used),
        duration_until_reset: { seconds: 60 - Math.floor((now / 1000) % 60) },
      };
    });
    const isOver = statuses.some(({ code }) => code === 'OVER_LIMIT');
    return { overall_code: isOver ? 'OVER_LIMIT' : 'OK', statuses };
  };
}

if (import.meta.main) {
  const { port } = await startRateLimitService(Number(process.argv[2] ?? 8081), countMinutes(3));
  process.stdout.write(`rate limit service on 127.0.0.1:${String(port)}\n`);
}
