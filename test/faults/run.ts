/**
 * Reloads the file of a running gateway a thousand times under load, with one process and with two workers, and says
 * what was lost and what stayed: `npm run faults [-- --reloads N]`. Exit code 1 where anything was or did.
 */
import { parseArgs } from 'node:util';
import { reloadUnderLoad, type Holdings, type ReloadsReport } from '../e2e/reloads.testing.ts';

const { values } = parseArgs({ options: { reloads: { type: 'string', default: '1000' } } });
const reloads = Number(values.reloads);
if (!Number.isInteger(reloads) || reloads < 1) throw new Error('--reloads takes a number from 1 on');

/** The permitted variation of the heap between two looks at it. */
const slackBytes = 64 * 1_048_576;

const MiB = (bytes: number): string => (bytes / 1_048_576).toFixed(0);
const shown = ({ processes, descriptors, threads, residentBytes }: Holdings): string =>
  `${processes} processes, ${descriptors} files, ${threads} threads, ${MiB(residentBytes)} MiB resident`;

/** The problems of a run, a line each. */
function problems({ failures, before, after, sessionKept, federationKept }: ReloadsReport): string[] {
  const found = failures.slice(0, 10).map((failure) => `a request failed: ${failure}`);
  if (!sessionKept) found.push('the MCP session or its event stream was lost');
  if (!federationKept) found.push('a session with several targets lost a server that no reload touched');
  if (after.processes !== before.processes) found.push('another number of processes');
  if (after.descriptors > before.descriptors) found.push('files stayed open');
  if (after.threads > before.threads) found.push('threads stayed');
  if (after.residentBytes > before.residentBytes + slackBytes * before.processes) found.push('memory grew');
  return found;
}

for (const workers of [1, 2]) {
  const name = workers === 1 ? 'one process' : 'two workers';
  const report = await reloadUnderLoad({
    workers,
    warmUp: Math.min(100, reloads),
    reloads,
    onProgress: (done) => console.error(`${name}: ${done} of ${reloads}`),
  });
  const { served, failures, before, after, medianMs } = report;
  console.log(
    `${name}: ${reloads} reloads, ${medianMs.toFixed(0)} ms each (median); ${served} requests, ${failures.length} failed`,
  );
  console.log(`  before: ${shown(before)}\n  after:  ${shown(after)}`);
  for (const problem of problems(report)) {
    console.log(`  ${problem}`);
    process.exitCode = 1;
  }
}
