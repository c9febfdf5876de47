import assert from 'node:assert/strict';
import { test } from 'node:test';
import { combinations, titleOf } from './combinations.ts';
import { compare, count, entriesFor, judge, type ExpectedDifference } from './compare.ts';
import type { Results } from './suite.ts';

const results = (data: Record<string, Record<string, string>>): Results =>
  new Map(
    Object.entries(data).map(([scenario, checks]) => [
      scenario,
      new Map(Object.entries(checks).map(([id, outcome]) => [id, { outcome }])),
    ]),
  );

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

test('an explanation by the time limit of the suite is never stale', () => {
  const [first] = compare(direct, results({ ping: { ping: 'FAILURE' } }));
  const known: ExpectedDifference = { ...first!, reason: 'why', mayPass: true };
  assert.deepEqual(judge([first!], [known]), { unexpected: [], stale: [] });
  assert.deepEqual(judge([], [known]), { unexpected: [], stale: [] });
});

test('outcomes are counted by check', () => {
  assert.equal(count(direct, 'SUCCESS'), 3);
  assert.equal(count(direct, 'INFO'), 1);
});

test('a difference tells the complaint about the gateway', () => {
  const gateway: Results = new Map([
    ['ping', new Map([['ping', { outcome: 'FAILURE', problem: 'no answer' }]])],
  ]);
  assert.equal(compare(direct, gateway)[0]?.problem, 'no answer');
});

test('an entry is for the combinations that have all of its parts', () => {
  const entry = { scenario: 'ping', check: 'ping', direct: 'SUCCESS', gateway: 'FAILURE', reason: 'why' };
  const narrow: ExpectedDifference = { ...entry, revision: '2026-07-28', eras: 'legacy', token: false };
  const titles = (list: ExpectedDifference[]) =>
    combinations.filter((each) => entriesFor(list, each).length > 0).map(titleOf);
  assert.deepEqual(titles([narrow]), [
    '2026-07-28 over stdio, without a token, to a legacy server',
    '2026-07-28 over Streamable HTTP, without a token, to a legacy server',
  ]);
  assert.equal(titles([entry]).length, 16);
});
