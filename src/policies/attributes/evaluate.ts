import { celLimits, WorkSpent, type CelContext, type Program } from '../../cel/index.ts';
import type { Exchange } from '../policy.ts';

/** Units of work that all expressions of one request may take together. */
export const expressionWork: number = celLimits.work;

/**
 * Runs a program on the budget of work that all expressions of a request share. The access log names the expression
 * that spent the rest of it.
 * @param what names the expression to the operator
 */
export function evaluate(program: Program, context: CelContext, exchange: Exchange, what: string): unknown {
  const value = program.run(context, exchange);
  if (value instanceof WorkSpent && value.first)
    exchange.request.annotate('expressionLimit', `${what}: ${value.message}`);
  return value;
}
