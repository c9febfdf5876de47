import assert from 'node:assert/strict';
import { test } from 'node:test';
import { queryObjects } from 'node:v8';
import { mcpBackend, remoteTarget, startHarness } from '../harness.testing.ts';
import { DetachedSessions } from './detachedSessions.ts';
import { RawClient } from '../rawClient.testing.ts';
import { RemoteServer } from '../remoteServer.testing.ts';
import { Session } from './session.ts';
import { until } from '../../until.testing.ts';

test('a detached session keeps in memory only what is needed to end it', async () => {
  let now = 1_000_000;
  const server = await RemoteServer.start();
  const harness = await startHarness({
    backend: mcpBackend({ targets: [remoteTarget(server.url)] }),
    runtime: { keyHolders: 'others', now: () => now, sessionTtlMs: 1_000, sessionResumableMs: 10_000 },
  });
  try {
    await new RawClient(harness.url).initialize();
    assert.equal(queryObjects(Session, { format: 'count' }), 1);
    now += 1_000;
    harness.runtime.tick();
    await until('it is gone', () => queryObjects(Session, { format: 'count' }) === 0);
    assert.deepEqual(server.deleted, []);
    now += 9_000;
    harness.runtime.tick();
    await until('the server knows', () => server.deleted.length === 1);
  } finally {
    await harness.close();
    await server.close();
  }
});

test('a holder with many detached sessions does not evict those of other holders', () => {
  const left = new DetachedSessions();
  const ended: string[] = [];
  const leave = (id: string, holder: string): void =>
    left.add(id, { holder, backendKey: 'b', until: Infinity, end: () => Promise.resolve(ended.push(id)) });
  leave('of ada', 'ada');
  for (let i = 0; i < 10_003; i++) leave(`of bob ${i}`, 'bob');
  assert.deepEqual(ended, ['of bob 0', 'of bob 1', 'of bob 2', 'of bob 3']);
});
