import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SessionSeal } from '../session/sessionId.ts';
import { ParkedCalls, parkedMs, type Parked, type ParkedRequest } from './parkedCalls.ts';

const request: ParkedRequest = { principal: 'alice', backend: 'b', method: 'tools/call', params: '{"a":1}' };

class WaitingCall implements Parked {
  hasExpired = false;

  expired(): void {
    this.hasExpired = true;
  }
}

function stage() {
  const clock = { now: 1_000 };
  const parked = new ParkedCalls<WaitingCall>(new SessionSeal(), () => clock.now);
  return { clock, parked };
}

test('a holder may have 64 waiting calls, and anonymous callers of other networks as many', () => {
  const { parked } = stage();
  const anonymous: ParkedRequest = { ...request, principal: undefined };
  const park = (holder: string): string | undefined => parked.park(new WaitingCall(), anonymous, holder);
  const states = Array.from({ length: 65 }, () => park('network 192.0.2.1'));
  assert.equal(
    states.findIndex((state) => state === undefined),
    64,
  );
  assert.notEqual(park('network 192.0.2.2'), undefined);
  parked.take(states[0]!, () => anonymous);
  assert.notEqual(park('network 192.0.2.1'), undefined);
});

test('all holders together may have 4096 waiting calls', () => {
  const { parked } = stage();
  const park = (nth: number): string | undefined => parked.park(new WaitingCall(), request, `holder ${nth}`);
  for (let nth = 0; nth < 4_096; nth++) assert.notEqual(park(nth), undefined);
  assert.equal(park(4_096), undefined);
  assert.equal(parked.size, 4_096);
});

test('the state of a waiting call is good once', () => {
  const { parked } = stage();
  const call = new WaitingCall();
  const state = parked.park(call, request, 'alice')!;
  assert.equal(
    parked.take(state, () => request),
    call,
  );
  assert.equal(
    parked.take(state, () => request),
    'invalid',
  );
  assert.equal(call.hasExpired, false);
});

test('the state of a waiting call is good for its caller, backend, method and params only', () => {
  const { parked } = stage();
  const call = new WaitingCall();
  const state = parked.park(call, request, 'alice')!;
  const others: readonly Partial<ParkedRequest>[] = [
    { principal: 'bob' },
    { principal: undefined },
    { backend: 'c' },
    { method: 'prompts/get' },
    { params: '{"a":2}' },
  ];
  for (const other of others)
    assert.equal(
      parked.take(state, () => ({ ...request, ...other })),
      'invalid',
    );
  assert.equal(
    parked.take(state, () => request),
    call,
  );
});

test('a state that the gateway has not made belongs to a server', () => {
  const { parked } = stage();
  const elsewhere = stage().parked.park(new WaitingCall(), request, 'alice')!;
  for (const state of ['', 'state of a server', elsewhere])
    assert.equal(
      parked.take(state, () => request),
      'foreign',
    );
});

test('a waiting call expires, and its state is good no more', () => {
  const { clock, parked } = stage();
  const [early, late] = [new WaitingCall(), new WaitingCall()];
  const earlyState = parked.park(early, request, 'alice')!;
  clock.now += 1;
  const lateState = parked.park(late, request, 'alice')!;
  clock.now += parkedMs - 1;
  assert.equal(
    parked.take(earlyState, () => request),
    'invalid',
  );
  parked.tick();
  assert.deepEqual([early.hasExpired, late.hasExpired], [true, false]);
  assert.equal(
    parked.take(lateState, () => request),
    late,
  );
  assert.equal(parked.size, 0);
});

test('a call that is over waits no more', () => {
  const { clock, parked } = stage();
  const call = new WaitingCall();
  const state = parked.park(call, request, 'alice')!;
  parked.drop(call);
  clock.now += parkedMs;
  parked.tick();
  assert.equal(call.hasExpired, false);
  assert.equal(
    parked.take(state, () => request),
    'invalid',
  );
});
