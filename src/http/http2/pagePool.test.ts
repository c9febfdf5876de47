import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PAGE_BYTES, PagePool } from './pagePool.ts';

test('pages do not overlap, and a page that was given back is used again', () => {
  const pages = new PagePool();
  const first = pages.take();
  const second = pages.take();
  first.fill(1);
  second.fill(2);
  assert.equal(first.length, PAGE_BYTES);
  assert.ok(first.every((byte) => byte === 1));
  pages.give(first);
  const third = pages.take();
  assert.equal(third.byteOffset, first.byteOffset);
  third.fill(3);
  assert.ok(second.every((byte) => byte === 2));
});

test('slabs without a page in use are let go, but one', () => {
  const pages = new PagePool();
  const taken = Array.from({ length: 1_500 }, () => pages.take());
  assert.equal(pages.size, 3);
  for (const page of taken) pages.give(page);
  assert.equal(pages.size, 1);
});

test('a page given back twice is one page', () => {
  const pages = new PagePool();
  const page = pages.take();
  pages.give(page);
  pages.give(page);
  const [a, b] = [pages.take(), pages.take()];
  assert.notEqual(a.byteOffset, b.byteOffset);
});
