import assert from 'node:assert/strict';
import { test } from 'node:test';
import { revisions, tested, titleOf, type Revision } from './combinations.ts';
import { compare, count, entriesFor, judge } from './compare.ts';
import { expectedDifferences } from './expectedDifferences.ts';
import { measureDirect, measureGateway } from './measure.ts';
import { scoredScenarios, type Results } from './suite.ts';

const direct = new Map<Revision, Results>();
for (const revision of revisions) direct.set(revision, await measureDirect(revision));

for (const [revision, results] of direct)
  test(`the fixture passes every conformance check of revision ${revision}`, async () => {
    assert.equal(count(results, 'FAILURE') + count(results, 'WARNING'), 0, 'the fixture itself fails');
    const missing = [...(await scoredScenarios(revision))].filter((scenario) => !results.has(scenario));
    assert.deepEqual(missing, [], 'scenarios did not run');
  });

// `npm run conformance:mcp` measures the others, too.
for (const combination of tested)
  test(`the gateway changes the outcome of no conformance check: ${titleOf(combination)}`, async () => {
    const differences = compare(direct.get(combination.revision)!, await measureGateway(combination));
    const expected = entriesFor(expectedDifferences, combination);
    assert.deepEqual(judge(differences, expected), { unexpected: [], stale: [] });
  });
