import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failureReason } from './failureReason.ts';

test('a reason keeps the names of the expression, and no value of the request', () => {
  assert.equal(failureReason('field not found: groups', 'jwt.groups == 1'), 'field not found: groups');
  assert.equal(failureReason('field not found: private', 'jwt[request.path]'), 'field not found');
  assert.equal(failureReason('jwt has no value here', 'jwt.a'), 'has no value here');
  assert.equal(failureReason('the text is no int', 'int(request.path)'), 'the text is no int');
  assert.equal(failureReason('not an IP address: private', 'ip(request.path)'), 'not an IP address');
  assert.equal(failureReason('private', 'fail(request.path)'), 'the evaluation failed');
});
