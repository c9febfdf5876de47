/**
 * `npm run conformance:mcp`: the official MCP conformance suite against a fixture server directly and through the
 * gateway, which reaches it over stdio and over Streamable HTTP. Prints all of it, and exits 1 when a check came out differently that `expected-differences.json` does not
 * explain, when an explanation there is stale, or when the fixture itself fails a check.
 *
 * Options: `--direct` measures only the fixture.
 */
import { readFile } from 'node:fs/promises';
import { compare, count, judge, type ExpectedDifference } from './compare.ts';
import { measureDirect, measureGateway, ways, type Way } from './measure.ts';
import type { Results } from './suite.ts';

const revision = '2025-11-25';

const expected = JSON.parse(
  await readFile(new URL('expected-differences.json', import.meta.url), 'utf8'),
) as Record<Way, ExpectedDifference[]>;

console.log(`MCP conformance, revision ${revision}`);
const direct = await measureDirect(revision);
if (process.argv.includes('--direct')) {
  printTable(direct, undefined);
  process.exit(count(direct, 'FAILURE') > 0 ? 1 : 0);
}
const broken = count(direct, 'FAILURE');
if (broken > 0) console.log(`the fixture itself fails ${broken} check(s)`);
let wrong = broken;
for (const way of ways) {
  console.log(`\nThrough the gateway, with the fixture over ${way}`);
  const gateway = await measureGateway(revision, way);
  printTable(direct, gateway);
  const differences = compare(direct, gateway);
  const known = expected[way];
  const { unexpected, stale } = judge(differences, known);
  console.log(`\n${differences.length} check(s) differ, ${known.length} explained`);
  for (const d of unexpected)
    console.log(`  DIFFERS  ${d.scenario} / ${d.check}: direct ${d.direct}, gateway ${d.gateway}`);
  for (const d of stale) console.log(`  STALE    ${d.scenario} / ${d.check}: remove it from the list`);
  wrong += unexpected.length + stale.length;
}
process.exitCode = wrong > 0 ? 1 : 0;

/** Prints a line for each scenario: checks passed and failed on either side. */
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
