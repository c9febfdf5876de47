import { compile, isProblem } from '../../cel/index.ts';
import { contextFor } from '../attributes/context.ts';
import { requestAttributes } from '../attributes/declared.ts';
import { evaluate } from '../attributes/evaluate.ts';
import type { Exchange } from '../policy.ts';

/**
 * Runs an expression that comes to a text; undefined where it fails or comes to something else.
 * @param what names the expression in the log
 * @throws Error for an expression that does not compile
 */
export function textReader(expression: string, what: string): (exchange: Exchange) => string | undefined {
  const program = compile(expression, requestAttributes);
  if (isProblem(program)) throw new Error(`${what}: ${program.message}`);
  const context = contextFor([program]);
  return (exchange) => {
    const value = evaluate(program, context(exchange), exchange, what);
    if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
    return typeof value === 'string' ? value : undefined;
  };
}
