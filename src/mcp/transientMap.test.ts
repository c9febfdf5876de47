import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { SmallMap } from './smallMap.ts';

const step = fc.oneof(
  fc.record({ act: fc.constant('set' as const), key: fc.integer({ min: 0, max: 3 }), value: fc.nat() }),
  fc.record({ act: fc.constant('delete' as const), key: fc.integer({ min: 0, max: 3 }) }),
  fc.record({ act: fc.constant('clear' as const) }),
);

test('a small map answers as a Map does, whatever is set and deleted in whatever order', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const small = new SmallMap<number, number>();
      const model = new Map<number, number>();
      for (const one of steps) {
        if (one.act === 'set') {
          small.set(one.key, one.value);
          model.set(one.key, one.value);
        } else if (one.act === 'delete') assert.equal(small.delete(one.key), model.delete(one.key));
        else {
          small.clear();
          model.clear();
        }
        assert.equal(small.size, model.size);
        assert.deepEqual(small.entries(), [...model]);
        assert.deepEqual(small.keys(), [...model.keys()]);
        assert.deepEqual(small.values(), [...model.values()]);
        for (const key of [0, 1, 2, 3]) {
          assert.equal(small.has(key), model.has(key));
          assert.equal(small.get(key), model.get(key));
        }
      }
    }),
  );
});

test('entries can be deleted while somebody goes through them', () => {
  const small = new SmallMap<number, string>();
  for (const key of [1, 2, 3]) small.set(key, String(key));
  const seen: string[] = [];
  for (const [key, value] of small.entries()) {
    small.clear();
    seen.push(`${key} ${value}`);
  }
  assert.deepEqual(seen, ['1 1', '2 2', '3 3']);
  assert.equal(small.size, 0);
});
