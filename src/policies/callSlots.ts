import type { Exchange, PolicyTools } from './policy.ts';

/** Calls in progress of one server. A tenant of a cluster may have written server, policy and clients. */
const most = { operator: Number.POSITIVE_INFINITY, tenant: 64 } as const;

/** Counts the calls of a server that are in progress: each may hold an answer in memory. */
export class CallSlots {
  private readonly most: number;
  private taken = 0;

  constructor({ guarded }: Pick<PolicyTools, 'guarded'>) {
    this.most = guarded === true ? most.tenant : most.operator;
  }

  /**
   * @param during the exchange that waits for the answer
   * @returns gives the slot back; the end of the exchange does so, too
   * @throws Error where no slot is left
   */
  take(during: Pick<Exchange, 'onClose'>): () => void {
    if (this.taken >= this.most) throw new Error(`${this.most} checks are in progress`);
    this.taken++;
    let isCounted = true;
    const giveBack = (): void => {
      if (isCounted) this.taken--;
      isCounted = false;
    };
    // The call of an exchange that ends first has no result, not even a failure.
    during.onClose(giveBack);
    return giveBack;
  }
}
