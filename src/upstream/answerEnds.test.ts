import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AnswerEnds } from './answerEnds.ts';

test('connections are watched until the backend has said the length of an answer', () => {
  const ends = new AnswerEnds();
  assert.equal(ends.watch, true);
  assert.equal(ends.mustWatch, false, 'a connection that is not watched may still be used');
  ends.saidLength();
  assert.equal(ends.watch, false);
});

test('a response without a length has every later connection watched, whatever the next responses are', () => {
  const ends = new AnswerEnds();
  ends.saidLength();
  ends.endedWithConnection();
  assert.deepEqual([ends.watch, ends.mustWatch], [true, true]);
  ends.saidLength();
  assert.deepEqual([ends.watch, ends.mustWatch], [true, true]);
});
