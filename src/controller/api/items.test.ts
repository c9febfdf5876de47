import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ItemReader, ListBroken } from './items.ts';

function read(text: string, chunkBytes: number): { items: unknown[]; envelope: unknown } {
  const items: unknown[] = [];
  const reader = new ItemReader(1_000, (item) => void items.push(JSON.parse(item)));
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += chunkBytes) reader.take(bytes.subarray(at, at + chunkBytes));
  return { items, envelope: reader.envelope() };
}

const items = [
  { metadata: { name: 'a' }, data: { text: 'brackets ] } [ { and "quotes" \\ and ä' } },
  { metadata: { name: 'b', items: [{ deep: [[1], {}] }] }, items: [1, 2] },
  {},
];
const metadata = { resourceVersion: '7', items: 'no items', continue: '{"items":[' };

test('the items of a list come one by one, however the text is cut into pieces', () => {
  for (const list of [
    { kind: 'List', metadata, items },
    { items, metadata, kind: 'items' },
    { items: [], metadata },
    { items: null, metadata },
    { metadata },
  ])
    for (const text of [JSON.stringify(list), JSON.stringify(list, undefined, 2)])
      for (const chunkBytes of [1, 2, 3, 7, 64, 10_000]) {
        const got = read(text, chunkBytes);
        assert.deepEqual(got.items, list.items ?? []);
        assert.deepEqual(got.envelope, Array.isArray(list.items) ? { ...list, items: [] } : list);
      }
});

test('the reader reports a response that is not a list, within bounded memory', () => {
  assert.deepEqual(read('{"items":"[{}]","metadata":{}}', 5).envelope, { items: '[{}]', metadata: {} });
  assert.throws(() => read('{"items":[{"a":1}', 4), ListBroken);
  for (const item of ['1', '"a"', '[{}]', 'null'])
    assert.throws(() => read(`{"items":[{},${item}]}`, 4), /no object/);
  assert.throws(() => read('', 4), ListBroken);
  assert.throws(() => read('<html>', 4), ListBroken);
  assert.throws(() => read(`{"items":[{"a":"${'x'.repeat(1_000)}"}]}`, 100), /larger than 1000 bytes/);
  assert.throws(() => read(`{"a":"${'x'.repeat(2 << 20)}"}`, 65_536), /beside the items/);
});
