import { compile, isProblem } from '../../cel/index.ts';
import { itemAttributes } from '../attributes/declared.ts';
import { isCallTime } from './callTime.ts';
import type { Rule } from './schema.ts';

/** The things that a rule of a set about MCP decides. */
export interface RuleDecision {
  /** The place of the rule below its policy, and its name if it has one, such as `rules[0] (no secrets)`. */
  readonly rule: string;
  readonly decides: 'lists and calls' | 'calls' | 'whole requests';
  /** The variables of a call that it reads. */
  readonly reads: readonly string[];
  /** The scopes that it requires. */
  readonly scopes: readonly string[];
}

const ofCalls = ['mcp.tool.arguments', 'mcp.methodName', 'mcp.sessionId', 'mcp.task'];

/** Says of each rule what it decides; none where no rule of the set is about items. */
export function ruleDecisions(list: string, rules: readonly Rule[]): readonly RuleDecision[] {
  const decisions = rules.flatMap(({ expression, name, scopes = [] }, index): RuleDecision[] => {
    const program = compile(expression, itemAttributes);
    if (isProblem(program)) return [];
    const rule = `${list}[${index}]${name === undefined ? '' : ` (${name})`}`;
    const reads = ofCalls.filter((variable) => program.uses(variable));
    const isOfCalls = isCallTime(program) || scopes.length > 0;
    const decides = !program.uses('mcp') ? 'whole requests' : isOfCalls ? 'calls' : 'lists and calls';
    return [{ rule, decides, reads, scopes }];
  });
  return decisions.every(({ decides }) => decides === 'whole requests') ? [] : decisions;
}
