import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { hashed, TextTable } from './textTable.ts';

function findIn<T>(table: TextTable<T>, text: string, from: number, to: number): T | undefined {
  let hash = 0;
  for (let i = from; i < to; i++) hash = hashed(hash, text.charCodeAt(i));
  return table.find(text, from, to, hash);
}

test('a table of texts answers as a map does', () => {
  const word = fc.oneof(fc.constantFrom('', 'a', 'b', 'aa', 'Aa', 'BB', 'é', '💥'), fc.string());
  fc.assert(
    fc.property(fc.array(fc.tuple(word, fc.nat())), fc.array(word), (entries, asked) => {
      const map = new Map(entries);
      const table = new TextTable<number>();
      for (const [key, value] of entries) table.set(key, value);
      assert.equal(table.size, map.size);
      const ascending = (values: Iterable<number>): number[] => [...values].sort((a, b) => a - b);
      assert.deepEqual(ascending(table.values()), ascending(map.values()));
      for (const text of [...asked, ...map.keys()]) {
        assert.equal(table.get(text), map.get(text));
        assert.equal(findIn(table, `>${text}<`, 1, 1 + text.length), map.get(text));
      }
    }),
  );
});

test('texts with the same hash are told apart', () => {
  // 31 × 'A' + 'a' is 31 × 'B' + 'B'.
  const same = ['AaAa', 'AaBB', 'BBAa', 'BBBB'];
  const table = new TextTable<string>();
  for (const text of same.slice(0, 3)) table.set(text, text);
  for (const text of same.slice(0, 3)) assert.equal(table.get(text), text);
  assert.equal(table.get('BBBB'), undefined);
});

test('a table of thousands finds each of its texts, and no other', () => {
  const table = new TextTable<number>();
  for (let n = 0; n < 20_000; n++) table.set(`r${n}`, n);
  for (let n = 0; n < 20_000; n++) assert.equal(table.get(`r${n}`), n);
  for (let n = 20_000; n < 40_000; n++) assert.equal(table.get(`r${n}`), undefined);
});
