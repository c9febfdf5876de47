import { z } from 'zod';
import { compiled } from '../attributes/compiled.ts';
import { countedAttributes } from '../attributes/declared.ts';
import { countedUnit } from '../fields/countedUnit.ts';
import { duration } from '../fields/duration.ts';
import { expression } from '../fields/expression.ts';
import { notBuilt } from '../fields/notBuilt.ts';
import { sharedCount, unusualOf } from '../fields/sharedCount.ts';
import type { PolicyFacts } from '../policyFacts.ts';

const count = (description: string) => z.int().min(1).max(1_000_000_000).meta({ description });

const limitShape = z
  .strictObject({
    maxTokens: count('Requests that may come at once: what the bucket holds, and what it holds at first.'),
    tokensPerFill: count('Requests that each interval allows anew.'),
    fillInterval: duration('Length of an interval.'),
    type: countedUnit,
    ...sharedCount('requests', 'this gateway with its workers'),
    key: expression(
      countedAttributes,
      'CEL expression; each value has a bucket of its own. One bucket for all where it is left out. With mcp.* it counts the uses of tools, prompts and resources.',
    ).optional(),
    maxKeys: z
      .int()
      .min(1)
      .max(1_000_000)
      .default(10_000)
      .meta({ description: 'Buckets that are kept; the one that was not used for longest makes room.' }),
  })
  .transform(({ type: _, scope, failureMode, ...limit }, ctx) => ({
    ...limit,
    ...unusualOf({ scope, failureMode }, ctx),
  }));

/** A limit, a list of limits, or the conditional form, which is refused by name. */
export const localRateLimitSchema = z
  .union([
    z.array(limitShape).min(1).max(16).meta({ description: 'Limits that must all allow the request.' }),
    z.strictObject({ conditional: notBuilt('conditional limits') }),
  ])
  .transform((value, ctx) => {
    if (Array.isArray(value)) {
      // A limit that refuses takes no token of another one: that needs one place that counts.
      if (new Set(value.map(({ scope }) => scope)).size > 1)
        ctx.addIssue({ code: 'custom', message: 'all limits of a list need the same scope' });
      return { limits: value };
    }
    ctx.addIssue({ code: 'custom', message: 'expected a list of limits' });
    return z.NEVER;
  })
  .meta({ description: 'Limits how many requests pass, counted for all workers together.' });

export type LocalRateLimitSettings = z.output<typeof localRateLimitSchema>;
export type Limit = LocalRateLimitSettings['limits'][number];

/** Does the limit count uses of MCP items, rather than requests? @throws Error for a key that does not compile */
export const countsCalls = ({ key }: Pick<Limit, 'key'>): boolean => {
  if (key === undefined) return false;
  const program = compiled(key, countedAttributes, 'localRateLimit.key');
  return program.uses('mcp');
};

export const localRateLimitFacts = {
  schema: localRateLimitSchema,
  forMcpOnly: (settings) => {
    const limit = (settings as LocalRateLimitSettings).limits.find(countsCalls);
    return limit && `the limit with key ${limit.key ?? ''}`;
  },
  on: ['route'],
  about: 'request',
  sharesState: { field: 'scope', value: 'global' },
} as const satisfies PolicyFacts;
