import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WholeBody } from './wholeBody.ts';

test('a body whose head announces much takes memory for what has come', () => {
  const before = process.memoryUsage().arrayBuffers;
  const bodies = Array.from({ length: 100 }, () => new WholeBody(16_777_216));
  for (const body of bodies) body.add(Buffer.of(1), 0, 1);
  const taken = process.memoryUsage().arrayBuffers - before;
  assert.ok(taken < 64_000_000, `${taken} bytes`);
  assert.ok(bodies.every(({ length }) => length === 1));
});

for (const expected of [-1, 0, 10, 1_000_000, 10_000_000])
  test(`a body comes together from its pieces when ${expected} bytes are announced`, () => {
    const whole = new WholeBody(expected);
    const piece = Buffer.from('0123456789');
    for (let i = 0; i < 99_999; i++) whole.add(piece, 0, 10);
    const bytes = whole.finish(piece, 0, 5);
    assert.equal(bytes.length, 999_995);
    assert.equal(bytes.toString('latin1', 999_980), '012345678901234');
  });
