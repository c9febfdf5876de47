import { networkOf } from './network.ts';

/** A limited thing that peers hold: a connection, a flow of datagrams. */
export interface Held {
  readonly remoteAddress: string;
  /** Since when nothing has been under way on it, by `Date.now()`; undefined while something is. */
  readonly idleSince: number | undefined;
}

/** Share of a limit above which the peers that hold most have to give way. */
const PRESSURE = 0.8;
/** Share of a limit that is looked for at a time, so that a look over all of them costs little for each new one. */
const BATCH = 0.01;

/** The share that was taken back. */
export interface LargestHolder<H> {
  readonly longestIdle: readonly H[];
  /** The holder of most, and its number. */
  readonly holder: string;
  readonly holds: number;
}

/**
 * Keeps a limit from being used up by one peer: above 80 % of it, the address that holds most loses what has been idle
 * for longest. There is no cap for one address, since a balancer is one address, too. Nobody loses its last one.
 */
export class FairShare<H extends Held> {
  private readonly all: () => Iterable<H>;
  /** New ones that may come before everything is looked at again. */
  private allowance = 0;

  /** @param all everything that counts against the limit */
  constructor(all: () => Iterable<H>) {
    this.all = all;
  }

  /**
   * A peer wants one more. The caller ends what this returns.
   * @param open how many there are
   * @param most how many there may be
   */
  makeRoom(open: number, most: number): LargestHolder<H> | undefined {
    if (open < PRESSURE * most) return undefined;
    if (this.allowance > 0) {
      this.allowance--;
      return undefined;
    }
    const batch = Math.max(1, Math.floor(BATCH * most));
    this.allowance = batch - 1;
    return longestIdleOfLargest(this.all(), batch);
  }
}

interface Share<H> {
  readonly holder: string;
  holds: number;
  readonly idle: H[];
}

/** Takes from the largest holders until they hold as little as the next ones, and so on, `count` at most. */
export function longestIdleOfLargest<H extends Held>(
  all: Iterable<H>,
  count: number,
): LargestHolder<H> | undefined {
  const shares = sharesOf(all);
  const spared = (level: number): number => {
    let sum = 0;
    for (const { holds, idle } of shares) sum += Math.max(0, Math.min(idle.length, holds - level));
    return sum;
  };
  // The highest level down to which the largest have to come; nobody comes below one.
  let low = 1;
  let high = shares.reduce((most, { holds }) => Math.max(most, holds), 1);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (spared(middle) >= count) low = middle;
    else high = middle - 1;
  }
  const longestIdle: H[] = [];
  shares.sort((a, b) => b.holds - a.holds);
  for (const { holds, idle } of shares) {
    const over = Math.min(holds - low, count - longestIdle.length);
    if (over <= 0) break;
    idle.sort((a, b) => (a.idleSince ?? 0) - (b.idleSince ?? 0));
    longestIdle.push(...idle.slice(0, over));
  }
  const [largest] = shares;
  if (largest === undefined || longestIdle.length === 0) return undefined;
  return { longestIdle, holder: largest.holder, holds: largest.holds };
}

function sharesOf<H extends Held>(all: Iterable<H>): Share<H>[] {
  const shares = new Map<string, Share<H>>();
  for (const one of all) {
    const holder = networkOf(one.remoteAddress);
    let share = shares.get(holder);
    if (share === undefined) {
      share = { holder, holds: 0, idle: [] };
      shares.set(holder, share);
    }
    share.holds++;
    if (one.idleSince !== undefined) share.idle.push(one);
  }
  return [...shares.values()];
}
