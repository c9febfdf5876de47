import { compiled } from '../attributes/compiled.ts';
import { keyText } from '../attributes/callKey.ts';
import { contextFor } from '../attributes/context.ts';
import { requestAttributes } from '../attributes/declared.ts';
import { evaluate } from '../attributes/evaluate.ts';
import type { Exchange } from '../policy.ts';
import type { Limit } from './facts.ts';

/** A limit with its place in the list of the policy. */
export interface NumberedLimit {
  readonly limit: Limit;
  readonly index: number;
}

/**
 * Finds the key of the bucket that a request draws from, for each limit.
 * @throws Error for a key that does not compile
 */
export function keysOf(limits: readonly NumberedLimit[]): (exchange: Exchange) => readonly string[] {
  const all = limits.map(keyOf);
  if (limits.every(({ limit }) => limit.key === undefined)) {
    const none = limits.map(() => '');
    return () => none;
  }
  return (exchange) => all.map((key) => key(exchange));
}

function keyOf({ limit: { key }, index }: NumberedLimit): (exchange: Exchange) => string {
  if (key === undefined) return () => '';
  const what = `localRateLimit[${index}].key`;
  const program = compiled(key, requestAttributes, what);
  const context = contextFor([program]);
  return (exchange) => keyText(evaluate(program, context(exchange), exchange, what));
}
