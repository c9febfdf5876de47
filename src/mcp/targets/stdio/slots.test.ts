import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordingLog } from '../../harness.testing.ts';
import { Budget } from '../../limits/budget.ts';
import { Slots, type Slot, type SlotUser } from './slots.ts';

/** A session that gives its child up when it is told to, and not before. */
class Session implements SlotUser {
  readonly holder: string;
  idle = false;
  unused = false;
  lastUsedAt: number;
  slot: Slot | undefined;
  /** The limits for which its child was taken. */
  readonly taken: string[] = [];

  constructor(holder: string, lastUsedAt = 0) {
    this.holder = holder;
    this.lastUsedAt = lastUsedAt;
  }

  giveUp(limit: string): void {
    this.taken.push(limit);
  }

  readonly ready = (slot: Slot): void => {
    this.slot = slot;
  };
}

function start(total: number, each = total) {
  const limits = {
    what: 'children',
    total: () => total,
    totalName: 'all',
    each: () => each,
    eachName: 'own',
  };
  const budget = new Budget(limits, recordingLog().log);
  const slots = new Slots(budget);
  return {
    budget,
    slots,
    /** A session with a child. */
    holding: (holder: string, lastUsedAt = 0, idle = true): Session => {
      const session = new Session(holder, lastUsedAt);
      session.idle = idle;
      assert.equal(slots.claim(session, session.ready), undefined);
      return session;
    },
  };
}

test('a session gets its slot at once where there is room', () => {
  const { budget, holding } = start(2);
  const [one, two] = [holding('a'), holding('b')];
  assert.ok(one.slot !== undefined && two.slot !== undefined);
  assert.equal(budget.total, 2);
  one.slot.release();
  one.slot.release();
  assert.equal(budget.total, 1, 'a slot is released once');
});

test('when there is no room, the session that was used least recently gives its child up, and the claim waits', () => {
  const { slots, holding } = start(2);
  const [older, newer] = [holding('a', 1), holding('a', 2)];
  const session = new Session('b');
  assert.ok(slots.claim(session, session.ready) !== undefined);
  assert.deepEqual([older.taken, newer.taken], [['limits.all'], []]);
  assert.equal(session.slot, undefined);
  older.slot?.release();
  assert.ok(session.slot !== undefined);
});

test('a holder at its own limit takes a child of its own, and none of another holder', () => {
  const { slots, holding } = start(10, 1);
  const [own, other] = [holding('a', 2), holding('b', 1)];
  const session = new Session('a');
  slots.claim(session, session.ready);
  assert.deepEqual([own.taken, other.taken], [['limits.own'], []]);
});

test('a child that is on its way out is waited for, and no other one is taken', () => {
  const { slots, holding } = start(2);
  const [leaving, idle] = [holding('a'), holding('a')];
  leaving.slot!.leaving = true;
  const session = new Session('b');
  slots.claim(session, session.ready);
  assert.deepEqual([leaving.taken, idle.taken], [[], []]);
  const next = new Session('c');
  slots.claim(next, next.ready);
  assert.deepEqual(idle.taken, ['limits.all'], 'a child that has an heir is promised to it');
  leaving.slot!.release();
  idle.slot!.release();
  assert.ok(session.slot !== undefined && next.slot !== undefined);
});

test('a claim is refused when every child is in use, and the budget stays as it was', () => {
  const { budget, slots, holding } = start(1);
  holding('a', 0, false);
  const session = new Session('b');
  assert.throws(() => slots.claim(session, session.ready), { code: 'mcp_overloaded' });
  assert.throws(() => slots.claim(new Session('a'), session.ready), { code: 'mcp_budget_full' });
  assert.equal(budget.total, 1);
});

test('a place that was promised to a claim that was called off goes to the next claim', () => {
  const { budget, slots, holding } = start(1);
  const holder = holding('a');
  const [gone, next] = [new Session('b'), new Session('c')];
  slots.claim(gone, gone.ready)?.cancel();
  assert.equal(slots.claim(next, next.ready)?.cancelled, false);
  holder.slot?.release();
  assert.equal(gone.slot, undefined);
  assert.ok(next.slot !== undefined);
  assert.equal(budget.total, 1);
});

test('a claim that is called off leaves the place free', () => {
  const { budget, slots, holding } = start(1);
  const holder = holding('a');
  const gone = new Session('b');
  slots.claim(gone, gone.ready)?.cancel();
  holder.slot?.release();
  assert.equal(budget.total, 0);
  assert.equal(gone.slot, undefined);
});

test('a holder whose claims wait for children of others does not pass its own limit', () => {
  const { budget, slots, holding } = start(3, 1);
  const others = [holding('a', 1), holding('b', 2), holding('c', 3)];
  const [first, second] = [new Session('q'), new Session('q')];
  const claim = slots.claim(first, first.ready);
  assert.throws(() => slots.claim(second, second.ready), { code: 'mcp_budget_full' });
  assert.deepEqual(
    others.map(({ taken }) => taken),
    [['limits.all'], [], []],
  );
  claim?.cancel();
  slots.claim(second, second.ready);
  others[0]!.slot?.release();
  assert.ok(first.slot === undefined && second.slot !== undefined);
  assert.equal(budget.of('q'), 1);
});

test('a claim that waits for the own child of its holder takes no room from the next claim', () => {
  const { slots, holding } = start(2, 2);
  const own = [holding('a', 1), holding('a', 2)];
  const [first, second] = [new Session('a'), new Session('a')];
  slots.claim(first, first.ready);
  slots.claim(second, second.ready);
  for (const { slot } of own) slot?.release();
  assert.ok(first.slot !== undefined && second.slot !== undefined);
});
