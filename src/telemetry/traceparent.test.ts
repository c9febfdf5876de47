import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTraceparent } from './traceparent.ts';

const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
const parent = '00f067aa0ba902b7';

test('a traceparent of version 00 is read', () => {
  assert.deepEqual(parseTraceparent(`00-${trace}-${parent}-01`), {
    version: '00',
    traceId: trace,
    parentId: parent,
    sampled: true,
  });
  assert.equal(parseTraceparent(`00-${trace}-${parent}-02`)?.sampled, false);
});

test('a later version may say more behind a dash', () => {
  assert.equal(parseTraceparent(`cc-${trace}-${parent}-01`)?.version, 'cc');
  assert.equal(parseTraceparent(`cc-${trace}-${parent}-01-what-comes`)?.traceId, trace);
});

test('values that Trace Context says to ignore are ignored', () => {
  for (const bad of [
    '',
    `00-${trace}-${parent}`,
    `00-${trace}-${parent}-01-more`,
    `00-${trace}-${parent}-01.`,
    `cc-${trace}-${parent}-01.more`,
    `ff-${trace}-${parent}-01`,
    `00-${trace.toUpperCase()}-${parent}-01`,
    `00-${'0'.repeat(32)}-${parent}-01`,
    `00-${trace}-${'0'.repeat(16)}-01`,
    `00-${trace}-${parent}-0g`,
    `0-${trace}-${parent}-01`,
    ` 00-${trace}-${parent}-01`,
  ])
    assert.equal(parseTraceparent(bad), undefined, bad);
});
