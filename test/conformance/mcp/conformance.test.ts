import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { compare, count, judge, type ExpectedDifference } from './compare.ts';
import { measureDirect, measureGateway, ways, type Way } from './measure.ts';

const revision = '2025-11-25';
const expected = JSON.parse(
  await readFile(new URL('expected-differences.json', import.meta.url), 'utf8'),
) as Record<Way, ExpectedDifference[]>;
const direct = await measureDirect(revision);

test('the fixture passes every conformance check of revision 2025-11-25', () => {
  assert.equal(count(direct, 'FAILURE'), 0, 'the fixture itself fails');
  assert.ok(direct.size >= 30, `only ${direct.size} scenarios ran`);
});

for (const way of ways)
  test(`the gateway changes the outcome of no conformance check, with the server over ${way}`, async () => {
    const gateway = await measureGateway(revision, way);
    assert.deepEqual(judge(compare(direct, gateway), expected[way]), { unexpected: [], stale: [] });
  });
