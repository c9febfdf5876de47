import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../until.testing.ts';
import type { InFlightRequest } from './inFlightRequest.ts';
import { InFlightRequests } from './inFlightRequests.ts';
import { PreviousServers } from './previousServers.ts';
import { sessionOf, startServer } from './http.testing.ts';
import type { PinnedSession } from './pinnedSession.ts';

const request = (session: PinnedSession, wireId: number): InFlightRequest => ({
  wireId,
  session,
  backlog: 0,
  pause: () => undefined,
  resume: () => undefined,
  abandon: () => undefined,
  tick: () => undefined,
});

async function start(t: Parameters<typeof startServer>[0]) {
  const { server, reach, log } = await startServer(t);
  const requests = new InFlightRequests();
  const previous = new PreviousServers(requests, log);
  return {
    requests,
    previous,
    deleted: server.deleted,
    told: () => server.of('DELETE').length,
    /** A session that the server knows, with a call under way if `wireId` says so. */
    leave: (id: string, wireId = 0): InFlightRequest => {
      server.sessions.add(id);
      const session = sessionOf(id);
      const made = request(session, wireId);
      requests.add(made);
      previous.add(reach, session);
      return made;
    },
  };
}

test('a session without calls is ended at its previous server at once', async (t) => {
  const { deleted, leave } = await start(t);
  leave('idle');
  await until('the server knows', () => deleted.length === 1);
});

test('a session with a call under way is ended when the call is done, or after a minute', async (t) => {
  const { requests, previous, deleted, leave } = await start(t);
  const done = leave('done', 1);
  leave('stuck', 2);
  previous.tick(performance.now());
  requests.remove(done);
  previous.tick(performance.now());
  await until('the first session is ended', () => deleted.length === 1);
  assert.deepEqual(deleted, ['done']);
  previous.tick(performance.now() + 60_001);
  await until('the other session is ended', () => deleted.length === 2);
});

test('with a fifth previous server the oldest is left, whatever is under way there', async (t) => {
  const { deleted, leave } = await start(t);
  for (let i = 1; i <= 5; i++) leave(`s${i}`, i);
  await until('the oldest session is ended', () => deleted.length === 1);
  assert.deepEqual(deleted, ['s1']);
});

test('the end of the connection ends every session at previous servers, once', async (t) => {
  const { previous, deleted, told, leave } = await start(t);
  leave('s1', 1);
  leave('s2', 2);
  previous.close();
  previous.close();
  previous.tick(performance.now() + 1_000_000);
  await until('both sessions are ended', () => deleted.length === 2);
  assert.deepEqual(deleted.toSorted(), ['s1', 's2']);
  assert.equal(told(), 2);
});
