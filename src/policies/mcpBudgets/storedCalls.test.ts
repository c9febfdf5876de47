/** Budgets that replicas count together, in a real `redis-server`. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { GatewayError } from '../../errors.ts';
import { StoreError, type RedisStore, type Store } from '../../store/index.ts';
import { RedisServer, withoutRedis } from '../../store/redisServer.testing.ts';
import { connectedStore } from '../../store/testStore.testing.ts';
import { until } from '../../until.testing.ts';
import { prepared, toolsWith } from '../tools.testing.ts';
import { CallsInProgress, type CallEnd } from './callsInProgress.ts';
import { keepScript, leaveScript } from './callScripts.ts';
import { mcpBudgets } from './index.ts';
import { StoredCalls, type StoredCallsOptions } from './storedCalls.ts';

interface Replica {
  readonly store: RedisStore;
  readonly local: CallsInProgress;
  /** Begins a call; undefined without room. */
  readonly enter: (key: string, most?: number) => Promise<CallEnd | undefined>;
  readonly enterOrFail: (key: string) => Promise<CallEnd | undefined>;
  readonly close: () => void;
}

async function stage(t: TestContext, args?: readonly string[]) {
  const server = await RedisServer.start(args);
  t.after(() => server.close());
  return {
    server,
    /** The ids of all calls in the store. */
    stored: () =>
      server.as(async (redis) => {
        const keys = await redis.keys('*');
        for (const key of keys) assert.match(key, /^test:calls:[\w-]{22}:[\w-]{22}$/);
        return (await Promise.all(keys.map((key) => redis.zrange(key, '0', '-1')))).flat();
      }),
    replica: async (pace?: StoredCallsOptions['pace']): Promise<Replica> => {
      const { store } = await connectedStore(t, server);
      const local = new CallsInProgress();
      const calls = new StoredCalls({ store, local, ...(pace && { pace }) });
      const close = (): void => {
        calls.close();
        store.close();
      };
      t.after(close);
      const enter = (key: string, most: number, failsClosed: boolean) =>
        calls.enter('here', key, { most, failsClosed, by: {} });
      return {
        store,
        local,
        enter: (key, most = 2) => enter(key, most, false),
        enterOrFail: (key) => enter(key, 2, true),
        close,
      };
    },
  };
}

const isUnavailable = (error: unknown): boolean =>
  error instanceof GatewayError && error.code === 'mcp_budget_unavailable';

