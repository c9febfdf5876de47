import { hash } from 'node:crypto';
import { compile, isProblem, type Members, type Program } from '../../cel/index.ts';
import type { ItemCall, McpItem } from '../../mcp/contract.ts';
import { contextFor } from '../attributes/context.ts';
import { countedAttributes, requestAttributes } from '../attributes/declared.ts';
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

/** Throws for a key that does not compile. */
function programOf(key: string, attributes: Members): Program {
  const program = compile(key, attributes);
  if (isProblem(program)) throw new Error(`localRateLimit.key: ${program.message}`);
  return program;
}

function keyOf({ key }: Limit): (exchange: Exchange) => string {
  if (key === undefined) return () => '';
  const program = programOf(key, requestAttributes);
  const context = contextFor([program]);
  return (exchange) => keyText(evaluate(program, context(exchange), exchange, 'localRateLimit.key'));
}

const kinds = ['tool', 'prompt', 'resource'] as const;

/** Finds the key of the bucket that a use of an item draws from; undefined where the limit does not count the use. */
export type CallKey = (exchange: Exchange, item: McpItem, call: ItemCall) => string | undefined;

/**
 * A key about tools does not count prompts, and one that comes to `null` counts nothing. A key that fails has the one
 * bucket of all failures: a client must gain nothing by it.
 * @throws Error for a key that does not compile
 */
export function callKeyOf({ key = '' }: Limit): CallKey {
  const program = programOf(key, countedAttributes);
  const context = contextFor([program]);
  const named = kinds.filter((kind) => program.uses(`mcp.${kind}`));
  return (exchange, item, { method, sessionId }) => {
    if (named.length > 0 && !named.includes(item.kind)) return undefined;
    const members = new Map([['methodName', method]]);
    if (sessionId !== undefined) members.set('sessionId', sessionId);
    const values = context(exchange, item, { arguments: new Map(), members, isOpen: false });
    const value = evaluate(program, values, exchange, 'localRateLimit.key');
    return value === null ? undefined : keyText(value);
  };
}

/** Requests without a key (a header that is not there) share one bucket, so that leaving it out gives nothing. */
function keyText(value: unknown): string {
  if (!['string', 'bigint', 'number', 'boolean'].includes(typeof value)) return '';
  const text = `${typeof value} ${String(value)}`;
  return text.length <= maxKeyLength ? text : hash('sha256', text, 'base64');
}
