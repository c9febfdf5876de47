import { requestAttributes } from '../attributes/declared.ts';
import type { Policy } from '../policy.ts';
import { prepareRules } from '../rules/ruleSet.ts';
import { ruleSteps } from '../rules/steps.ts';
import { authorizationSchema, type AuthorizationSettings } from './facts.ts';

export const authorization: Policy<AuthorizationSettings> = {
  schema: authorizationSchema,
  prepare: (settings) => ruleSteps(prepareRules(settings, requestAttributes, 'authorization')),
};
