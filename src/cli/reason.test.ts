import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reasonOf } from './reason.ts';

test('the reason includes the cause of an error, and the causes of several addresses', () => {
  const refused = ['127.0.0.1:80', '::1:80'].map((where) => new Error(`connect ECONNREFUSED ${where}`));
  // As Node has it for a name with two addresses: the message is empty.
  const both = new AggregateError(refused);
  assert.equal(reasonOf(both), 'connect ECONNREFUSED 127.0.0.1:80, connect ECONNREFUSED ::1:80');
  assert.equal(
    reasonOf(new TypeError('fetch failed', { cause: both })),
    'fetch failed: connect ECONNREFUSED 127.0.0.1:80, connect ECONNREFUSED ::1:80',
  );
  assert.equal(reasonOf(refused[0]), 'connect ECONNREFUSED 127.0.0.1:80');
  assert.equal(reasonOf('no luck'), 'no luck');
});
