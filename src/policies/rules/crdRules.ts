import { oneOf } from '../fields/crdRules.ts';
import type { CrdRule } from '../policyFacts.ts';

const actionOfIf: CrdRule = { rule: '!has(self.action) || has(self.if)', message: 'action belongs to if' };

/** Rules of the CRD for one authorization rule. */
export const ruleRules: readonly CrdRule[] = [oneOf('if', 'allow', 'deny', 'require'), actionOfIf];

/** The same for a rule about MCP, which may require scopes. */
export const mcpRuleRules: readonly CrdRule[] = [
  {
    rule: '[has(self.if), has(self.allow), has(self.deny), has(self.require)].filter(x, x).size() == (has(self.requireScopes) && !has(self.if) ? 0 : 1)',
    message: 'exactly one of if, allow, deny, require is needed, or requireScopes alone or beside if',
  },
  {
    rule: '!has(self.requireScopes) || !(has(self.action) || has(self.message))',
    message: 'requireScopes stands without action and message',
  },
  actionOfIf,
];
