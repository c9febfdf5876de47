import { z } from 'zod';
import { authorityRewrite, pathRewrite } from '../rewrite/schema.ts';
import type { PolicyFacts } from '../policyFacts.ts';

export const urlRewriteSchema = z
  .strictObject({
    authority: authorityRewrite('Another `Host` for the backend.').optional(),
    path: pathRewrite.optional(),
  })
  .meta({ description: 'Changes what the backend is asked for; the client does not see it.' });

export type UrlRewriteSettings = z.output<typeof urlRewriteSchema>;

export const urlRewriteFacts = {
  schema: urlRewriteSchema,
  on: ['route'],
  about: 'forwarding',
  replacesPrefix: true,
} as const satisfies PolicyFacts;
