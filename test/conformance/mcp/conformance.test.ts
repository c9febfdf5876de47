import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { compare, count, judge, type ExpectedDifference } from './compare.ts';
import { measureDirect, measureGateway } from './measure.ts';

test('the gateway changes the outcome of no conformance check of revision 2025-11-25', async () => {
  const expected = JSON.parse(
    await readFile(new URL('expected-differences.json', import.meta.url), 'utf8'),
  ) as ExpectedDifference[];
  const direct = await measureDirect('2025-11-25');
  assert.equal(count(direct, 'FAILURE'), 0, 'the fixture itself fails');
  assert.ok(direct.size >= 30, `only ${direct.size} scenarios ran`);
  const gateway = await measureGateway('2025-11-25');
  assert.deepEqual(judge(compare(direct, gateway), expected), { unexpected: [], stale: [] });
});
