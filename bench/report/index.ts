import type { BenchArguments } from '../arguments.ts';
import { describeMachine, versions } from '../machine.ts';
import { spread } from '../statistics.ts';
import { has, programs } from '../tools.ts';
import { percent } from './cells.ts';
import { httpSections } from './http.ts';
import { idleSection } from './idle.ts';
import { mcpSection } from './mcp.ts';
import { keptSections } from './kept.ts';
import { rulesSection } from './rules.ts';
import { targetSection, type Measured } from './targets.ts';

export interface Run extends Measured {
  readonly args: BenchArguments;
  /** Load average before the first measurement. */
  readonly loadBefore: number;
  readonly minutes: number;
}

/** The whole of RESULTS.md. */
export function report(run: Run): string {
  const { args, http } = run;
  const foreign = spread(http.flatMap(({ samples }) => samples.map((sample) => sample.foreign)));
  const disturbed = http.filter((cell) => cell.disturbed).length;
  const absent = Object.keys(programs).filter((program) => !has(program));
  return [
    '# Benchmark results',
    '',
    'Written by `npm run bench`; [README.md](README.md) says how it measures.',
    '',
    `- Date: ${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC, ${run.minutes.toFixed(0)} minutes`,
    `- Machine: ${describeMachine()}`,
    `- Others on it: load average before the run ${run.loadBefore.toFixed(1)}; during the HTTP samples they used ${percent(foreign.median)} of a core (median; at most ${percent(foreign.max)})${disturbed > 0 ? `; ${disturbed} of ${http.length} rows have no undisturbed sample and a star` : ''}`,
    `- ${args.rounds} interleaved rounds of ${args.seconds} s each; a cell is the median, with the range of the rounds in brackets`,
    `- Versions: ${Object.entries(versions())
      .map(([name, version]) => `${name} ${version}`)
      .join('; ')}`,
    ...(absent.length > 0 ? [`- Not installed here, and left out: ${absent.join(', ')}`] : []),
    '',
    ...targetSection(run),
    ...httpSections(http),
    ...idleSection(run.idle),
    ...mcpSection(run.mcp),
    ...rulesSection(run.rules),
    ...keptSections(run.before),
  ].join('\n');
}
