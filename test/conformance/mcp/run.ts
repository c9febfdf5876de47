/**
 * `npm run conformance:mcp`: the official MCP conformance suite against a fixture server directly and through the
 * gateway. Prints the scores of every scenario, and exits 1 in these cases:
 *
 * - the fixture itself fails a check;
 * - a check has another outcome through the gateway, and `expected-differences.json` does not explain it;
 * - an explanation there is stale.
 *
 * Without options it measures both revisions directly, and all combinations. Options:
 *
 * - `--direct` measures only the fixture.
 * - `--revision 2026-07-28` measures one revision, with all of its combinations that need no bridge.
 * - `--bridged` measures the combinations that need a bridge between revisions.
 * - `--only 'stdio, with a token'` measures the combinations whose title has the text.
 */
import { parseArgs } from 'node:util';
import { combinations, isBridged, revisions, titleOf, type Combination } from './combinations.ts';
import { compare, count, entriesFor, judge } from './compare.ts';
import { expectedDifferences } from './expectedDifferences.ts';
import { measureDirect, measureGateway } from './measure.ts';
import { scoredScenarios, type Results } from './suite.ts';

const { values: options } = parseArgs({
  options: {
    direct: { type: 'boolean', default: false },
    bridged: { type: 'boolean', default: false },
    revision: { type: 'string' },
    only: { type: 'string' },
  },
});

if (options.revision !== undefined && !revisions.some((each) => each === options.revision))
  throw new Error(`--revision ${options.revision}: expected one of ${revisions.join(', ')}`);

const isSelective = options.bridged || options.revision !== undefined || options.only !== undefined;
const selected = combinations.filter(
  (each) =>
    !options.direct &&
    (options.revision ?? each.revision) === each.revision &&
    titleOf(each).includes(options.only ?? '') &&
    (!isSelective || isBridged(each) === options.bridged),
);

let wrong = 0;
for (const revision of revisions) {
  const own = selected.filter((each) => each.revision === revision);
  if (own.length === 0 && isSelective && options.revision !== revision) continue;
  const scored = await scoredScenarios(revision);
  console.log(`\nMCP conformance, revision ${revision}, directly`);
  const direct = await measureDirect(revision);
  printTable(scored, direct);
  wrong += count(direct, 'FAILURE');
  for (const combination of own) wrong += await measure(combination, direct, scored);
}
process.exitCode = wrong > 0 ? 1 : 0;

/** Measures a combination and prints it. Resolves to the number of errors. */
async function measure(
  combination: Combination,
  direct: Results,
  scored: ReadonlySet<string>,
): Promise<number> {
  console.log(`\n${titleOf(combination)}`);
  const gateway = await measureGateway(combination);
  printTable(scored, direct, gateway);
  const differences = compare(direct, gateway);
  const expected = entriesFor(expectedDifferences, combination);
  const { unexpected, stale } = judge(differences, expected);
  const scoredOnes = differences.filter(({ scenario }) => scored.has(scenario)).length;
  console.log(
    `\n${scoredOnes} scored and ${differences.length - scoredOnes} other checks differ, ${expected.length} explained`,
  );
  for (const { scenario, check, reason } of expected)
    console.log(`  KNOWN    ${scenario} / ${check}: ${reason}`);
  for (const { scenario, check, direct: one, gateway: two, problem } of unexpected)
    console.log(
      `  DIFFERS  ${scenario} / ${check}: direct ${one}, gateway ${two} (${problem ?? 'no complaint'})`,
    );
  for (const { scenario, check } of stale)
    console.log(`  STALE    ${scenario} / ${check}: remove it from the list`);
  return unexpected.length + stale.length;
}

/** Prints a line for each scenario: checks passed and failed on either side. */
function printTable(scored: ReadonlySet<string>, left: Results, right?: Results): void {
  const cell = (results: Results) => `${count(results, 'SUCCESS')}/${count(results, 'FAILURE')}`.padStart(8);
  const part = (results: Results, names: ReadonlySet<string>): Results =>
    new Map([...results].filter(([scenario]) => names.has(scenario)));
  const row = (name: string, names: ReadonlySet<string>) =>
    console.log(
      `${name.padEnd(50)}${[left, ...(right ? [right] : [])].map((each) => cell(part(each, names))).join('')}`,
    );
  const all = new Set([...left.keys(), ...(right?.keys() ?? [])]);
  console.log(`\n${'scenario (checks passed/failed)'.padEnd(50)}  direct${right ? ' gateway' : ''}`);
  for (const scenario of all)
    row(`${scenario}${scored.has(scenario) ? '' : ' (not scored)'}`, new Set([scenario]));
  row('total, scored', scored);
  row('total', all);
}
