import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Condition } from '../types/index.ts';
import { withOwnEntries, mergeConditions, problem, sameData, verdict } from './conditions.ts';

const stamp = { now: '2026-02-02T00:00:00Z', generation: 4 };
const old = (type: string, more: Partial<Condition> = {}): Condition => ({
  type,
  status: 'True',
  reason: type,
  message: '',
  observedGeneration: 3,
  lastTransitionTime: '2026-01-01T00:00:00Z',
  ...more,
});

test('a condition keeps its time as long as its status stays, and its place', () => {
  const merged = mergeConditions(
    [old('B'), old('A')],
    [verdict('A', undefined), verdict('B', problem('Broken', 'it broke')), verdict('C', undefined)],
    stamp,
  );
  assert.deepEqual(merged, [
    old('B', {
      status: 'False',
      reason: 'Broken',
      message: 'it broke',
      observedGeneration: 4,
      lastTransitionTime: stamp.now,
    }),
    old('A', { observedGeneration: 4 }),
    old('C', { observedGeneration: 4, lastTransitionTime: stamp.now }),
  ]);
});

test('conditions of other controllers stay; outdated ones of this controller are removed', () => {
  const merged = mergeConditions([old('example.com/Theirs'), old('Sometimes')], [], stamp, ['Sometimes']);
  assert.deepEqual(merged, [old('example.com/Theirs')]);
});

test('a status about a newer generation is not overwritten with an older one', () => {
  const later = old('A', { observedGeneration: 5 });
  assert.deepEqual(mergeConditions([later], [verdict('A', problem('No', 'no'))], stamp), [later]);
});

test('a message that no API server would take is cut', () => {
  const [condition] = mergeConditions([], [verdict('A', problem('No', 'x'.repeat(40_000)))], stamp);
  assert.equal(condition?.message.length, 32_768);
});

test('data is the same in any order of its fields, and never where one has more', () => {
  assert.equal(sameData({ a: 1, b: [{ c: 2 }] }, { b: [{ c: 2 }], a: 1 }), true);
  assert.equal(sameData({ a: 1, b: undefined }, { a: 1 }), true);
  for (const [a, b] of [
    [{ a: 1 }, { a: 1, b: 2 }],
    [{ a: 1, b: 2 }, { a: 1 }],
    [
      [1, 2],
      [2, 1],
    ],
    [[], {}],
    [null, {}],
    ['1', 1],
  ])
    assert.equal(sameData(a, b), false, JSON.stringify([a, b]));
});

test('entries of all controllers keep their places', () => {
  const entry = (controllerName: string, name: string) => ({ controllerName, name });
  const [a, b, c] = [entry('ours', 'a'), entry('ours', 'b'), entry('ours', 'c')];
  const [x, y] = [entry('theirs', 'x'), entry('others', 'y')];
  assert.deepEqual(withOwnEntries([], [a], 'ours', 9), [a]);
  assert.deepEqual(withOwnEntries([x, b, y], [a], 'ours', 9), [x, a, y]);
  assert.deepEqual(withOwnEntries([b, x], [a, b, c], 'ours', 9), [a, x, b, c]);
  assert.deepEqual(withOwnEntries([a, x, b, y], [c], 'ours', 9), [c, x, y]);
  assert.deepEqual(withOwnEntries([a, x], [], 'ours', 9), [x]);
  // Our own entries are dropped if there is no room.
  assert.deepEqual(withOwnEntries([x, y], [a, b], 'ours', 3), [x, y, a]);
  assert.deepEqual(withOwnEntries([x, y], [a], 'ours', 1), [x, y]);
});
