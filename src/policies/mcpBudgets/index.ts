import { GatewayError, NotEvaluated } from '../../errors.ts';
import { callKeyOf, keyText, type CallKey } from '../attributes/callKey.ts';
import { budgetHolderOf } from '../attributes/budgetHolder.ts';
import type { Policy } from '../policy.ts';
import { CallsInProgress } from './callsInProgress.ts';
import { mcpBudgetsSchema, type BudgetSettings, type McpBudgetsSettings } from './facts.ts';

/** Seconds that a client is asked to wait: calls end at any moment. */
const retryAfter = 1;

export const mcpBudgets: Policy<McpBudgetsSettings> = {
  schema: mcpBudgetsSchema,
  prepare(budgets, { place, callsInProgress = new CallsInProgress() }) {
    const all = budgets.map((budget, index) => ({
      keyOf: keyOf(budget),
      most: budget.maxConcurrentCalls,
      // Another key makes another budget; another limit does not.
      name: `${place}\n${String(index)}\n${budget.key ?? ''}`,
      index,
      rule: `${String(budget.maxConcurrentCalls)} calls at a time, ${budget.key === undefined ? 'each caller' : `key ${budget.key}`}`,
    }));
    const counted = `it counts: ${all.map(({ rule }) => rule).join('; ')}`;
    return {
      countMcpCall(exchange, item, call) {
        const entered: (() => void)[] = [];
        const leave = (): void => {
          for (const end of entered) end();
        };
        for (const { keyOf: find, most, name, index, rule } of all) {
          const key = find(exchange, item, call);
          if (key === undefined) continue;
          if (exchange.trial !== undefined) throw new NotEvaluated(counted);
          const end = callsInProgress.enter(name, key, most);
          if (end === undefined) {
            leave();
            throw new GatewayError('mcp_budget_full', {
              message: `too many calls are in progress: ${rule}`,
              retryAfter,
              by: { rule, place: `[${String(index)}]` },
            });
          }
          entered.push(end);
        }
        return leave;
      },
    };
  },
};

function keyOf({ key }: BudgetSettings): CallKey {
  if (key === undefined) return (exchange) => keyText(budgetHolderOf(exchange));
  return callKeyOf(key, 'mcpBudgets.key');
}
