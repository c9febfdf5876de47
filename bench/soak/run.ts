/**
 * `npm run bench:soak -- [--minutes 10] [--no-write]`: everything at once for a while, and a look at memory. Writes a
 * section of RESULTS.md that `npm run bench` keeps.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { resultsFile } from '../arguments.ts';
import { openSetting } from '../http/setting.ts';
import { pickCores } from '../machine.ts';
import { withSoak } from '../report/kept.ts';
import { startGateway } from './gateway.ts';
import { startLoads } from './loads.ts';
import { soakReport } from './report.ts';
import { readMemory, type MemorySample } from './memory.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    'no-write': { type: 'boolean', default: false },
  },
});
const minutes = Number(values.minutes);
if (!(minutes >= 0.5 && minutes <= 120)) {
  console.error('--minutes takes 0.5 to 120');
  process.exit(2);
}

const directory = mkdtempSync(join(tmpdir(), 'portcullis-soak-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));

const setting = await openSetting(directory, pickCores());
const gateway = await startGateway(setting);
const loads = startLoads(setting, gateway);
const samples: MemorySample[] = [];
const start = performance.now();
const end = start + minutes * 60_000;
// A gateway that dies is found at once, not after ten minutes.
while (performance.now() < end && gateway.program.child.exitCode === null) {
  await delay(Math.min(5000, end - performance.now()));
  const sample = await readMemory(gateway, (performance.now() - start) / 60_000);
  samples.push(sample);
  console.log(
    `${sample.minute.toFixed(1).padStart(5)} min  RSS ${sample.resident.toFixed(0)} MB  ` +
      `heap ${sample.heap.toFixed(0)} MB  outside it ${sample.external.toFixed(0)} MB  ` +
      `files ${sample.files}  ${loads.describe()}`,
  );
}
const counts = await loads.stop();
const alive = gateway.program.child.exitCode === null;
const rest = alive ? await settled() : undefined;
const errors = gateway.errors();
await gateway.program.stop();
await setting.close();

const section = soakReport({ samples, counts, alive, rest, errors, minutes });
console.log(`\n${section.join('\n')}`);
// A short one proves nothing.
if (!values['no-write'] && minutes >= 10) {
  const before = existsSync(resultsFile) ? readFileSync(resultsFile, 'utf8') : '# Benchmark results\n';
  writeFileSync(resultsFile, withSoak(before, section));
}

/** The memory that is left when all clients have gone and the collector has had time. */
async function settled(): Promise<MemorySample> {
  await delay(Math.min(20_000, minutes * 5000));
  return await readMemory(gateway, (performance.now() - start) / 60_000);
}
