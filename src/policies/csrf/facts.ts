import { z } from 'zod';
import { anySite, origin } from '../fields/origins.ts';
import type { PolicyFacts } from '../policyFacts.ts';

const trusted = origin.superRefine((pattern, ctx) => {
  // Such a pattern would let every site in, so that the policy did nothing.
  if (anySite.test(pattern))
    ctx.addIssue({
      code: 'custom',
      message: 'expected origins of certain sites: a page of any site fits this one',
    });
});

export const csrfSchema = z
  .strictObject({
    additionalOrigins: z
      .array(trusted)
      .max(1024)
      .default([])
      .meta({ description: 'Origins of other sites whose pages may send requests that change something.' }),
  })
  .meta({ description: 'Refuses requests that change something and come from a page of another site.' });

export type CsrfSettings = z.output<typeof csrfSchema>;

export const csrfFacts = {
  schema: csrfSchema,
  on: ['listener', 'route'],
  about: 'request',
} as const satisfies PolicyFacts;
