import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InFlightRequest } from './inFlightRequest.ts';
import { InFlightRequests } from './inFlightRequests.ts';
import { PreviousServers } from './previousServers.ts';
import { sessionOf } from './server.testing.ts';
import type { Reach } from '../../contract.ts';
import type { PinnedSession } from './pinnedSession.ts';

/** Nothing is sent there. */
const reach = {} as Reach;

const request = (session: PinnedSession, wireId: number): InFlightRequest => ({
  wireId,
  session,
  backlog: 0,
  pause: () => undefined,
  resume: () => undefined,
  abandon: () => undefined,
  tick: () => undefined,
});

/** Sessions are ended by noting their ids. */
function start() {
  const requests = new InFlightRequests();
  const ended: (string | undefined)[] = [];
  const previous = new PreviousServers(requests, (_reach, { id }: PinnedSession) => ended.push(id));
  return {
    requests,
    previous,
    ended,
    /** A session that the server knows, with a call under way if `wireId` says so. */
    leave: (id: string, wireId = 0): InFlightRequest => {
      const session = sessionOf(id);
      const made = request(session, wireId);
      requests.add(made);
      previous.add(reach, session);
      return made;
    },
  };
}

test('a session without calls is ended at its previous server at once', () => {
  const { ended, leave } = start();
  leave('idle');
  assert.deepEqual(ended, ['idle']);
});

test('a session with a call under way is ended when the call is done, or after a minute', () => {
  const { requests, previous, ended, leave } = start();
  const done = leave('done', 1);
  leave('stuck', 2);
  previous.tick(performance.now());
  assert.deepEqual(ended, []);
  requests.remove(done);
  previous.tick(performance.now());
  assert.deepEqual(ended, ['done']);
  previous.tick(performance.now() + 60_001);
  assert.deepEqual(ended, ['done', 'stuck']);
});

test('with a fifth previous server the oldest is left, whatever is under way there', () => {
  const { ended, leave } = start();
  for (let i = 1; i <= 5; i++) leave(`s${i}`, i);
  assert.deepEqual(ended, ['s1']);
});

test('the end of the connection ends every session at previous servers, once', () => {
  const { previous, ended, leave } = start();
  leave('s1', 1);
  leave('s2', 2);
  previous.close();
  previous.close();
  previous.tick(performance.now() + 1_000_000);
  assert.deepEqual(ended, ['s1', 's2']);
});