describe('budgets of replicas', { skip: withoutRedis }, () => {
  test('replicas that begin calls at the same time get exactly the room of a budget', async (t) => {
    const { replica, stored } = await stage(t);
    const replicas = await Promise.all([replica(), replica(), replica()]);
    const begun = await Promise.all(
      replicas.flatMap(({ enter }) => Array.from({ length: 10 }, () => enter('alice', 7))),
    );
    const ends = begun.filter((end) => end !== undefined);
    assert.equal(ends.length, 7);
    const bob = await replicas[0].enter('bob');
    assert.ok(bob !== undefined);
    for (const end of [...ends, bob]) end();
    await until('the store has forgotten all calls', async () => (await stored()).length === 0);
    for (const { local } of replicas) assert.equal(local.size, 0);
  });

  test('a call that ends in one replica makes room in another, once', async (t) => {
    const { replica, stored } = await stage(t);
    const [one, two] = [await replica(), await replica()];
    const [first, second] = [await one.enter('alice'), await one.enter('alice')];
    assert.equal(await two.enter('alice'), undefined);
    first?.();
    first?.();
    await until('the store knows', async () => (await stored()).length === 1);
    assert.ok((await two.enter('alice')) !== undefined);
    assert.equal(await two.enter('alice'), undefined);
    second?.();
  });

  test('a call counts for as long as its replica lives, and not for longer', async (t) => {
    const { replica } = await stage(t);
    const lease = { leaseMs: 400, keepMs: 50 };
    const [one, two] = [await replica(lease), await replica(lease)];
    const since = performance.now();
    for (let i = 0; i < 2; i++) assert.ok((await one.enter('alice')) !== undefined);
    await until('three leases are over', async () => {
      assert.equal(await two.enter('alice'), undefined);
      return performance.now() - since > 3 * lease.leaseMs;
    });
    one.close();
    await until(
      'the calls of the dead replica make room',
      async () => (await two.enter('alice')) !== undefined,
    );
  });

  test('replicas count locally while the store is lost, and tell it of their calls when it is back, empty', async (t) => {
    const { server, replica, stored } = await stage(t);
    const [one, two] = [await replica(), await replica()];
    const before = await one.enter('alice');
    await server.kill();
    await until('both know', () => one.store.connection + two.store.connection === 0);
    const meanwhile = await one.enter('alice');
    assert.ok(before !== undefined && meanwhile !== undefined);
    assert.equal(await one.enter('alice'), undefined);
    assert.ok((await two.enter('bob')) !== undefined);
    await server.restart();
    await until('both are back', () => one.store.connection > 0 && two.store.connection > 0);
    // A call for anybody is the occasion.
    (await one.enter('carol'))?.();
    assert.equal(await two.enter('alice'), undefined);
    before();
    meanwhile();
    await until('the store knows of the end', async () => (await stored()).length === 1);
    assert.ok((await two.enter('alice')) !== undefined);
  });

  test('a call that ended while the store did not answer makes room when the store goes on', async (t) => {
    const { server, replica, stored } = await stage(t);
    const { store, enter, enterOrFail } = await replica();
    t.after(() => server.goOn());
    // Alice's call ends, and Bob's is refused, without an answer of the store.
    for (const during of [
      async () => (await enter('alice'))?.(),
      () => assert.rejects(enterOrFail('bob'), isUnavailable),
    ]) {
      const before = await enter('alice');
      assert.ok(before !== undefined);
      server.stall();
      before();
      await during();
      assert.equal(store.connection, 0);
      server.goOn();
      await until('it is back', () => store.connection > 0);
      const ends = [await enter('alice'), await enter('alice')];
      for (const end of ends) assert.ok(end !== undefined);
      const other = await enter('bob', 1);
      assert.ok(other !== undefined);
      assert.equal((await stored()).length, 3);
      for (const end of [...ends, other]) end?.();
      await until('the store has forgotten all calls', async () => (await stored()).length === 0);
    }
  });

  test('replicas count locally while the store is full', async (t) => {
    const { server, replica } = await stage(t, ['--maxmemory-policy', 'noeviction']);
    const { enter } = await replica();
    assert.ok((await enter('alice')) !== undefined);
    await server.as((redis) => redis.config('SET', 'maxmemory', '1'));
    assert.ok((await enter('alice')) !== undefined);
    assert.equal(await enter('alice'), undefined);
  });

  test('failClosed refuses calls while the store cannot count, and none of them counts afterwards', async (t) => {
    const { server, replica } = await stage(t);
    const { store, local, enterOrFail } = await replica();
    (await enterOrFail('alice'))?.();
    await server.kill();
    await assert.rejects(enterOrFail('alice'), isUnavailable);
    assert.equal(local.size, 0);
    await server.restart();
    await until('it is back', () => store.connection > 0);
    for (let i = 0; i < 2; i++) assert.ok((await enterOrFail('alice')) !== undefined);
    assert.equal(await enterOrFail('alice'), undefined);
  });
});

test('the first commands of a connection remove calls that ended without one, even after the time of a lease', async (t) => {
  let connection = 1;
  const ran: (readonly [string, ...(string | number)[]])[] = [];
  const store: Store = {
    get connection() {
      return connection;
    },
    subscriptions: 0,
    run: (script, _, args) => {
      if (connection === 0) return Promise.reject(new StoreError('not connected'));
      ran.push([script === leaveScript ? 'leave' : script === keepScript ? 'keep' : 'enter', ...args]);
      return Promise.resolve(1);
    },
    subscribe: () => undefined,
    tried: () => Promise.resolve(),
    close: () => undefined,
  };
  const calls = new StoredCalls({
    store,
    local: new CallsInProgress(),
    pace: { leaseMs: 300, keepMs: 20 },
  });
  t.after(() => calls.close());
  const enter = () => calls.enter('here', 'alice', { most: 9, failsClosed: false, by: {} });
  const [before, ongoing] = [await enter(), await enter()];
  connection = 0;
  before?.();
  const unknown = await enter();
  unknown?.();
  const since = performance.now();
  await until('a lease is over', () => performance.now() - since > 400);
  ran.length = 0;
  connection = 2;
  (await enter())?.();
  assert.deepEqual(
    ran.slice(0, 3).map(([what]) => what),
    ['leave', 'keep', 'enter'],
  );
  assert.equal(ran[0]?.length, 2, 'the store never knew of the call that began and ended meanwhile');
  await until('calls in progress are kept', () => ran.filter(([what]) => what === 'keep').length > 25);
  const removals = ran.filter(([what, id]) => what === 'leave' && id === ran[0]?.[1]);
  assert.ok(removals.length > 1 && removals.length < 20, 'the removal is repeated until a lease is over');
  ongoing?.();
});

test('a global budget without a store closes its route', () => {
  const settings = { maxConcurrentCalls: 1 };
  assert.throws(
    () => prepared(mcpBudgets, [{ ...settings, scope: 'global' }], toolsWith([])),
    /scope: global needs config\.store/,
  );
  assert.doesNotThrow(() => prepared(mcpBudgets, [{ ...settings, scope: 'local' }], toolsWith([])));
});
