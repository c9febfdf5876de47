import { z } from 'zod';
import { countedAttributes } from '../attributes/declared.ts';
import { expression } from '../fields/expression.ts';
import { sharedCount, unusualOf } from '../fields/sharedCount.ts';
import type { PolicyFacts } from '../policyFacts.ts';

const budget = z
  .strictObject({
    maxConcurrentCalls: z.int().min(1).max(1_000_000).meta({
      description: 'Uses of tools, prompts and resources that may be in progress at a time.',
    }),
    key: expression(
      countedAttributes,
      'CEL expression; each value has a budget of its own. Each caller has one where this is left out.',
    ).optional(),
    ...sharedCount('calls', 'each process by itself: one gateway, or one of its workers'),
  })
  .transform(({ scope, failureMode, ...rest }, ctx) => ({
    ...rest,
    ...unusualOf({ scope, failureMode }, ctx),
  }));

export const mcpBudgetsSchema = z
  .array(budget)
  .min(1)
  .max(16)
  .meta({ description: 'Limits how many calls of MCP clients are in progress at a time.' });

export type McpBudgetsSettings = z.output<typeof mcpBudgetsSchema>;
export type BudgetSettings = McpBudgetsSettings[number];

export const mcpBudgetsFacts = {
  schema: mcpBudgetsSchema,
  forMcpOnly: () => 'mcpBudgets',
  on: ['route'],
  about: 'request',
  sharesState: { field: 'scope', value: 'global' },
} as const satisfies PolicyFacts;
