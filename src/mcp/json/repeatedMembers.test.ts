import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasRepeatedMembers } from './repeatedMembers.ts';

test('a member that is there twice is found at any depth, whatever the case of its letters', () => {
  for (const text of [
    '{"a":1,"a":2}',
    ' {"description":"x","Description":"y"}',
    '{"s":{"properties":[{"x":1},{"y":1,"y":2}]}}',
    '{"a":1,"\\u0061":2}',
  ])
    assert.equal(hasRepeatedMembers(text), true, text);
  for (const text of [
    '{"a":{"a":1},"b":[{"a":1},{"a":1}]}',
    '{"a":"a","b":["a","a"],"c":{"a":"\\"a\\":"}}',
    '{}',
    '[1,"a"]',
    '"a"',
  ])
    assert.equal(hasRepeatedMembers(text), false, text);
});

test('a text is read to its end, however deep it is nested', () => {
  const deep = (inside: string): string => `{"a":${'['.repeat(100_000)}${inside}${']'.repeat(100_000)}}`;
  assert.equal(hasRepeatedMembers(deep('{"b":1}')), false);
  assert.equal(hasRepeatedMembers(deep('{"b":1,"B":2}')), true);
});
