/**
 * `npm run conformance:cel`: the CEL specification's own test data (`@bufbuild/cel-spec`) against the engine with our
 * functions (all cases), and against rules as the gateway checks and runs them (the cases about plain data). Exits 1
 * when a case fails that `expected-failures.json` does not explain, or when an explanation there is stale.
 */
import { readFile } from 'node:fs/promises';
import { core, judge, measure, score, type Expected, type Side } from './measure.ts';

const expected = JSON.parse(
  await readFile(new URL('expected-failures.json', import.meta.url), 'utf8'),
) as Expected[];

const results = measure();
const cell = (side: Side, files?: readonly string[]): string => {
  const { passed, of } = score(results, side, files);
  return (of === 0 ? '–' : `${passed}/${of}`).padStart(11);
};
const row = (name: string, files?: readonly string[]): string =>
  `${name.padEnd(18)}${cell('engine', files)}${cell('gateway', files)}`;

console.log(`${'file'.padEnd(18)}${'engine'.padStart(11)}${'gateway'.padStart(11)}`);
for (const file of new Set(results.map((result) => result.file))) console.log(row(file, [file]));
console.log(row('core', core));
console.log(row('all'));

const { unexpected, stale } = judge(results, expected);
for (const { side, id, failure } of unexpected) console.log(`FAILS  ${side}: ${id}: ${failure}`);
for (const name of stale) console.log(`STALE  ${name}: remove it from the list`);
process.exitCode = unexpected.length + stale.length > 0 ? 1 : 0;
