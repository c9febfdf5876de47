import { hash } from 'node:crypto';
import { compile, isProblem } from '../../cel/index.ts';
import type { ItemCall, McpItem } from '../../mcp/contract.ts';
import type { Exchange } from '../policy.ts';
import { contextFor } from './context.ts';
import { countedAttributes } from './declared.ts';
import { evaluate } from './evaluate.ts';

/** Longer keys are kept as their digest: what a client sends must not decide how much memory a key takes. */
const maxKeyLength = 64;

const kinds = ['tool', 'prompt', 'resource'] as const;

/** Finds the key that a use of an item counts under; undefined where it is not counted. */
export type CallKey = (exchange: Exchange, item: McpItem, call: ItemCall) => string | undefined;

/**
 * A key about tools does not count prompts, and one that comes to `null` counts nothing. A key that fails has the one
 * count of all failures: a client must gain nothing by it.
 * @param what names the expression to the operator
 * @throws Error for a key that does not compile
 */
export function callKeyOf(key: string, what: string): CallKey {
  const program = compile(key, countedAttributes);
  if (isProblem(program)) throw new Error(`${what}: ${program.message}`);
  const context = contextFor([program]);
  const named = kinds.filter((kind) => program.uses(`mcp.${kind}`));
  return (exchange, item, { method, sessionId }) => {
    if (named.length > 0 && !named.includes(item.kind)) return undefined;
    const members = new Map([['methodName', method]]);
    if (sessionId !== undefined) members.set('sessionId', sessionId);
    const values = context(exchange, item, { arguments: new Map(), members, isOpen: false });
    const value = evaluate(program, values, exchange, what);
    return value === null ? undefined : keyText(value);
  };
}

/** Requests without a key (a header that is not there) share one bucket, so that leaving it out gives nothing. */
export function keyText(value: unknown): string {
  if (!['string', 'bigint', 'number', 'boolean'].includes(typeof value)) return '';
  const text = `${typeof value} ${String(value)}`;
  return text.length <= maxKeyLength ? text : hash('sha256', text, 'base64');
}
