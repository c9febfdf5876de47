import type { DecidedBy } from '../../errors.ts';
import { KeyedCounts } from '../keyedCounts.ts';

/** Seconds that a refused client is asked to wait: calls end at any moment. */
export const retryAfter = 1;

/** Ends a call that was counted, once. */
export type CallEnd = () => void;

export interface CallLimit {
  /** Calls of one key that may be in progress. */
  readonly most: number;
  /** Refuses calls while the counter cannot be asked; otherwise each process counts by itself then. */
  readonly failsClosed: boolean;
  /** The rule that refuses a call. */
  readonly by: DecidedBy;
}

/** Counts the calls in progress by budget and key. */
export interface CallCounter {
  /**
   * @param budget names the budget: the same in all replicas, and after a reload
   * @returns undefined where the key has no room
   * @throws GatewayError mcp_budget_unavailable
   */
  enter(budget: string, key: string, limit: CallLimit): CallEnd | undefined | Promise<CallEnd | undefined>;
}

/** Counts for one process: the counts survive a reload of the configuration. */
export class CallsInProgress implements CallCounter {
  private readonly counts = new KeyedCounts();

  /** Keys with calls in progress. */
  get size(): number {
    return this.counts.size;
  }

  enter(budget: string, key: string, { most }: Pick<CallLimit, 'most'>): CallEnd | undefined {
    const name = `${budget}\n${key}`;
    if (this.counts.of(name) >= most) return undefined;
    this.counts.add(name);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.counts.subtract(name);
    };
  }
}
