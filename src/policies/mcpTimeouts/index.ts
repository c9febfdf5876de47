import type { CallTime, ItemCall, McpItem } from '../../mcp/contract.ts';
import { compiled } from '../attributes/compiled.ts';
import { contextOfUse, kindsIn, namesOf } from '../attributes/callKey.ts';
import { countedAttributes } from '../attributes/declared.ts';
import { evaluate } from '../attributes/evaluate.ts';
import type { Exchange, Policy, Steps } from '../policy.ts';
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
    const timeOf: NonNullable<Steps['mcpCallTime']> = (exchange, item, call) => {
      let atMostMs: number | undefined;
      for (const { ms, matches } of all) {
        const answer = matches(exchange, item, call);
        if (answer === 'matches') return callTime(ms, atMostMs);
        // A caller must gain nothing by a condition that fails.
        if (answer === 'fails') atMostMs = Math.min(atMostMs ?? ms, ms);
      }
      return atMostMs === undefined ? undefined : { atMostMs };
    };
    const leastMs = Math.min(...all.map(({ ms }) => ms));
    return {
      mcpCallTime(exchange, item, call) {
        const names = namesOf(item, call);
        if (names === undefined) return { atMostMs: leastMs };
        return least(names.map((name) => timeOf(exchange, { ...item, name }, call)));
      },
    };
  },
};

const callTime = (ms: number, atMostMs: number | undefined): CallTime => ({
  ms,
  ...(atMostMs === undefined ? {} : { atMostMs }),
});

/** The least time of the readings of a name: another spelling must give a caller no more. */
function least(times: readonly (CallTime | undefined)[]): CallTime | undefined {
  const [only] = times;
  if (times.length === 1) return only;
  const limits = times.flatMap((time) => [time?.ms, time?.atMostMs]).filter((ms) => ms !== undefined);
  if (limits.length === 0) return undefined;
  const atMostMs = Math.min(...limits);
  // A reading that matches no entry has the time of the settings, which may be less.
  return times.every((time) => time?.ms !== undefined) ? { ms: atMostMs } : { atMostMs };
}

const always: Matches = () => 'matches';

/** A condition about tools matches no prompt. @throws Error for a condition that does not compile */
function matcher(source: string, index: number): Matches {
  const program = compiled(source, countedAttributes, `mcpTimeouts[${String(index)}].if`);
  const context = contextOfUse(program);
  const kinds = kindsIn(program);
  const at = { policy: 'mcpTimeouts', rule: source, place: `[${String(index)}].if` };
  return (exchange, item, call) => {
    if (kinds.length > 0 && !kinds.includes(item.kind)) return undefined;
    const value = evaluate(program, context(exchange, item, call), exchange, 'mcpTimeouts.if', at);
    if (value === true) return 'matches';
    return value === false ? undefined : 'fails';
  };
}
