import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorOf, messageOf, stackOf } from './errorText.ts';

test('an error gives its message, and its stack where it has one', () => {
  const error = new Error('no luck');
  assert.equal(messageOf(error), 'no luck');
  assert.match(stackOf(error), /^Error: no luck\n +at /);
  assert.equal(stackOf(Object.defineProperty(new Error('bare'), 'stack', { value: undefined })), 'bare');
  assert.equal(errorOf(error), error);
});

test('any other thrown value gives its text', () => {
  for (const read of [messageOf, stackOf, (thrown: unknown) => errorOf(thrown).message])
    assert.deepEqual([read('text'), read(7), read(undefined)], ['text', '7', 'undefined']);
});
