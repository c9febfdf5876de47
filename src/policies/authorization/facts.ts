import type { z } from 'zod';
import { requestAttributes } from '../attributes/declared.ts';
import { ruleSetSchema } from '../rules/schema.ts';
import type { PolicyFacts } from '../policyFacts.ts';

export const authorizationSchema = ruleSetSchema(
  requestAttributes,
  'Rules about the request as a whole; a caller they refuse gets 403.',
);

export type AuthorizationSettings = z.output<typeof authorizationSchema>;

export const authorizationFacts = {
  schema: authorizationSchema,
  on: ['listener', 'route'],
  notYetOn: ['backend'],
  about: 'caller',
  rules: 'self',
} as const satisfies PolicyFacts;
