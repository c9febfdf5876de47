/**
 * `npm run conformance:mcp`: the official MCP conformance suite against a fixture server directly and through the
 * gateway. Prints both, and exits 1 when a check came out differently that `expected-differences.json` does not
 * explain, when an explanation there is stale, or when the fixture itself fails a check.
 *
 * Options: `--direct` measures only the fixture.
 */
import { readFile } from 'node:fs/promises';
import { compare, count, judge, type ExpectedDifference } from './compare.ts';
import { measureDirect, measureGateway } from './measure.ts';
import type { Results } from './suite.ts';

const revision = '2025-11-25';

const expected = JSON.parse(
  await readFile(new URL('expected-differences.json', import.meta.url), 'utf8'),
) as ExpectedDifference[];

console.log(`MCP conformance, revision ${revision}`);
const direct = await measureDirect(revision);
if (process.argv.includes('--direct')) {
  printTable(direct, undefined);
  process.exit(count(direct, 'FAILURE') > 0 ? 1 : 0);
}
const gateway = await measureGateway(revision);
printTable(direct, gateway);

const differences = compare(direct, gateway);
const { unexpected, stale } = judge(differences, expected);
console.log(`\n${differences.length} check(s) differ, ${expected.length} explained`);
for (const d of unexpected) {
  console.log(`  DIFFERS  ${d.scenario} / ${d.check}: direct ${d.direct}, gateway ${d.gateway}`);
}
for (const d of stale) console.log(`  STALE    ${d.scenario} / ${d.check}: remove it from the list`);
const broken = count(direct, 'FAILURE');
if (broken > 0) console.log(`  the fixture itself fails ${broken} check(s)`);
process.exitCode = unexpected.length + stale.length + broken > 0 ? 1 : 0;

/** One line a scenario: checks passed and failed on either side. */
function printTable(left: Results, right: Results | undefined): void {
  const row = (results: Results | undefined) =>
    results === undefined ? '' : `${count(results, 'SUCCESS')}/${count(results, 'FAILURE')}`.padStart(8);
  const only = (results: Results | undefined, scenario: string): Results | undefined =>
    results && new Map([[scenario, results.get(scenario) ?? new Map<string, string>()]]);
  console.log(`\n${'scenario (passed/failed)'.padEnd(34)}${'direct'.padStart(8)}${right ? ' gateway' : ''}`);
  for (const scenario of new Set([...left.keys(), ...(right?.keys() ?? [])])) {
    console.log(`${scenario.padEnd(34)}${row(only(left, scenario))}${row(only(right, scenario))}`);
  }
  console.log(`${'total'.padEnd(34)}${row(left)}${row(right)}`);
}
