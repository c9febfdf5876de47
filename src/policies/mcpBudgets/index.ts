import { GatewayError, NotEvaluated } from '../../errors.ts';
import { callKeysOf, keyText, type CallKeys } from '../attributes/callKey.ts';
import { budgetHolderOf } from '../attributes/budgetHolder.ts';
import type { Policy } from '../policy.ts';
import { CallsInProgress, retryAfter, type CallEnd, type CallLimit } from './callsInProgress.ts';
import { mcpBudgetsSchema, type BudgetSettings, type McpBudgetsSettings } from './facts.ts';

export const mcpBudgets: Policy<McpBudgetsSettings> = {
  schema: mcpBudgetsSchema,
  prepare(budgets, { place, callsInProgress = new CallsInProgress(), globalCalls }) {
    const all = budgets.map((budget, index) => {
      const counter = budget.scope === 'global' ? globalCalls : callsInProgress;
      if (counter === undefined) throw new Error('mcpBudgets: scope: global needs config.store');
      return {
        keysOf: keysOf(budget),
        counter,
        limit: {
          most: budget.maxConcurrentCalls,
          failsClosed: budget.failureMode === 'failClosed',
          by: { rule: ruleOf(budget), place: `[${String(index)}]` },
        },
        // Another key makes another budget; another limit does not.
        name: `${place}\n${String(index)}\n${budget.key ?? ''}`,
      };
    });
    const counted = `it counts: ${all.map(({ limit }) => limit.by.rule).join('; ')}`;
    return {
      async countMcpCall(exchange, item, call) {
        const entered: CallEnd[] = [];
        const leave = (): void => {
          for (const end of entered) end();
        };
        try {
          for (const { keysOf: find, counter, limit, name } of all)
            for (const key of find(exchange, item, call)) {
              if (exchange.trial !== undefined) throw new NotEvaluated(counted);
              entered.push((await counter.enter(name, key, limit)) ?? refuse(limit));
            }
        } catch (error) {
          leave();
          throw error;
        }
        return leave;
      },
    };
  },
};

/** @throws GatewayError */
function refuse({ by }: CallLimit): never {
  const message = `too many calls are in progress: ${by.rule ?? ''}`;
  throw new GatewayError('mcp_budget_full', { message, retryAfter, by });
}

/** The rule of a budget as the log names it. */
const ruleOf = ({ maxConcurrentCalls, key, scope }: BudgetSettings): string =>
  `${String(maxConcurrentCalls)} calls at a time, ${key === undefined ? 'each caller' : `key ${key}`}${scope === undefined ? '' : `, scope ${scope}`}`;

function keysOf({ key }: BudgetSettings): CallKeys {
  if (key === undefined) return (exchange) => [keyText(budgetHolderOf(exchange))];
  return callKeysOf(key, 'mcpBudgets.key');
}
