import type { z } from 'zod';
import { itemAttributes } from '../attributes/declared.ts';
import { ruleSetSchema } from '../rules/schema.ts';
import type { PolicyFacts } from '../policyFacts.ts';

export const mcpAuthorizationSchema = ruleSetSchema(
  itemAttributes,
  'Rules about tools, prompts and resources: what they refuse is hidden. Without any mcp.* they judge the request.',
);

export type McpAuthorizationSettings = z.output<typeof mcpAuthorizationSchema>;

export const mcpAuthorizationFacts = {
  schema: mcpAuthorizationSchema,
  on: ['route'],
  notYetOn: ['backend'],
  about: 'caller',
  rules: 'self',
} as const satisfies PolicyFacts;
