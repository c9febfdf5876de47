import { itemAttributes } from '../attributes/declared.ts';
import type { Policy } from '../policy.ts';
import { prepareRules } from '../rules/ruleSet.ts';
import { ruleSteps } from '../rules/steps.ts';
import { mcpAuthorizationSchema, type McpAuthorizationSettings } from './facts.ts';

export const mcpAuthorization: Policy<McpAuthorizationSettings> = {
  schema: mcpAuthorizationSchema,
  prepare: (settings) => ruleSteps(prepareRules(settings, itemAttributes, 'mcpAuthorization')),
};
