import { GatewayError } from '../../errors.ts';
import { ThrottledLog, type Logger } from '../../telemetry/index.ts';

/** The limit that leaves no room: that of the principal, or that of the process. */
export type ExceededLimit = 'each' | 'total';

/** The limits of one resource. They are read whenever they apply, so that a reload takes effect at once. */
export interface BudgetLimits {
  /** The counted resource, for messages: `MCP sessions`. */
  readonly what: string;
  readonly total: () => number;
  readonly totalName: string;
  readonly each: () => number;
  readonly eachName: string;
}

/** Seconds a client is asked to wait when there is no room. */
const retryAfter = 5;

/** The share of a resource that a holder has. */
export class Tally {
  readonly holder: string;
  count = 0;
  private readonly budget: Budget;

  constructor(budget: Budget, holder: string) {
    this.budget = budget;
    this.holder = holder;
  }

  leave(): void {
    this.budget.leave(this);
  }
}

/**
 * A resource that clients use up: how much each holder has of it, and the limits on one holder and on all of them. A
 * holder is a principal, or the network of a client without one.
 */
export class Budget {
  total = 0;
  private readonly limits: BudgetLimits;
  private readonly tallies = new Map<string, Tally>();
  private readonly refusals: ThrottledLog;

  constructor(limits: BudgetLimits, log: Logger) {
    this.limits = limits;
    this.refusals = new ThrottledLog(log, `Request refused: too many ${limits.what}`);
  }

  /** The number that a holder has. */
  of(holder: string): number {
    return this.tallies.get(holder)?.count ?? 0;
  }

  /** The limit that `more` would pass; the holder's own comes first. Undefined where there is room. */
  exceeded(holder: string, more = 1): ExceededLimit | undefined {
    const { each, total } = this.limits;
    if (this.of(holder) + more > each()) return 'each';
    return this.total + more > total() ? 'total' : undefined;
  }

  /** @throws GatewayError mcp_budget_full, mcp_overloaded */
  check(holder: string, more = 1): void {
    const stop = this.exceeded(holder, more);
    if (stop !== undefined) throw this.refusal(stop, holder);
  }

  /** Counts one more, whether there is room or not. */
  enter(holder: string): Tally {
    let tally = this.tallies.get(holder);
    if (tally === undefined) this.tallies.set(holder, (tally = new Tally(this, holder)));
    tally.count++;
    this.total++;
    return tally;
  }

  leave(tally: Tally): void {
    this.total--;
    if (--tally.count === 0) this.tallies.delete(tally.holder);
  }

  /** The name of a limit in the configuration. */
  nameOf(stop: ExceededLimit): string {
    const { totalName, eachName } = this.limits;
    return `limits.${stop === 'each' ? eachName : totalName}`;
  }

  /** The error that names the limit; the log names the holder. */
  refusal(stop: ExceededLimit, holder: string): GatewayError {
    const { what } = this.limits;
    const limit = this.nameOf(stop);
    this.refusals.warn({ limit, holder: holder.replaceAll('\n', ' ') });
    return new GatewayError(stop === 'each' ? 'mcp_budget_full' : 'mcp_overloaded', {
      message: `too many ${what} (${limit})`,
      detail: limit,
      retryAfter,
    });
  }
}

/** The order in which holders lose something, least valuable first. */
export interface Evictable {
  readonly holder: string;
  /** It has seen nothing after `initialize`. */
  readonly unused: boolean;
  /** Milliseconds since the epoch. */
  readonly lastUsedAt: number;
}

/**
 * The one that gives way: of the holder that has most, one that was never used, then the least recently used.
 * @param weight what a holder has
 */
export function firstToEvict<One extends Evictable>(
  spares: Iterable<One>,
  weight: (holder: string) => number,
): One | undefined {
  let first: One | undefined;
  let most = 0;
  for (const one of spares) {
    const heavy = weight(one.holder);
    if (first === undefined || heavy > most || (heavy === most && evictedBefore(one, first)))
      [first, most] = [one, heavy];
  }
  return first;
}

function evictedBefore(one: Evictable, other: Evictable): boolean {
  if (one.unused !== other.unused) return one.unused;
  return one.lastUsedAt < other.lastUsedAt;
}
