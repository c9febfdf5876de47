/** Limits that replicas count together, in a real `redis-server`. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { RedisServer, withoutRedis } from '../../store/redisServer.testing.ts';
import { connectedStore } from '../../store/testStore.testing.ts';
import { GatewayError } from '../../errors.ts';
import { until } from '../../until.testing.ts';
import type { Draws, RateLimitState, TokenLimit } from '../policy.ts';
import { prepared, toolsWith } from '../tools.testing.ts';
import { LocalTokens } from './localTokens.ts';
import { localRateLimit } from './index.ts';
import { StoredTokens } from './storedTokens.ts';

const limit: TokenLimit = { maxTokens: 10, tokensPerFill: 1, fillInterval: 3_600_000, maxKeys: 100 };

async function stage(t: TestContext, args?: readonly string[]) {
  const server = await RedisServer.start(args);
  t.after(() => server.close());
  return {
    server,
    replica: async () => {
      const { store } = await connectedStore(t, server);
      return { store, tokens: new StoredTokens(store, new LocalTokens(Date.now)) };
    },
  };
}

const drawn = async (draws: Draws, ...keys: string[]): Promise<RateLimitState> => draws.draw(keys);

describe('limits of replicas', { skip: withoutRedis }, () => {
  test('replicas that draw at the same time get exactly the tokens of a limit', async (t) => {
    const { replica } = await stage(t);
    const replicas = await Promise.all([replica(), replica(), replica()]);
    const states = await Promise.all(
      replicas.flatMap(({ tokens }) => {
        const draws = tokens.open('here', [limit]);
        return Array.from({ length: 20 }, () => drawn(draws, 'alice'));
      }),
    );
    assert.deepEqual(
      states
        .filter(({ allowed }) => allowed)
        .map(({ left }) => left)
        .toSorted((a, b) => a - b),
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    );
    for (const { most, fillMs } of states) {
      assert.equal(most, 10);
      assert.ok(fillMs > 0 && fillMs <= 3_600_000, String(fillMs));
    }
    assert.equal((await drawn(replicas[0].tokens.open('here', [limit]), 'bob')).left, 9);
    assert.equal((await drawn(replicas[0].tokens.open('there', [limit]), 'alice')).left, 9);
  });

  test('a limit that refuses leaves the tokens of the others', async (t) => {
    const { replica } = await stage(t);
    const { tokens } = await replica();
    const draws = tokens.open('here', [{ ...limit, maxTokens: 1 }, limit]);
    assert.equal((await drawn(draws, 'one', '')).allowed, true);
    for (let i = 0; i < 5; i++) assert.deepEqual((await drawn(draws, 'one', '')).allowed, false);
    const { allowed, most, left } = await drawn(draws, 'two', '');
    assert.deepEqual({ allowed, most, left }, { allowed: true, most: 1, left: 0 });
    const states = await Promise.all(Array.from({ length: 9 }, (_, i) => drawn(draws, `other ${i}`, '')));
    assert.equal(states.filter((state) => state.allowed).length, 8);
  });

  test('buckets fill by the clock of the store, which forgets full ones', async (t) => {
    const { server, replica } = await stage(t);
    const { tokens } = await replica();
    const draws = tokens.open('here', [{ ...limit, maxTokens: 2, tokensPerFill: 2, fillInterval: 50 }]);
    assert.deepEqual([(await drawn(draws, '')).left, (await drawn(draws, '')).left], [1, 0]);
    await until('there are tokens again', async () => (await drawn(draws, '')).allowed);
    const keys = await server.as((redis) => redis.keys('*'));
    for (const key of keys) assert.match(key, /^test:rate:[\w-]{22}:[\w-]{22}$/);
    await until('the bucket is forgotten', async () => (await server.as((redis) => redis.dbsize())) === 0);
  });

  test('replicas count locally while the store is lost, and together again when it is back, empty', async (t) => {
    const { server, replica } = await stage(t);
    const [one, two] = [await replica(), await replica()];
    const [a, b] = [one.tokens.open('here', [limit]), two.tokens.open('here', [limit])];
    assert.deepEqual([(await drawn(a, '')).left, (await drawn(b, '')).left], [9, 8]);
    await server.kill();
    await until('both know', () => one.store.connection + two.store.connection === 0);
    assert.deepEqual([(await drawn(a, '')).left, (await drawn(b, '')).left], [9, 9]);
    await server.restart();
    await until('both are back', () => one.store.connection > 0 && two.store.connection > 0);
    assert.deepEqual([(await drawn(a, '')).left, (await drawn(b, '')).left], [9, 8]);
  });

  test('replicas count locally while the store is full', async (t) => {
    const { server, replica } = await stage(t, ['--maxmemory-policy', 'noeviction']);
    const { tokens } = await replica();
    const draws = tokens.open('here', [limit]);
    await drawn(draws, '');
    await server.as((redis) => redis.config('SET', 'maxmemory', '1'));
    assert.deepEqual([(await drawn(draws, '')).left, (await drawn(draws, '')).left], [9, 8]);
  });

  test('failClosed refuses requests while the store cannot count', async (t) => {
    const { server, replica } = await stage(t);
    const { tokens } = await replica();
    const draws = tokens.open('here', [{ ...limit, failureMode: 'failClosed' }]);
    assert.equal((await drawn(draws, '')).left, 9);
    await server.kill();
    await assert.rejects(
      drawn(draws, ''),
      (error) => error instanceof GatewayError && error.code === 'rate_limit_unavailable',
    );
  });
});

test('a global limit without a store closes its route', () => {
  const settings = { maxTokens: 1, tokensPerFill: 1, fillInterval: '1s' };
  assert.throws(
    () => prepared(localRateLimit, [{ ...settings, scope: 'global' }], toolsWith([])),
    /scope: global needs config\.store/,
  );
  assert.doesNotThrow(() => prepared(localRateLimit, [{ ...settings, scope: 'local' }], toolsWith([])));
});

test('settings that cannot be kept are refused', () => {
  const settings = { maxTokens: 1, tokensPerFill: 1, fillInterval: '1s' };
  const problems = (...limits: object[]): string =>
    JSON.stringify(localRateLimit.schema.safeParse(limits).error?.issues ?? 'none');
  assert.equal(problems({ ...settings, scope: 'global', failureMode: 'countLocally' }), '"none"');
  assert.match(problems({ ...settings, failureMode: 'failClosed' }), /is for scope: global/);
  assert.match(problems({ ...settings, scope: 'global' }, settings), /need the same scope/);
  assert.match(problems({ ...settings, scope: 'cluster' }), /"local","global"/);
});
