import { oneOf } from '../fields/crdRules.ts';
import type { CrdRule } from '../policyFacts.ts';

/** Rules of the CRD for one authorization rule. */
export const ruleRules: readonly CrdRule[] = [
  oneOf('if', 'allow', 'deny', 'require'),
  { rule: '!has(self.action) || has(self.if)', message: 'action belongs to if' },
];
