import assert from 'node:assert/strict';
import { test } from 'node:test';
import { groupOf, operationOf } from './operationGroups.ts';

test('a method that is named like an operation of the gateway gets a mark, and counts as a call', () => {
  const taken = ['config.load', 'pin.approve', 'gateway.stop', 'audit.stop', 'admin.x', 'method:admin.x'];
  for (const method of [...taken, 'session/delete', 'stream/open', 'request.refused']) {
    assert.equal(operationOf(method), `method:${method}`);
    assert.equal(groupOf(operationOf(method)), 'calls');
  }
});

test('other methods are operations as they are', () => {
  for (const method of ['tools/call', 'tools/list', 'initialize', 'ping', 'odd/method', 'com.example/admin'])
    assert.equal(operationOf(method), method);
});
