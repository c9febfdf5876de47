import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../until.testing.ts';
import { endMs, endSession } from './endSession.ts';
import { sessionOf, reachOf, startServer } from '../conversation/server.testing.ts';
import { closedPort } from '../../../upstream/endpoint.testing.ts';

test('the server is told the end of the session that it knows', async (t) => {
  const { server, reach, log, lines } = await startServer(t, { headers: [['authorization', 'Bearer x']] });
  server.sessions.add('s1');
  await endSession(reach, { ...sessionOf('s1'), version: '2025-06-18' }, 1_000, log);
  assert.deepEqual(server.deleted, ['s1']);
  const [seen] = server.seen;
  assert.equal(seen?.method, 'DELETE');
  assert.equal(seen?.headers.authorization, 'Bearer x');
  assert.equal(seen?.headers['mcp-protocol-version'], '2025-06-18');
  await endSession(reach, sessionOf('s1'), 1_000, log);
  assert.deepEqual(lines, [], 'a server that has forgotten the session is no news');
});

test('a server that keeps no sessions is told nothing', async (t) => {
  const { server, reach, log } = await startServer(t);
  await endSession(reach, sessionOf(undefined), 1_000, log);
  assert.deepEqual(server.seen, []);
});

test('a server that refuses, or cannot be reached, is a line of the log and holds nothing up', async (t) => {
  const { server, reach, log, lines } = await startServer(t);
  server.methods['DELETE'] = (x) => x.status(500);
  await endSession(reach, sessionOf('s1'), 1_000, log);
  server.methods['DELETE'] = (x) => x.status(405);
  await endSession(reach, sessionOf('s1'), 1_000, log);
  const nowhere = reachOf(t, { host: '127.0.0.1', port: await closedPort() });
  await endSession(nowhere.reach, sessionOf('s1'), 1_000, log);
  assert.deepEqual(
    lines.map(({ level, fields }) => [level, fields['status'] ?? fields['code']]),
    [
      ['debug', 500],
      ['debug', 'upstream_connect_failed'],
    ],
  );
});

test('a server that does not answer is left when its time is up', async (t) => {
  const { server, reach, log, connections } = await startServer(t);
  let left = false;
  server.methods['DELETE'] = (x) => void x.left.then(() => (left = true));
  await endSession(reach, sessionOf('s1'), 0, log);
  assert.equal(connections(), 0);
  await until('the server sees that', () => left);
});

test('a server gets between half a second and three seconds to take note', () => {
  assert.deepEqual([0, 500, 1_000, 3_000, 60_000].map(endMs), [500, 500, 1_000, 3_000, 3_000]);
});
