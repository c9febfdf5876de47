import type { Limits } from '../../model/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { Budget } from './budget.ts';
import type { Caller } from '../contract.ts';

/** Everything that MCP clients use up, a budget for each. */
export interface Budgets {
  readonly sessions: Budget;
  readonly children: Budget;
  readonly calls: Budget;
  readonly streams: Budget;
}

/**
 * Calls and streams hold requests and connections of the whole gateway. Together they get this share of both, so that
 * HTTP routes go on when MCP has no room left.
 */
const mcpShare = 0.75;

export function createBudgets(limits: () => Limits, log: Logger): Budgets {
  const sessions = new Budget(
    {
      what: 'MCP sessions',
      total: () => limits().maxMcpSessions,
      totalName: 'maxMcpSessions',
      each: () => limits().maxMcpSessionsPerPrincipal,
      eachName: 'maxMcpSessionsPerPrincipal',
    },
    log,
  );
  const children = new Budget(
    {
      what: 'MCP server processes',
      total: () => limits().maxChildren,
      totalName: 'maxChildren',
      each: () => limits().maxChildrenPerPrincipal,
      eachName: 'maxChildrenPerPrincipal',
    },
    log,
  );
  /** The rest of the share after the other budget has taken its part. */
  const shared = (other: () => Budget): number => {
    const { maxRequests, maxConnections } = limits();
    return Math.max(1, Math.floor(mcpShare * Math.min(maxRequests, maxConnections)) - other().total);
  };
  const calls: Budget = new Budget(
    {
      what: 'MCP calls under way',
      total: () =>
        Math.min(
          limits().maxMcpCalls,
          shared(() => streams),
        ),
      totalName: 'maxMcpCalls',
      each: () => limits().maxMcpCallsPerPrincipal,
      eachName: 'maxMcpCallsPerPrincipal',
    },
    log,
  );
  const streams: Budget = new Budget(
    {
      what: 'MCP event streams',
      total: () =>
        Math.min(
          limits().maxMcpStreams,
          shared(() => calls),
        ),
      totalName: 'maxMcpStreams',
      each: () => limits().maxMcpStreamsPerPrincipal,
      eachName: 'maxMcpStreamsPerPrincipal',
    },
    log,
  );
  return { sessions, children, calls, streams };
}

/** The holder whose budgets a caller uses. */
export function holderOf({ holder, principal }: Caller): string {
  return holder ?? principal ?? 'unknown';
}
