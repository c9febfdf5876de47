import type { z } from 'zod';
import { itemAttributes } from '../attributes/declared.ts';
import { ruleSetSchema } from '../rules/schema.ts';

export const mcpAuthorizationSchema = ruleSetSchema(
  itemAttributes,
  'Rules about tools, prompts and resources: what they refuse is hidden. Without any mcp.* they judge the request.',
);

export type McpAuthorizationSettings = z.output<typeof mcpAuthorizationSchema>;
