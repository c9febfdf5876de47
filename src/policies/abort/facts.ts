import { z } from 'zod';
import { share } from '../fields/share.ts';
import type { PolicyFacts } from '../policyFacts.ts';

export const abortSchema = z
  .strictObject({
    status: z.int().min(200).max(599).meta({ description: 'Status code of the answer.' }),
    percentage: share('Share of the requests that are answered so, from 0.0 to 1.0.').default(1),
  })
  .meta({ description: 'Answers requests with an error of your choice, to try what then happens.' });

export type AbortSettings = z.output<typeof abortSchema>;

export const abortFacts = {
  schema: abortSchema,
  on: ['route'],
  about: 'request',
} as const satisfies PolicyFacts;
