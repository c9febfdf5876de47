import { hash } from 'node:crypto';
import type { CelContext, Program } from '../../cel/index.ts';
import type { ItemCall, McpItem } from '../../mcp/contract.ts';
import type { Exchange } from '../policy.ts';
import { compiled } from './compiled.ts';
import { contextFor, withEveryKind, type CallValues } from './context.ts';
import { countedAttributes } from './declared.ts';
import { evaluate } from './evaluate.ts';

/** Longer keys are kept as their digest: what a client sends must not decide how much memory a key takes. */
const maxKeyLength = 64;

const kinds = ['tool', 'prompt', 'resource'] as const;

/** Finds the keys that a use of an item counts under; none where it is not counted. */
export type CallKeys = (exchange: Exchange, item: McpItem, call: ItemCall) => Iterable<string>;

/** All failures have one count: a client must gain nothing by them. */
const keyOfFailures = '';

/** Every name of the item that its server may read; undefined where there are too many to look at. */
export const namesOf = ({ name }: McpItem, { readNames }: ItemCall): readonly string[] | undefined =>
  readNames === undefined ? [name] : readNames();

/**
 * A key about tools does not count prompts, and one that comes to `null` counts nothing. A use counts for each reading
 * of its name, because another spelling of the name must give a client no count of its own.
 * @param what names the expression to the operator
 * @throws Error for a key that does not compile
 */
export function callKeysOf(key: string, what: string): CallKeys {
  const program = compiled(key, countedAttributes, what);
  const context = contextOfUse(program);
  const named = kindsIn(program);
  return (exchange, item, call) => {
    const keys = new Set<string>();
    if (named.length > 0 && !named.includes(item.kind)) return keys;
    const names = namesOf(item, call);
    if (names === undefined) return keys.add(keyOfFailures);
    for (const name of names) {
      const value = evaluate(program, context(exchange, { ...item, name }, call), exchange, what);
      if (value !== null) keys.add(keyText(value));
    }
    return keys;
  };
}

/** The kinds of items that an expression reads; empty for one about all calls. */
export const kindsIn = (program: Program): readonly McpItem['kind'][] =>
  kinds.filter((kind) => program.uses(`mcp.${kind}`));

/**
 * Makes what an expression about uses sees. A part about another kind of item must not decide: it sees empty names where
 * it fails.
 */
export function contextOfUse(
  program: Program,
): (exchange: Exchange, item: McpItem, call: ItemCall) => CelContext {
  const context = contextFor([program]);
  const readsSeveral = kindsIn(program).length > 1;
  return (exchange, item, call) => {
    const known = valuesOf(call);
    const values = context(exchange, item, known);
    const fails = readsSeveral && program.run(values, exchange) instanceof Error;
    return fails ? withEveryKind(values, item, known) : values;
  };
}

/** The values of a use that do not depend on its arguments. */
function valuesOf({ method, sessionId }: ItemCall): CallValues {
  const members = new Map([['methodName', method]]);
  if (sessionId !== undefined) members.set('sessionId', sessionId);
  return { arguments: new Map(), members, isOpen: false };
}

/** Requests without a key (a header that is not there) share one bucket, so that leaving it out gives nothing. */
export function keyText(value: unknown): string {
  if (!['string', 'bigint', 'number', 'boolean'].includes(typeof value)) return keyOfFailures;
  const text = `${typeof value} ${String(value)}`;
  return text.length <= maxKeyLength ? text : hash('sha256', text, 'base64');
}
