import { z } from 'zod';
import { authorityRewrite, pathRewrite } from '../rewrite/schema.ts';
import type { PolicyFacts } from '../policyFacts.ts';

/** Codes whose meaning is "ask there instead" (RFC 9110 §15.4). */
const statuses = [301, 302, 303, 307, 308];

export const requestRedirectSchema = z
  .strictObject({
    scheme: z
      .enum(['http', 'https'])
      .meta({ description: 'Scheme of the new address; that of the request where left out.' })
      .optional(),
    authority: authorityRewrite('Another host or port in the new address.')
      .refine((value) => value.kind !== 'auto', 'a redirect has no backend whose name it could take')
      .optional(),
    path: pathRewrite.optional(),
    status: z
      .int()
      .refine((status) => statuses.includes(status), `expected one of ${statuses.join(', ')}`)
      .default(302)
      .meta({ description: 'Status code of the answer.' }),
  })
  .meta({ description: 'Answers with another address instead of asking a backend.' });

export type RequestRedirectSettings = z.output<typeof requestRedirectSchema>;

export const requestRedirectFacts = {
  schema: requestRedirectSchema,
  on: ['route'],
  notYetOn: ['backend'],
  about: 'request',
  answers: true,
  replacesPrefix: true,
  crdRules: {
    status: [{ rule: 'self in [301, 302, 303, 307, 308]', message: 'expected 301, 302, 303, 307 or 308' }],
  },
} as const satisfies PolicyFacts;
