import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { core, judge, measure, score, type Expected, type Result } from './measure.ts';

const expected = JSON.parse(
  await readFile(new URL('expected-failures.json', import.meta.url), 'utf8'),
) as Expected[];
const results = measure();

test('the specification’s own cases come out as listed, on the engine and as rules of the gateway', () => {
  assert.ok(results.length > 3500, `only ${results.length} results`);
  assert.deepEqual(judge(results, expected), { unexpected: [], stale: [] });
});

test('the language itself and the strings extension pass', () => {
  assert.ok(score(results, 'engine', core).passed >= 1172);
  assert.deepEqual(score(results, 'engine', ['string_ext']), { passed: 209, of: 209 });
  const gateway = (...files: string[]) => score(results, 'gateway', files);
  assert.deepEqual(gateway('string_ext'), { passed: 206, of: 206 });
  assert.deepEqual(gateway('math_ext'), { passed: 199, of: 199 });
  assert.deepEqual(gateway('comparisons', 'conversions', 'string'), { passed: 494, of: 494 });
});

test('an unexplained failure and a stale explanation both count', () => {
  const made = (id: string, failure: string | undefined): Result => {
    return { side: 'engine', file: 'f', id, failure };
  };
  const list: Expected[] = [{ reason: 'r', side: 'engine', cases: ['a', 'b'] }];
  const verdict = judge([made('a', undefined), made('b', 'x'), made('c', 'y')], list);
  assert.deepEqual(verdict, { unexpected: [made('c', 'y')], stale: ['engine: a'] });
});
