import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodedValue, headerValue } from './mirroredHeaders.ts';

/** The examples of the specification, and values that would break a head. */
const values = [
  ['us-west1', 'us-west1'],
  ['two words', 'two words'],
  ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='],
  [' padded ', '=?base64?IHBhZGRlZCA=?='],
  ['line1\nline2', '=?base64?bGluZTEKbGluZTI=?='],
  ['=?base64?literal?=', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='],
  ['a\r\nset-cookie: x', '=?base64?YQ0Kc2V0LWNvb2tpZTogeA==?='],
  ['', '=?base64??='],
  ['\t', '=?base64?CQ==?='],
  ['x', 'x'],
] as const;

test('values that a header cannot carry become Base64, and come back', () => {
  for (const [value, header] of values) {
    assert.equal(headerValue(value), header);
    assert.equal(decodedValue(header), value);
  }
});
