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
import { pickCores } from '../machine.ts';
import { profileWithNode } from './cpuProfile.ts';
import { httpRows, startHttpRow } from './httpRow.ts';
import { mcpRows, startMcpRow } from './mcpRow.ts';
import { nodeOptions, recordWithPerf, type Profile } from './perf.ts';

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
const isHttp = wanted !== undefined && httpRows.includes(wanted);
if (wanted === undefined || (!isHttp && !mcpRows.includes(wanted))) {
  console.error(`npm run bench:profile -- ROW [--seconds 5] [--top 12] [--cpu-prof] [--keep]\n`);
  console.error(`rows: ${[...httpRows, ...mcpRows].join(', ')}`);
  process.exit(2);
}

const directory = mkdtempSync(join(tmpdir(), 'portcullis-profile-'));
process.on('exit', () => {
  if (!values.keep) rmSync(directory, { recursive: true, force: true });
});
const seconds = Number(values.seconds);
const perf = !values['cpu-prof'] && hasPerf();
const options = perf ? nodeOptions : ['--cpu-prof', `--cpu-prof-dir=${directory}/profiles`];
const loaded = await (isHttp ? startHttpRow : startMcpRow)(wanted, directory, pickCores(), options);

let profile: Profile;
if (perf) {
  await loaded.load(3);
  const { resolve, promise: loading } = Promise.withResolvers<void>();
  const recording = loading.then(() => recordWithPerf(loaded.pid, `${directory}/perf.data`, seconds));
  const microseconds = await loaded.load(seconds + 1, resolve);
  profile = await recording;
  console.log(`${loaded.title}: ${microseconds.toFixed(1)} us under the profiler`);
  await loaded.stop();
} else {
  const microseconds = await loaded.load(seconds);
  console.log(`${loaded.title}: ${microseconds.toFixed(1)} us under the profiler`);
  await loaded.stop();
  profile = profileWithNode(`${directory}/profiles`);
}
await loaded.close();
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
