/**
 * `npm run bench:large -- [--only a,b] [--rounds 10] [--no-write]`: memory and delay of large MCP results. Writes a
 * section of RESULTS.md that `npm run bench` keeps.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { resultsFile } from '../arguments.ts';
import { pickCores } from '../machine.ts';
import { withLarge } from '../report/kept.ts';
import { cases } from './cases.ts';
import { startGateway } from './gateway.ts';
import { measure, type LargeSample } from './measure.ts';
import { largeReport, type LargeRow } from './report.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string', default: '10' },
    'no-write': { type: 'boolean', default: false },
  },
});
const only = values.only?.split(',');
const rounds = Number(values.rounds);
if (!Number.isInteger(rounds) || rounds < 1 || rounds > 100) {
  console.error('--rounds takes 1 to 100');
  process.exit(2);
}
/** Each begins with a gateway of its own. */
const starts = 3;

const directory = mkdtempSync(join(tmpdir(), 'portcullis-large-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
const cores = pickCores();
// The clients of the benchmark must not take the time of the gateway's core.
execFileSync('taskset', ['-a', '-c', '-p', `${cores[1]}`, `${process.pid}`]);

const rows: LargeRow[] = [];
for (const way of cases) {
  if (only?.includes(way.name) === false) continue;
  const samples: LargeSample[] = [];
  for (let start = 0; start < starts; start++) {
    const gateway = await startGateway(directory, cores);
    try {
      samples.push(await measure(gateway, way, rounds));
    } finally {
      await gateway.stop();
    }
  }
  rows.push({ way, samples });
  console.log(largeReport([{ way, samples }]).at(-2));
}

const section = largeReport(rows);
console.log(`\n${section.join('\n')}`);
if (!values['no-write'] && only === undefined) {
  const before = existsSync(resultsFile) ? readFileSync(resultsFile, 'utf8') : '# Benchmark results\n';
  writeFileSync(resultsFile, withLarge(before, section));
}
