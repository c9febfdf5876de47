/** Rules of the CRD in CEL, for what the schemas of the policies say by code; what they miss, the controller tells. */
import { factsOf, mcpRuleRules, oneOf, ruleRules, type CrdRule } from '../../src/policies/facts.ts';
import { crdRules } from '../../src/schema/index.ts';

type Schema = Readonly<Record<string, unknown>>;

/** By path from the policy, of the facts of each policy. */
function rulesAt([policy = '', ...path]: readonly string[], fields: string): readonly CrdRule[] {
  const { rules, crdRules: own = {} } = factsOf(policy) ?? {};
  const at = path.join('.');
  const set = rules === 'self' ? 'rules.*' : rules === undefined ? undefined : `${rules.member}.rules.*`;
  const ofRule = fields.includes('requireScopes') ? mcpRuleRules : ruleRules;
  return [...(at === set ? ofRule : []), ...(own[at] ?? [])];
}

/** By the fields that stand together, wherever they do. */
const byFields: Readonly<Record<string, readonly CrdRule[]>> = {
  'header,cookie': [oneOf('header', 'cookie')],
  'header,cookie,queryParameter': [oneOf('header', 'cookie', 'queryParameter')],
  'expression,header,cookie,queryParameter': [oneOf('expression', 'header', 'cookie', 'queryParameter')],
  'full,prefix': [oneOf('full', 'prefix')],
  'full,host,port': [oneOf('full', 'host', 'port')],
};

/** The additional rules for a place. */
export function settingsRules(path: readonly string[], schema: Schema): Schema {
  const fields = Object.keys((schema['properties'] as object | undefined) ?? {}).join();
  const all = [...rulesAt(path, fields), ...(byFields[fields] ?? [])];
  return all.length === 0 ? {} : crdRules(...all);
}
