import { compile, isProblem } from '../../cel/index.ts';
import { itemAttributes } from '../attributes/declared.ts';
import { isCallTime } from './callTime.ts';
import type { Rule } from './schema.ts';

/** A rule of a set, and the things that it decides. */
export interface RuleDecision {
  /** The place of the rule below its policy, and its name if it has one, such as `rules[0] (no secrets)`. */
  readonly rule: string;
  /** Its place below the policy, such as `.rules[0]`. */
  readonly below: string;
  readonly name?: string;
  readonly effect: Rule['effect'];
  readonly expression: string;
  readonly decides: 'lists and calls' | 'calls' | 'whole requests';
  /** The variables of a call that it reads. */
  readonly reads: readonly string[];
  /** The scopes that it requires. */
  readonly scopes: readonly string[];
}

const ofCalls = ['mcp.tool.arguments', 'mcp.methodName', 'mcp.sessionId', 'mcp.task'];

/** Says of each rule what it decides. */
export function ruleDecisions(policy: string, list: string, rules: readonly Rule[]): readonly RuleDecision[] {
  return rules.flatMap(({ effect, expression, name, scopes = [] }, index): RuleDecision[] => {
    const program = compile(expression, itemAttributes);
    if (isProblem(program)) return [];
    const below = `${list}[${index}]`;
    const rule = `${policy}${below}${name === undefined ? '' : ` (${name})`}`;
    const reads = ofCalls.filter((variable) => program.uses(variable));
    const isOfCalls = isCallTime(program) || scopes.length > 0;
    const decides = !program.uses('mcp') ? 'whole requests' : isOfCalls ? 'calls' : 'lists and calls';
    return [
      { rule, below, ...(name === undefined ? {} : { name }), effect, expression, decides, reads, scopes },
    ];
  });
}
