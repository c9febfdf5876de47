import { compile, isProblem } from '../../cel/index.ts';
import { keyText } from '../attributes/callKey.ts';
import { contextFor } from '../attributes/context.ts';
import { requestAttributes } from '../attributes/declared.ts';
import { evaluate } from '../attributes/evaluate.ts';
import type { Exchange } from '../policy.ts';
import type { Limit } from './facts.ts';

/**
 * Finds the key of the bucket that a request draws from, for each limit.
 * @throws Error for a key that does not compile
 */
export function keysOf(limits: readonly Limit[]): (exchange: Exchange) => readonly string[] {
  const all = limits.map(keyOf);
  if (limits.every(({ key }) => key === undefined)) {
    const none = limits.map(() => '');
    return () => none;
  }
  return (exchange) => all.map((key) => key(exchange));
}

function keyOf({ key }: Limit): (exchange: Exchange) => string {
  if (key === undefined) return () => '';
  const program = compile(key, requestAttributes);
  if (isProblem(program)) throw new Error(`localRateLimit.key: ${program.message}`);
  const context = contextFor([program]);
  return (exchange) => keyText(evaluate(program, context(exchange), exchange, 'localRateLimit.key'));
}
