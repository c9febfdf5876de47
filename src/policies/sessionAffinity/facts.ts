import { z } from 'zod';
import { requestAttributes } from '../attributes/declared.ts';
import { textExpression } from '../fields/expression.ts';
import type { PolicyFacts } from '../policyFacts.ts';

/** Stands on a single backend, not among the policies of a route. */
export const sessionAffinitySchema = z
  .strictObject({
    source: textExpression(
      requestAttributes,
      'CEL expression that comes to a string or bytes; requests with the same value go to the same address.',
    ),
    loadFactor: z.number().min(1).max(1_000).default(1.25).meta({
      description:
        'An address that has more requests under way than this many times the average, and more than 16, is passed by.',
    }),
  })
  .meta({ description: 'Sends requests that are alike to the same address, as far as it works.' });

export type SessionAffinitySettings = z.output<typeof sessionAffinitySchema>;

export const sessionAffinityFacts = {
  schema: sessionAffinitySchema,
  on: ['backend', 'service'],
  about: 'forwarding',
} as const satisfies PolicyFacts;
