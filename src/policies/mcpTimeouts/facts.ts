import { z } from 'zod';
import { countedAttributes } from '../attributes/declared.ts';
import { duration } from '../fields/duration.ts';
import { condition } from '../fields/expression.ts';
import type { PolicyFacts } from '../policyFacts.ts';

const entry = z.strictObject({
  if: condition(
    countedAttributes,
    'CEL condition over the caller and the item; the entry applies to all calls where it is left out.',
  ).optional(),
  timeout: duration('The time that a call may take without progress.'),
});

export const mcpTimeoutsSchema = z
  .array(entry)
  .min(1)
  .max(64)
  .superRefine((entries, ctx) => {
    const last = entries.findIndex((one) => one.if === undefined);
    if (last !== -1 && last < entries.length - 1)
      ctx.addIssue({
        code: 'custom',
        message: 'has no effect: the entry before it has no condition, and the first match counts',
        path: [last + 1],
      });
  })
  .meta({
    description:
      'Limits the time of MCP calls for each caller, tool or target; the first entry that matches counts.',
  });

export type McpTimeoutsSettings = z.output<typeof mcpTimeoutsSchema>;

export const mcpTimeoutsFacts = {
  schema: mcpTimeoutsSchema,
  forMcpOnly: () => 'mcpTimeouts',
  on: ['route'],
  about: 'request',
} as const satisfies PolicyFacts;
