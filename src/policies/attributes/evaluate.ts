import { celLimits, WorkSpent, type CelContext, type Program } from '../../cel/index.ts';
import type { DecidedBy } from '../../errors.ts';
import type { Exchange } from '../policy.ts';
import { failureReason } from './failureReason.ts';

/** Units of work that all expressions of one request may take together. */
export const expressionWork: number = celLimits.work;

/**
 * Runs a program on the budget of work that all expressions of a request share. The access log names the expression
 * that spent the rest of it.
 * @param what names the expression to the operator
 * @param at the place of a rule below its policy
 */
export function evaluate(
  program: Program,
  context: CelContext,
  exchange: Exchange,
  what: string,
  at?: DecidedBy,
): unknown {
  const value = program.run(context, exchange);
  if (value instanceof WorkSpent && value.first)
    exchange.request.annotate('expressionLimit', `${what}: ${value.message}`);
  if (value instanceof Error && exchange.expressionFailed !== undefined && !isAboutOther(value, program))
    exchange.expressionFailed(at ?? byName(what), failureReason(value.message, program.source));
  return value;
}

/**
 * An item is a tool, a prompt, a resource or a task: rules about the other kinds have nothing to judge, so `mcp.tool` has
 * no value for a prompt.
 */
function isAboutOther({ message }: Error, { source }: Program): boolean {
  if (message === 'mcp has no value here') return true;
  const [, field] = /^field not found: (\w+)$/.exec(message) ?? [];
  return field !== undefined && source.includes(`mcp.${field}`);
}

/** The policy and the setting that a name such as `delay` or `localRateLimit[0].key` stands for. */
function byName(what: string): DecidedBy {
  const [policy = what] = what.split(/[.[]/);
  return { policy, rule: what, place: what.slice(policy.length) };
}
