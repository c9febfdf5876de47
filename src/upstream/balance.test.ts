import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { eligibleEndpoints, pick, pickFor } from './balance.ts';
import { hashOf, lotOf } from './hash.ts';
import type { Endpoint } from './upstreamConnection.ts';
import { endpointAt } from './endpoint.testing.ts';
import { startRaw } from '../proxy/rawServer.testing.ts';

/** Endpoints with so many connections under way at each. */
const endpoints = (t: TestContext, loads: readonly number[], maxConnections?: number): Promise<Endpoint[]> =>
  Promise.all(
    loads.map(async (load) => {
      const limits = maxConnections === undefined ? undefined : { maxConnections, maxPendingRequests: 0 };
      const endpoint = endpointAt(t, (await startRaw(t)).port, { limits });
      for (let i = 0; i < load; i++) endpoint.take().tunnel(unused);
      return endpoint;
    }),
  );

const nothing = (): void => undefined;
const unused = { onBytes: () => true, onEnd: nothing, onFailure: nothing, onWritable: nothing };

test('requests go to the best tier whose addresses work', async (t) => {
  const [near, alsoNear, far] = (await endpoints(t, [0, 0, 0])) as [Endpoint, Endpoint, Endpoint];
  far.tier = 1;
  const all = [near, far, alsoNear];
  const now = Date.now();
  assert.deepEqual(eligibleEndpoints(all, now), [near, alsoNear]);
  near.health.judge(false);
  assert.deepEqual(eligibleEndpoints(all, now), [alsoNear]);
  alsoNear.health.judge(false);
  assert.deepEqual(eligibleEndpoints(all, now), [far]);
});

test('when every healthy address cools down, they are tried all the same; an unhealthy one never is', async (t) => {
  const [cool, broken] = (await endpoints(t, [0, 0])) as [Endpoint, Endpoint];
  cool.health.connectFailed();
  broken.health.judge(false);
  const now = Date.now();
  assert.deepEqual(eligibleEndpoints([cool, broken], now), [cool]);
  cool.health.judge(false);
  assert.deepEqual(eligibleEndpoints([cool, broken], now), []);
});

test('the less busy of two addresses gets the request', async (t) => {
  const [busy, idle] = (await endpoints(t, [3, 1])) as [Endpoint, Endpoint];
  for (let i = 0; i < 50; i++) assert.equal(pick([busy, idle]), idle);
  assert.equal(pick([busy]), busy);
  assert.equal(pick([]), undefined);
});

test('each of several equal addresses is chosen', async (t) => {
  const all = await endpoints(t, [0, 0, 0, 0]);
  const drawn = new Set(Array.from({ length: 300 }, () => pick(all)));
  assert.deepEqual(drawn, new Set(all));
});

test('each key has its address, and an address that goes moves its own keys alone', async (t) => {
  const all = await endpoints(t, [0, 0, 0]);
  const keys = Array.from({ length: 300 }, (_, i) => hashOf(`key ${i}`));
  const at = (among: readonly Endpoint[]): (Endpoint | undefined)[] =>
    keys.map((key) => pickFor(key, among, 2));
  const before = at(all);
  assert.deepEqual(at(all.toReversed()), before, 'the order of the list does not matter');
  for (const endpoint of all)
    assert.ok(before.filter((one) => one === endpoint).length > 50, `${endpoint.name} has its share`);
  const [gone, ...left] = all;
  for (const [i, endpoint] of at(left).entries()) if (before[i] !== gone) assert.equal(endpoint, before[i]);
});

test('a key passes an address by that is much busier than the others, but not below 16 requests', async (t) => {
  const [busy, ...idle] = (await endpoints(t, [16, 0, 0])) as [Endpoint, Endpoint, Endpoint];
  const key = Array.from({ length: 100 }, (_, i) => i).find((one) => {
    const lots = [busy, ...idle].map(({ hash }) => lotOf(one, hash));
    return lots[0] === Math.max(...lots);
  });
  assert.ok(key !== undefined);
  assert.ok(idle.includes(pickFor(key, [busy, ...idle], 1)!));
  assert.equal(pickFor(key, [busy, ...idle], 10), busy, 'a generous load factor leaves the key where it is');
  const [calm, ...others] = (await endpoints(t, [15, 0, 0])) as [Endpoint, Endpoint, Endpoint];
  const own = Array.from({ length: 100 }, (_, i) => i).find((one) => {
    const lots = [calm, ...others].map(({ hash }) => lotOf(one, hash));
    return lots[0] === Math.max(...lots);
  });
  assert.equal(pickFor(own!, [calm, ...others], 1), calm);
});

test('an address whose connections are all busy gets no key', async (t) => {
  const [full, free] = (await endpoints(t, [1, 0], 1)) as [Endpoint, Endpoint];
  for (let key = 0; key < 50; key++) assert.equal(pickFor(key, [full, free], Infinity), free);
  assert.equal(pickFor(1, [full], Infinity), undefined);
});

test('the hash of a text is FNV-1a, so that every process agrees, and that of its bytes is the same', () => {
  // Test vectors of draft-eastlake-fnv, appendix C.
  assert.deepEqual(
    ['', 'a', 'foobar'].map((text) => hashOf(text)),
    [0x811c9dc5, 0xe40c292c, 0xbf9cf968],
  );
  assert.equal(hashOf(Buffer.from('foobar')), hashOf('foobar'));
});

test('lots of neighbouring keys are spread evenly over 32 bits', () => {
  const quarters = [0, 0, 0, 0];
  for (let key = 0; key < 4_000; key++) quarters[lotOf(key, 1) >>> 30]!++;
  for (const count of quarters) assert.ok(count > 850 && count < 1_150, quarters.join(' '));
});
