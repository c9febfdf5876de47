import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FairShare, longestIdleOfLargest, type Held } from './fairShare.ts';

const held = (remoteAddress: string, count: number, idleSince: number | undefined): Held[] =>
  Array.from({ length: count }, () => ({ remoteAddress, idleSince }));

test('the largest holder loses its longest idle connections first', () => {
  const old = { remoteAddress: '192.0.2.1', idleSince: 1 };
  const all = [...held('192.0.2.1', 5, 9), ...held('192.0.2.2', 3, 0), old];
  assert.deepEqual(longestIdleOfLargest(all, 1)?.longestIdle, [old]);
  assert.equal(longestIdleOfLargest(all, 1)?.holder, '192.0.2.1');
  assert.equal(longestIdleOfLargest(all, 1)?.holds, 6);
});

test('the largest come down to the level of the next ones, and then they take turns', () => {
  const all = [...held('192.0.2.1', 6, 9), ...held('192.0.2.2', 3, 0), ...held('192.0.2.3', 1, 0)];
  const taken = longestIdleOfLargest(all, 5)?.longestIdle ?? [];
  assert.equal(taken.filter(({ remoteAddress }) => remoteAddress === '192.0.2.1').length, 4);
  assert.equal(taken.filter(({ remoteAddress }) => remoteAddress === '192.0.2.2').length, 1);
});

test('busy connections are never taken, and each holder keeps its last one', () => {
  assert.equal(longestIdleOfLargest(held('192.0.2.1', 9, undefined), 3), undefined);
  assert.equal(longestIdleOfLargest([...held('192.0.2.1', 1, 0), ...held('192.0.2.2', 1, 0)], 2), undefined);
  assert.equal(longestIdleOfLargest(held('192.0.2.1', 4, 0), 9)?.longestIdle.length, 3);
  assert.equal(longestIdleOfLargest([], 1), undefined);
  const busy = [...held('192.0.2.1', 9, undefined), ...held('192.0.2.2', 2, 0)];
  assert.equal(longestIdleOfLargest(busy, 1)?.longestIdle[0]?.remoteAddress, '192.0.2.2');
});

test('all addresses of one /64 are one holder', () => {
  const all = [
    ...Array.from({ length: 4 }, (_, i) => held(`2001:db8:0:1::${(i + 1).toString(16)}`, 1, 5)).flat(),
    ...held('2001:db8:0:2::1', 3, 0),
  ];
  const taken = longestIdleOfLargest(all, 1);
  assert.equal(taken?.holder, '2001:db8:0:1::/64');
  assert.match(taken.longestIdle[0]?.remoteAddress ?? '', /^2001:db8:0:1:/);
});

test('connections are not examined below 80 % of the limit, and rarely above it', () => {
  let looks = 0;
  const share = new FairShare(() => {
    looks++;
    return held('192.0.2.1', 850, 0);
  });
  assert.equal(share.makeRoom(799, 1_000), undefined);
  assert.equal(looks, 0);
  assert.equal(share.makeRoom(800, 1_000)?.longestIdle.length, 10);
  for (let i = 1; i < 10; i++) assert.equal(share.makeRoom(800, 1_000), undefined);
  assert.equal(looks, 1);
  assert.equal(share.makeRoom(800, 1_000)?.longestIdle.length, 10);
  assert.equal(looks, 2);
});
