import { hash } from 'node:crypto';
import { compile, isProblem } from '../../cel/index.ts';
import { contextFor } from '../attributes/context.ts';
import { requestAttributes } from '../attributes/declared.ts';
import { evaluate } from '../attributes/evaluate.ts';
import type { Exchange } from '../policy.ts';
import type { Limit } from './facts.ts';

/** Longer keys are kept as their digest: what a client sends must not decide how much memory a bucket takes. */
const maxKeyLength = 64;

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

/** Requests without a key (a header that is not there) share one bucket, so that leaving it out gives nothing. */
function keyText(value: unknown): string {
  if (!['string', 'bigint', 'number', 'boolean'].includes(typeof value)) return '';
  const text = `${typeof value} ${String(value)}`;
  return text.length <= maxKeyLength ? text : hash('sha256', text, 'base64');
}
