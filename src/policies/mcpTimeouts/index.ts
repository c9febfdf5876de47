import { compile, isProblem } from '../../cel/index.ts';
import type { CallTime, ItemCall, McpItem } from '../../mcp/contract.ts';
import { kindsIn, valuesOf } from '../attributes/callKey.ts';
import { contextFor, withEveryKind } from '../attributes/context.ts';
import { countedAttributes } from '../attributes/declared.ts';
import { evaluate } from '../attributes/evaluate.ts';
import type { Exchange, Policy } from '../policy.ts';
import { mcpTimeoutsSchema, type McpTimeoutsSettings } from './facts.ts';

type Answer = 'matches' | 'fails' | undefined;
type Matches = (exchange: Exchange, item: McpItem, call: ItemCall) => Answer;

export const mcpTimeouts: Policy<McpTimeoutsSettings> = {
  schema: mcpTimeoutsSchema,
  prepare(entries) {
    const all = entries.map(({ if: source, timeout: ms }, index) => ({
      ms,
      matches: source === undefined ? always : matcher(source, index),
    }));
    return {
      mcpCallTime(exchange, item, call) {
        let atMostMs: number | undefined;
        let ms: number | undefined;
        for (const entry of all) {
          const answer = entry.matches(exchange, item, call);
          if (answer === undefined) continue;
          if (answer === 'matches') {
            ({ ms } = entry);
            break;
          }
          // A caller must gain nothing by a condition that fails.
          atMostMs = Math.min(atMostMs ?? entry.ms, entry.ms);
        }
        return ms === undefined && atMostMs === undefined ? undefined : callTime(ms, atMostMs);
      },
    };
  },
};

const callTime = (ms: number | undefined, atMostMs: number | undefined): CallTime => ({
  ...(ms === undefined ? {} : { ms }),
  ...(atMostMs === undefined ? {} : { atMostMs }),
});

const always: Matches = () => 'matches';

/** A condition about tools matches no prompt. @throws Error for a condition that does not compile */
function matcher(source: string, index: number): Matches {
  const program = compile(source, countedAttributes);
  if (isProblem(program)) throw new Error(`mcpTimeouts[${String(index)}].if: ${program.message}`);
  const context = contextFor([program]);
  const kinds = kindsIn(program);
  const at = { policy: 'mcpTimeouts', rule: source, place: `[${String(index)}].if` };
  return (exchange, item, call) => {
    if (kinds.length > 0 && !kinds.includes(item.kind)) return undefined;
    const known = valuesOf(call);
    let values = context(exchange, item, known);
    // A part about another kind of item must not decide: it sees empty names where it fails.
    if (kinds.length > 1 && program.run(values, exchange) instanceof Error)
      values = withEveryKind(values, item, known);
    const value = evaluate(program, values, exchange, 'mcpTimeouts.if', at);
    if (value === true) return 'matches';
    return value === false ? undefined : 'fails';
  };
}
