import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatheredBytes } from './gatheredBytes.ts';

test('a body whose head announces much takes memory for what has come', () => {
  const before = process.memoryUsage().arrayBuffers;
  const bodies = Array.from({ length: 100 }, () => new GatheredBytes(16_777_216));
  for (const body of bodies) body.add(Buffer.of(1), 0, 1);
  const taken = process.memoryUsage().arrayBuffers - before;
  assert.ok(taken < 64_000_000, `${taken} bytes`);
  assert.ok(bodies.every(({ length }) => length === 1));
});

for (const expected of [-1, 0, 10, 1_000_000, 10_000_000])
  test(`a body comes together from its pieces when ${expected} bytes are announced`, () => {
    const whole = new GatheredBytes(expected);
    const piece = Buffer.from('0123456789');
    for (let i = 0; i < 99_999; i++) whole.add(piece, 0, 10);
    const bytes = whole.finish(piece, 0, 5);
    assert.equal(bytes.length, 999_995);
    assert.equal(bytes.toString('latin1', 999_980), '012345678901234');
  });

test('bytes that come one by one take about twice their number', () => {
  const gathered = new GatheredBytes();
  const before = process.memoryUsage();
  const one = Buffer.from('x');
  for (let i = 0; i < 2_000_000; i++) gathered.add(one);
  const after = process.memoryUsage();
  const taken = after.heapUsed + after.external - before.heapUsed - before.external;
  assert.equal(gathered.length, 2_000_000);
  assert.ok(taken < 60_000_000, `${taken} bytes`);
});

for (const count of [1, 5, 200, 100_000])
  test(`the whole of ${count} pieces is taken once, and more can come afterwards`, () => {
    const gathered = new GatheredBytes();
    for (let i = 0; i < count; i++) gathered.add(Buffer.from('0123456789'), 2, 7);
    const whole = gathered.takeWhole();
    assert.equal(whole.toString(), '23456'.repeat(count));
    assert.equal(gathered.length, 0);
    assert.equal(gathered.whole().length, 0);
    gathered.add(Buffer.from('more'));
    assert.equal(gathered.whole().toString(), 'more');
    assert.equal(whole.toString('latin1', 0, 5), '23456');
  });
