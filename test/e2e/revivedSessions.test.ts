/** Sessions with programs that go on at another gateway, with new children. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RawClient } from '../../src/mcp/rawClient.testing.ts';
import { withoutRedis } from '../../src/store/redisServer.testing.ts';
import { until } from '../../src/until.testing.ts';
import { kill, sharedStage } from './sharedSessions.testing.ts';
import { everything, node, rogue } from './stage.testing.ts';

const program = (name: string, settings: object = { stateless: true }): object => ({
  name,
  stdio: { cmd: node, args: [rogue] },
  ...settings,
});

const other = (name: string): object => ({
  name,
  stateless: true,
  stdio: { cmd: node, args: [everything, 'stdio'] },
});

const status = async (client: RawClient): Promise<number> =>
  (await client.post(client.request('tools/list'))).status;

describe('sessions with programs, at gateways with a store', { skip: withoutRedis }, () => {
  test('a session goes on at another gateway with a new child, for its owner alone', async (t) => {
    const { start, clientAt } = await sharedStage(t, { targets: () => [program('tools')] });
    const [here, there] = await Promise.all([start(), start()]);
    const client = await clientAt(here, 'alice');
    await client.initialize();
    const before = await client.call('pid');
    await kill(here);
    assert.equal(await status(await clientAt(there, 'carol', client.sessionId)), 404);
    assert.equal(await status(await clientAt(there, 'bob', client.sessionId)), 403);
    assert.equal(there.children().length, 0, 'no child starts for another caller');
    const same = await clientAt(there, 'alice', client.sessionId);
    const after = await same.call('pid');
    assert.notEqual(after, before);
    assert.equal(await same.call('pid'), after, 'the child stays');
    const { notifications } = JSON.parse(await same.call('state')) as { notifications: { method: string }[] };
    assert.deepEqual(
      notifications.map(({ method }) => method),
      ['notifications/initialized'],
    );
    assert.equal(await there.metric('portcullis_mcp_session_resumptions_total', { outcome: 'resumed' }), 1);
  });

  test('a session with a program that keeps state is unknown at another gateway, at once', async (t) => {
    const { start, clientAt } = await sharedStage(t, { targets: () => [program('tools', {})] });
    const [here, there] = await Promise.all([start(), start()]);
    const client = await clientAt(here, 'alice');
    await client.initialize();
    assert.equal(await status(client), 200);
    assert.equal(await status(await clientAt(there, 'alice', client.sessionId)), 404);
    assert.equal(there.children().length, 0);
  });

  test('a parked session goes on at another gateway, and its end is final at both', async (t) => {
    const { redis, start, clientAt } = await sharedStage(t, {
      targets: () => [program('tools')],
      config: { mcp: { sessionTtl: '1s' } },
    });
    const [here, there] = await Promise.all([start(), start()]);
    const client = await clientAt(here, 'alice');
    await client.initialize();
    await client.call('pid');
    await until('the session is parked', () => here.children().length === 0);
    const same = await clientAt(there, 'alice', client.sessionId);
    await same.call('pid');
    assert.equal(await same.delete(), 204);
    await until('the first gateway has heard of it', async () => (await status(client)) === 404);
    const third = await start();
    const elsewhere = await clientAt(third, 'alice', client.sessionId);
    assert.equal(await status(elsewhere), 404);
    assert.equal(third.children().length, 0);
    // Without an answer of the store nobody can tell whether a session has ended.
    const next = await clientAt(here, 'alice');
    await next.initialize();
    redis.stall();
    t.after(() => redis.goOn());
    assert.equal(await status(await clientAt(third, 'alice', next.sessionId)), 503);
    redis.goOn();
    await until(
      'the session goes on',
      async () => (await status(await clientAt(third, 'alice', next.sessionId))) === 200,
    );
  });

  test('a session with several targets goes on at another gateway', async (t) => {
    const { server, start, clientAt } = await sharedStage(t, {
      targets: ({ url }) => [other('one'), other('two'), { name: 'far', mcp: { host: url } }],
    });
    const [here, there] = await Promise.all([start(), start()]);
    const client = await clientAt(here, 'alice');
    await client.initialize();
    assert.equal(await client.call('two_echo', { message: 'before' }), 'Echo: before');
    await kill(here);
    const same = await clientAt(there, 'alice', client.sessionId);
    const listed = await same.post(same.request('tools/list'));
    const { result } = listed.events.at(-1) ?? listed.json;
    assert.ok(result, listed.text);
    const names = (result['tools'] as { name: string }[]).map(({ name }) => name);
    for (const name of ['one_echo', 'two_echo', 'far_echo']) assert.ok(names.includes(name), name);
    assert.equal(await same.call('far_echo', { text: 'after' }), 'after');
    assert.equal(await same.call('one_echo', { message: 'after' }), 'Echo: after');
    assert.equal(server.sessions.size, 2, 'the server over HTTP has a new session');
  });

  test('a session with several targets is unknown at another gateway if one program keeps state', async (t) => {
    const { start, clientAt } = await sharedStage(t, {
      targets: () => [program('one'), program('two', {})],
    });
    const [here, there] = await Promise.all([start(), start()]);
    const client = await clientAt(here, 'alice');
    await client.initialize();
    assert.equal(await status(client), 200);
    assert.equal(await status(await clientAt(there, 'alice', client.sessionId)), 404);
  });
});

test(
  'without a store a session goes on at another gateway, and its end is known where it was ended',
  { skip: withoutRedis },
  async (t) => {
    const { start, clientAt } = await sharedStage(t, { targets: () => [program('tools')], storeless: true });
    const [here, there] = await Promise.all([start(), start()]);
    const client = await clientAt(here, 'alice');
    await client.initialize();
    const same = await clientAt(there, 'alice', client.sessionId);
    assert.equal(await status(same), 200);
    assert.equal(await client.delete(), 204);
    assert.equal(await status(client), 404);
    assert.equal(await status(same), 200);
  },
);

test(
  'a session with several servers over HTTP outlives its gateway without a store, for its owner alone',
  { skip: withoutRedis },
  async (t) => {
    const targets = ({ url }: { readonly url: string }): readonly object[] =>
      ['near', 'far'].map((name) => ({ name, mcp: { host: url } }));
    const { server, start, clientAt } = await sharedStage(t, { targets, storeless: true });
    const here = await start();
    const client = await clientAt(here, 'alice');
    await client.initialize();
    assert.equal(await client.call('far_echo', { text: 'before' }), 'before');
    await kill(here);
    const there = await start();
    assert.equal(await status(await clientAt(there, 'carol', client.sessionId)), 404);
    const same = await clientAt(there, 'alice', client.sessionId);
    assert.equal(await same.call('near_echo', { text: 'after' }), 'after');
    assert.equal(await same.call('far_echo', { text: 'after' }), 'after');
    assert.equal(server.sessions.size, 4, 'both have a new session at their server');
    assert.equal(await same.delete(), 204);
    assert.equal(await status(same), 404);
  },
);
