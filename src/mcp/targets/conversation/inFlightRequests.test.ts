import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InFlightRequest } from './inFlightRequest.ts';
import { InFlightRequests } from './inFlightRequests.ts';
import { sessionOf } from './server.testing.ts';
import type { PinnedSession } from './pinnedSession.ts';

/** A request that notes what it is told, and ends when it is abandoned. */
class Noted implements InFlightRequest {
  readonly wireId: number;
  readonly session: PinnedSession;
  backlog: number;
  readonly told: string[] = [];
  private readonly all: InFlightRequests;

  constructor(all: InFlightRequests, wireId: number, session: PinnedSession, backlog = 0) {
    this.all = all;
    this.wireId = wireId;
    this.session = session;
    this.backlog = backlog;
    all.add(this);
  }

  pause = (): void => void this.told.push('pause');
  resume = (): void => void this.told.push('resume');
  tick = (now: number): void => void this.told.push(`tick ${now}`);
  abandon = (): void => {
    this.told.push('abandon');
    this.all.remove(this);
  };
}

test('a call is carried by the request that took it up last, and is not forgotten when an earlier one ends', () => {
  const requests = new InFlightRequests();
  const session = sessionOf('a');
  const [post, stream] = [new Noted(requests, 5, session), new Noted(requests, 5, session)];
  assert.equal(requests.of(5), stream);
  requests.remove(post);
  assert.equal(requests.of(5), stream);
  assert.equal(requests.calls, 1);
  requests.remove(stream);
  assert.equal(requests.of(5), undefined);
  assert.equal(requests.calls, 0);
});

test('requests without a call are no calls', () => {
  const requests = new InFlightRequests();
  const [one, other] = [sessionOf('a'), sessionOf('b')];
  const made = [0, 0, 3].map((wireId, at) => new Noted(requests, wireId, at === 1 ? other : one));
  assert.deepEqual([requests.calls, requests.of(0)], [1, undefined]);
  assert.deepEqual(requests.in(one), [made[0], made[2]]);
});

test('everything under way is told, also where requests end while they are told', () => {
  const requests = new InFlightRequests();
  const made = [1, 2, 0].map((wireId) => new Noted(requests, wireId, sessionOf('a')));
  requests.pause();
  requests.resume();
  requests.tick(7);
  requests.abandon(made[1]);
  for (const [index, { told }] of made.entries())
    assert.deepEqual(told, ['pause', 'resume', 'tick 7', ...(index === 1 ? [] : ['abandon'])]);
  requests.abandon();
  assert.deepEqual(requests.in(made[0]!.session), []);
});

test('a server is behind while it leaves more than 8 MiB untaken, in however many requests, of calls or not', () => {
  const requests = new InFlightRequests();
  const session = sessionOf('a');
  const made = [1, 2, 0].map((wireId) => new Noted(requests, wireId, session, 3 * 1_048_576));
  assert.equal(requests.isBehind, true);
  assert.equal(requests.isBehind, true, 'it still is');
  requests.remove(made[1]!);
  assert.equal(requests.isBehind, false, 'it has answered one');
  made[0]!.backlog = 0;
  new Noted(requests, 3, session, 3 * 1_048_576);
  assert.equal(requests.isBehind, false, 'it has taken one');
  new Noted(requests, 4, session, 3 * 1_048_576);
  assert.equal(requests.isBehind, true, 'requests that came later count');
});
