import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compare, count, judge, type ExpectedDifference } from './compare.ts';
import type { Results } from './suite.ts';

const results = (data: Record<string, Record<string, string>>): Results =>
  new Map(Object.entries(data).map(([scenario, checks]) => [scenario, new Map(Object.entries(checks))]));

const direct = results({ ping: { ping: 'SUCCESS', wire: 'SUCCESS' }, tools: { list: 'INFO+SUCCESS' } });

test('equal runs have no difference', () => {
  assert.deepEqual(compare(direct, direct), []);
});

test('a changed outcome, a missing check and a missing scenario are differences', () => {
  const gateway = results({ ping: { ping: 'FAILURE' } });
  assert.deepEqual(compare(direct, gateway), [
    { scenario: 'ping', check: 'ping', direct: 'SUCCESS', gateway: 'FAILURE' },
    { scenario: 'ping', check: 'wire', direct: 'SUCCESS', gateway: 'absent' },
    { scenario: 'tools', check: 'list', direct: 'INFO+SUCCESS', gateway: 'absent' },
  ]);
});

test('an explanation excuses exactly the difference it names', () => {
  const [first, second, third] = compare(direct, results({ ping: { ping: 'FAILURE' } }));
  const known: ExpectedDifference = { ...first!, reason: 'why' };
  assert.deepEqual(judge([first!, second!, third!], [known]).unexpected, [second, third]);
  assert.deepEqual(judge([{ ...first!, gateway: 'WARNING' }], [known]).unexpected.length, 1);
});

test('an explanation of a difference that is gone is stale', () => {
  const known = { scenario: 'ping', check: 'ping', direct: 'SUCCESS', gateway: 'FAILURE', reason: 'why' };
  assert.deepEqual(judge([], [known]).stale, [known]);
});

test('outcomes are counted by check', () => {
  assert.equal(count(direct, 'SUCCESS'), 3);
  assert.equal(count(direct, 'INFO'), 1);
});
