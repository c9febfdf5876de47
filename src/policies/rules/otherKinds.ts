import { unknownValue, type CelContext } from '../../cel/index.ts';
import type { McpItem } from '../../mcp/contract.ts';
import { withEveryKind, withUnknownItem, type CallValues } from '../attributes/context.ts';

/**
 * The value of a rule that failed for an item, where a failure counts as true. A deny that names a tool has nothing to
 * say about a prompt: it must not hide all prompts because `mcp.tool` is not there. With every kind present only real
 * failures are left. A rule that is then true says nothing about the item only where the empty names alone made it true.
 */
export function valueOfFailed(
  run: (context: CelContext) => unknown,
  context: CelContext,
  item: McpItem,
  call: CallValues | undefined,
): unknown {
  const everyKind = withEveryKind(context, item, call);
  const value = run(everyKind);
  if (value instanceof Error || value === false || value === unknownValue) return value;
  return run(withUnknownItem(everyKind, item)) === value ? false : value;
}
