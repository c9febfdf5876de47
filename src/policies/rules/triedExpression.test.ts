import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tryOnRecord } from './triedExpression.ts';

test('the value of an expression that JSON cannot say is shown as a text, also within lists and maps', () => {
  const time = 'timestamp("2026-11-29T09:00:00.5Z")';
  const value = (source: string): unknown => {
    const tried = tryOnRecord(source, '{}');
    return 'value' in tried ? tried.value : tried.error;
  };
  assert.equal(value(time), '2026-11-29T09:00:00.500Z');
  assert.equal(value('duration("1500ms")'), '1.5s');
  assert.equal(value('9223372036854775807'), '9223372036854775807');
  assert.equal(value('0.0 / 0.0'), 'NaN');
  assert.deepEqual(value(`{"at": [${time}], "most": 9223372036854775807}`), {
    at: ['2026-11-29T09:00:00.500Z'],
    most: '9223372036854775807',
  });
});
