import type { z } from 'zod';
import { mcpRuleSetSchema } from '../rules/schema.ts';
import type { PolicyFacts } from '../policyFacts.ts';

export const mcpAuthorizationSchema = mcpRuleSetSchema(
  'Rules about tools, prompts and resources: what they refuse is hidden. Without any mcp.* they judge the request.',
);

export type McpAuthorizationSettings = z.output<typeof mcpAuthorizationSchema>;

export const mcpAuthorizationFacts = {
  schema: mcpAuthorizationSchema,
  on: ['route', 'mcpBackend'],
  about: 'caller',
  rules: 'self',
} as const satisfies PolicyFacts;
