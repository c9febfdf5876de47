import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OpenOperations, type ListedOperation } from './openOperations.ts';

test('the list has the operations that have not ended, in any order of their ends', () => {
  const open = new OpenOperations<ListedOperation>();
  const operations = Array.from({ length: 50 }, (): ListedOperation => ({ place: -1 }));
  for (const one of operations) open.add(one);
  const left = new Set(operations);
  for (let step = 0; step < 50; step++) {
    const one = operations[(step * 17) % 50]!;
    assert.equal(open.remove(one), true);
    assert.equal(open.remove(one), false);
    left.delete(one);
    assert.deepEqual(new Set(open.all), left);
    if (step % 10 === 0) {
      open.add(one);
      assert.equal(open.remove(one), true);
    }
  }
  assert.deepEqual(open.all, []);
});
