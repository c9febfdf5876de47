import type { DecidedBy } from '../../errors.ts';

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
  private readonly counts = new Map<string, number>();

  /** Keys with calls in progress. */
  get size(): number {
    return this.counts.size;
  }

  enter(budget: string, key: string, { most }: Pick<CallLimit, 'most'>): CallEnd | undefined {
    const name = `${budget}\n${key}`;
    const before = this.counts.get(name) ?? 0;
    if (before >= most) return undefined;
    this.counts.set(name, before + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const left = (this.counts.get(name) ?? 1) - 1;
      if (left === 0) this.counts.delete(name);
      else this.counts.set(name, left);
    };
  }
}
