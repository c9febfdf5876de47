import {
  firstToEvict,
  type Budget,
  type Evictable,
  type ExceededLimit,
  type Tally,
} from '../../limits/budget.ts';

/** A session that holds a child, or wants one. */
export interface SlotUser extends Evictable {
  /** May its child be taken now? */
  readonly idle: boolean;
  /** Gives the child up, so that the slot is released. @param limit is the reason */
  giveUp(limit: string): void;
}

/** The right to have one child. */
export class Slot {
  readonly user: SlotUser;
  /** Its child is on its way out. */
  leaving = false;
  /** Gets the place when it is free. */
  nextClaim: Claim | undefined;
  private readonly slots: Slots;
  private readonly tally: Tally;
  private released = false;

  constructor(slots: Slots, user: SlotUser, tally: Tally) {
    this.slots = slots;
    this.user = user;
    this.tally = tally;
  }

  /** Frees the slot of a child that is gone. */
  release(): void {
    if (this.released) return;
    this.released = true;
    this.tally.leave();
    this.slots.released(this);
  }
}

/** A user that waits until another one's child is gone. */
export class Claim {
  readonly user: SlotUser;
  readonly ready: (slot: Slot) => void;
  cancelled = false;

  constructor(user: SlotUser, ready: (slot: Slot) => void) {
    this.user = user;
    this.ready = ready;
  }

  cancel(): void {
    this.cancelled = true;
  }
}

/** Deals out the children that the gateway may have, and takes idle ones back when a budget is full. */
export class Slots {
  private readonly budget: Budget;
  private readonly held = new Set<Slot>();

  constructor(budget: Budget) {
    this.budget = budget;
  }

  /**
   * Asks for a slot. `ready` runs before this returns where there is room, and later where a child has to go first.
   * @returns what waits; undefined where `ready` has run
   * @throws GatewayError mcp_budget_full, mcp_overloaded
   */
  claim(user: SlotUser, ready: (slot: Slot) => void): Claim | undefined {
    const stop = this.stopOf(user.holder);
    const claim = new Claim(user, ready);
    if (stop === undefined) {
      this.grant(claim);
      return undefined;
    }
    const eligible = [...this.held].filter(
      (slot) => slot.nextClaim?.cancelled !== false && (stop === 'total' || slot.user.holder === user.holder),
    );
    // A child that goes by itself makes room without a loss.
    const leaving = eligible.find((slot) => slot.leaving);
    if (leaving !== undefined) {
      leaving.nextClaim = claim;
      return claim;
    }
    const idle = eligible.filter((slot) => slot.user.idle).map(spareOf);
    const first = firstToEvict(idle, (holder) => this.budget.of(holder));
    if (first === undefined) throw this.budget.refusal(stop, user.holder);
    first.slot.nextClaim = claim;
    first.slot.user.giveUp(this.budget.nameOf(stop));
    return claim;
  }

  /** The limit that one more child would pass, counting the children that the holder waits for. */
  private stopOf(holder: string): ExceededLimit | undefined {
    let waiting = 0;
    for (const { user, nextClaim } of this.held)
      // A child of the holder itself only makes room for another one.
      if (nextClaim?.cancelled === false && nextClaim.user.holder === holder && user.holder !== holder)
        waiting++;
    // The total counts the children in whose places those come.
    return this.budget.exceeded(holder, 1 + waiting) === 'each' ? 'each' : this.budget.exceeded(holder);
  }

  released(slot: Slot): void {
    this.held.delete(slot);
    const { nextClaim: heir } = slot;
    if (heir !== undefined && !heir.cancelled) this.grant(heir);
  }

  private grant(claim: Claim): void {
    const { user } = claim;
    const slot = new Slot(this, user, this.budget.enter(user.holder));
    this.held.add(slot);
    claim.ready(slot);
  }
}

function spareOf(slot: Slot): Evictable & { readonly slot: Slot } {
  const { holder, unused, lastUsedAt } = slot.user;
  return { holder, unused, lastUsedAt, slot };
}
