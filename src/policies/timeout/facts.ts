import { z } from 'zod';
import { duration } from '../fields/duration.ts';
import type { PolicyFacts } from '../policyFacts.ts';

export const timeoutSchema = z
  .strictObject({
    requestTimeout: duration('From the head of the request to the end of the answer; then 504.').optional(),
    backendRequestTimeout: duration(
      'From the choice of the backend to the end of its answer; then 504.',
    ).optional(),
  })
  .meta({ description: 'How long a request may take.' });

export type TimeoutSettings = z.output<typeof timeoutSchema>;

export const timeoutFacts = {
  schema: timeoutSchema,
  on: ['route'],
  about: 'request',
} as const satisfies PolicyFacts;
