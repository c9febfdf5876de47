import { compiled } from '../attributes/compiled.ts';
import { contextFor } from '../attributes/context.ts';
import { requestAttributes } from '../attributes/declared.ts';
import { evaluate } from '../attributes/evaluate.ts';
import type { Exchange } from '../policy.ts';

/** The key that tells requests apart; undefined if there is none, and the request may go anywhere. */
export type AffinityKey = (exchange: Exchange) => string | Uint8Array | undefined;

/** @throws Error for an expression that does not compile */
export function affinityKey(source: string): AffinityKey {
  const program = compiled(source, requestAttributes, 'sessionAffinity.source');
  const context = contextFor([program]);
  return (exchange) => {
    const value = evaluate(program, context(exchange), exchange, 'sessionAffinity.source');
    if (typeof value !== 'string' && !(value instanceof Uint8Array)) return undefined;
    return value.length === 0 ? undefined : value;
  };
}
