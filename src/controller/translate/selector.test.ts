import assert from 'node:assert/strict';
import { test } from 'node:test';
import { selects } from './selector.ts';

const labels = { team: 'a', tier: 'web' };

test('every part of a selector must hold, and an empty one chooses everything', () => {
  assert.equal(selects({}, {}), true);
  assert.equal(selects({ matchLabels: { team: 'a', tier: 'web' } }, labels), true);
  assert.equal(selects({ matchLabels: { team: 'a', tier: 'db' } }, labels), false);
  assert.equal(
    selects(
      { matchLabels: { team: 'a' }, matchExpressions: [{ key: 'tier', operator: 'DoesNotExist' }] },
      labels,
    ),
    false,
  );
});

for (const [operator, values, key, expected] of [
  ['In', ['a', 'b'], 'team', true],
  ['In', ['b'], 'team', false],
  ['In', ['a'], 'absent', false],
  ['NotIn', ['b'], 'team', true],
  ['NotIn', ['a'], 'team', false],
  ['NotIn', ['a'], 'absent', true],
  ['Exists', undefined, 'team', true],
  ['Exists', undefined, 'absent', false],
  ['DoesNotExist', undefined, 'team', false],
  ['DoesNotExist', undefined, 'absent', true],
  ['Like', ['a'], 'team', false],
  ['Exists', undefined, 'toString', false],
] as const)
  test(`${operator} ${values?.join() ?? ''} about ${key} is ${expected}`, () => {
    const expression = { key, operator, ...(values === undefined ? {} : { values }) };
    assert.equal(selects({ matchExpressions: [expression] }, labels), expected);
  });
