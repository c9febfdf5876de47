/** Pins in a real `redis-server`, as replicas share them. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { RedisServer, withoutRedis } from '../store/redisServer.testing.ts';
import { connectedStore } from '../store/testStore.testing.ts';
import { until } from '../until.testing.ts';
import { StoredPins, type ChangedItem, type PinnedItem } from './index.ts';

const item: PinnedItem = { backend: 'b', target: 'files', kind: 'tool', name: 'read' };

async function stage(t: TestContext) {
  const server = await RedisServer.start();
  t.after(() => server.close());
  return {
    server,
    /** Another process. @param now its clock */
    replica: async (now?: () => number) => {
      const { store } = await connectedStore(t, server);
      return { store, pins: new StoredPins(store, now) };
    },
  };
}

async function changedIn(pins: StoredPins): Promise<ChangedItem[]> {
  const items: ChangedItem[] = [];
  for await (const one of pins.changed()) items.push(one);
  return items;
}

describe('pins in a store', { skip: withoutRedis }, () => {
  test('all replicas compare with the definition that one of them saw first', async (t) => {
    const { replica } = await stage(t);
    const replicas = await Promise.all(Array.from({ length: 6 }, () => replica()));
    const verdicts = await Promise.all(replicas.map(({ pins }, i) => pins.check(item, `{"n":${i % 2}}`)));
    assert.equal(verdicts.filter((verdict) => verdict === 'new').length, 1);
    assert.equal(verdicts.filter((verdict) => verdict === 'changed').length, 3);
    for (const other of [{ backend: 'c' }, { target: 'd' }, { kind: 'prompt' } as const, { name: 'write' }])
      assert.equal(await replicas[0]!.pins.check({ ...item, ...other }, '{}'), 'new');
  });

  test('the names of a target are those that were pinned for it', async (t) => {
    const { replica } = await stage(t);
    await (await replica()).pins.check(item, '"a"');
    const { pins } = await replica();
    const names = await pins.names(item);
    assert.deepEqual(
      [names.has('tool', 'read'), names.has('prompt', 'read'), names.has('tool', 'write')],
      [true, false, false],
    );
    assert.equal((await pins.names({ ...item, target: 'c' })).has('tool', 'read'), false);
  });

  test('an approval at one replica counts at the others, and for the definition that was shown', async (t) => {
    const { replica } = await stage(t);
    let clock = 0;
    const { pins: one } = await replica(() => clock);
    const { pins: other } = await replica();
    for (const text of ['"a"', '"b"']) await one.check(item, text);
    const [shown, ...rest] = await changedIn(other);
    assert.deepEqual([shown, rest], [{ ...item, pinned: '"a"', found: '"b"', seenAt: shown?.seenAt }, []]);
    assert.equal(await one.check(item, '"c"'), 'changed');
    await other.approve(shown!);
    assert.equal((await changedIn(other))[0]?.found, '"c"');
    assert.equal(await one.check(item, '"b"'), 'same');
    await other.reject(item);
    assert.deepEqual(await changedIn(other), []);
    // The definition of before counts as changed after a while, where it was remembered, too.
    const { pins: late } = await replica(() => clock);
    assert.equal(await late.check(item, '"b"'), 'same');
    await other.approve({ ...shown!, found: '"c"' });
    assert.equal(await late.check(item, '"b"'), 'same');
    clock += 6_000;
    assert.equal(await late.check(item, '"b"'), 'changed');
  });

  test('the mark of the approvals ends the trust in older definitions at once', async (t) => {
    const { replica } = await stage(t);
    const clock = (): number => 0;
    const [{ pins: one }, { pins: other }] = [await replica(clock), await replica()];
    assert.equal(await one.approvals(), '');
    assert.equal(await one.check(item, '"a"'), 'new');
    await one.check(item, '"b"');
    await one.check(item, '"a"');
    const [shown] = await changedIn(other);
    await other.approve(shown!);
    assert.equal(await one.check(item, '"a"'), 'same');
    assert.equal(await one.approvals(), '1');
    assert.equal(await one.check(item, '"a"'), 'changed');
    assert.equal(await other.approvals(), '1');
  });

  test('a definition that was confirmed stays the same while the store is lost, and others are errors', async (t) => {
    const { server, replica } = await stage(t);
    const { store, pins } = await replica();
    await pins.check(item, '"a"');
    await server.kill();
    await until('the loss is noticed', () => store.connection === 0);
    assert.equal(await pins.check(item, '"a"'), 'same');
    await assert.rejects(pins.check(item, '"b"'), /not connected to the store/);
    await assert.rejects(pins.check({ ...item, name: 'write' }, '"a"'), /not connected to the store/);
  });

  test('a store that comes back empty gets the definitions that replicas remember', async (t) => {
    const { server, replica } = await stage(t);
    const { store, pins } = await replica();
    await pins.check(item, '"a"');
    await server.kill();
    await server.restart();
    await until('it is connected again', () => store.connection > 1);
    // The server of the tool has changed it meanwhile.
    assert.equal(await pins.check(item, '"b"'), 'changed');
    const { pins: other } = await replica();
    assert.equal(await other.check(item, '"b"'), 'changed');
    assert.equal(await other.check(item, '"a"'), 'same');
  });

  test('a full store pins nothing, which is an error', async (t) => {
    const { server, replica } = await stage(t);
    const { pins } = await replica();
    await pins.check(item, '"a"');
    await server.as((redis) => redis.config('SET', 'maxmemory', '1'));
    await assert.rejects(pins.check({ ...item, name: 'write' }, '"a"'), /OOM/);
    assert.equal(await pins.check(item, '"a"'), 'same');
  });
});
