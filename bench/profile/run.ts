/**
 * `npm run bench:profile -- ROW [--seconds N] [--cpu-prof] [--keep]`: where the CPU time of portcullis goes while a row of
 * the benchmark loads it. With `perf` on the machine the kernel's share is taken apart, too; without it Node's own
 * profiler tells JavaScript from the rest.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { measure } from '../http/measure.ts';
import { startPortcullis, type Running } from '../http/proxies.ts';
import { tables, type Row, type Table } from '../http/sections.ts';
import { openSetting } from '../http/setting.ts';
import { pickCores } from '../machine.ts';
import { profileWithNode } from './cpuProfile.ts';
import { nodeOptions, recordWithPerf, type Profile } from './perf.ts';

const known = tables.flatMap((table) =>
  table.rows.filter(({ proxy }) => proxy === 'portcullis').map((row) => ({ table, row })),
);

/** `get`, or `routes/portcullis-10000` where a table has several rows of ours. */
const nameOf = ({ table, row }: { table: Table; row: Row }) =>
  row.name === 'portcullis' ? table.name : `${table.name}/${row.name}`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '5' },
    top: { type: 'string', default: '12' },
    'cpu-prof': { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
});
const [wanted] = positionals;
const chosen = known.find((entry) => nameOf(entry) === wanted);
if (chosen === undefined) {
  console.error(`npm run bench:profile -- ROW [--seconds 5] [--top 12] [--cpu-prof] [--keep]\n`);
  console.error(`rows: ${known.map(nameOf).join(', ')}`);
  process.exit(2);
}

const directory = mkdtempSync(join(tmpdir(), 'portcullis-profile-'));
process.on('exit', () => {
  if (!values.keep) rmSync(directory, { recursive: true, force: true });
});
const seconds = Number(values.seconds);
const { table, row } = chosen;
const perf = !values['cpu-prof'] && hasPerf();
const setting = await openSetting(directory, pickCores());
const running: Running & { program: NonNullable<Running['program']> } = await startPortcullis(setting, {
  ...row.options,
  nodeOptions: perf ? nodeOptions : ['--cpu-prof', `--cpu-prof-dir=${directory}/profiles`],
});
const load = (length: number) => measure(setting, running, table, row, length);

let profile: Profile;
if (perf) {
  await load(3);
  const recording = recordWithPerf(running.program.pid, `${directory}/perf.data`, seconds);
  const sample = await load(seconds + 1);
  profile = await recording;
  console.log(`${table.title}: ${sample.cpuPerRequest.toFixed(1)} us/${table.unit} under the profiler`);
  await running.program.stop();
} else {
  const sample = await load(seconds);
  console.log(`${table.title}: ${sample.cpuPerRequest.toFixed(1)} us/${table.unit} under the profiler`);
  await running.program.stop();
  profile = profileWithNode(`${directory}/profiles`);
}
await setting.close();
print(profile, Number(values.top));
if (values.keep) console.log(`\nkept: ${directory}`);

function hasPerf(): boolean {
  try {
    execFileSync('perf', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Groups by share, and below each its functions by their own time. */
function print({ source, total, groups }: Profile, top: number): void {
  console.log(`${source}, ${total} samples\n`);
  const sorted = [...groups].map(([name, functions]) => ({
    name,
    functions: [...functions].sort(([, a], [, b]) => b - a),
    sum: [...functions.values()].reduce((sum, count) => sum + count, 0),
  }));
  sorted.sort((a, b) => b.sum - a.sum);
  const share = (count: number) => `${((count / total) * 100).toFixed(1).padStart(5)} %`;
  for (const { name, sum } of sorted) console.log(`${share(sum)}  ${name}`);
  for (const { name, functions, sum } of sorted) {
    console.log(`\n${share(sum)}  ${name}`);
    for (const [label, count] of functions.slice(0, top))
      console.log(`  ${share(count)}  ${label.slice(0, 110)}`);
  }
}
