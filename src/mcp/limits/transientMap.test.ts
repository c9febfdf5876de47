import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { collect, oldBytes } from '../../oldObjects.testing.ts';
import { TransientMap } from './transientMap.ts';

const step = fc.oneof(
  fc.record({ act: fc.constant('set' as const), key: fc.integer({ min: 0, max: 3 }), value: fc.nat() }),
  fc.record({ act: fc.constant('delete' as const), key: fc.integer({ min: 0, max: 3 }) }),
  fc.record({ act: fc.constant('clear' as const) }),
);

test('the map answers as a Map does, whatever is set and deleted in whatever order', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const map = new TransientMap<number, number>();
      const model = new Map<number, number>();
      for (const one of steps) {
        if (one.act === 'set') {
          map.set(one.key, one.value);
          model.set(one.key, one.value);
        } else if (one.act === 'delete') assert.equal(map.delete(one.key), model.delete(one.key));
        else {
          map.clear();
          model.clear();
        }
        assert.equal(map.size, model.size);
        assert.deepEqual(map.entries(), [...model]);
        assert.deepEqual(map.keys(), [...model.keys()]);
        assert.deepEqual(map.values(), [...model.values()]);
        for (const key of [0, 1, 2, 3]) {
          assert.equal(map.has(key), model.has(key));
          assert.equal(map.get(key), model.get(key));
        }
      }
    }),
  );
});

test('many entries that come and go are the same as in a Map', () => {
  const map = new TransientMap<number, number>();
  const model = new Map<number, number>();
  for (let key = 0; key < 10_000; key++) {
    map.set(key, -key);
    model.set(key, -key);
    // The map keeps one entry of a hundred.
    if (key % 100 !== 0) assert.equal(map.delete(key - 5), model.delete(key - 5));
  }
  assert.deepEqual(map.entries(), [...model]);
});

test('entries can be deleted while somebody goes through them', () => {
  const map = new TransientMap<number, string>();
  for (const key of [1, 2, 3]) map.set(key, String(key));
  const seen: string[] = [];
  for (const [key, value] of map.entries()) {
    map.clear();
    seen.push(`${key} ${value}`);
  }
  assert.deepEqual(seen, ['1 1', '2 2', '3 3']);
  assert.equal(map.size, 0);
});

test('entries that are gone do not stay in memory until the next full collection', () => {
  const map = new TransientMap<number, object>();
  for (let key = 1; key <= 8; key++) map.set(key, {});
  // The table of the entries is an old one from here on.
  collect();
  const before = oldBytes();
  for (let key = 9; key < 600_000; key++) {
    map.set(
      key,
      Array.from({ length: 16 }, () => key),
    );
    map.delete(key - 8);
  }
  // With a plain Map they are more than sixty megabytes.
  assert.ok(oldBytes() - before < 20_000_000, `${oldBytes() - before} bytes`);
});
