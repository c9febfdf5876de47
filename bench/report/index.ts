import type { BenchArguments } from '../arguments.ts';
import { describeMachine, versions } from '../machine.ts';
import { spread } from '../statistics.ts';
import { has, programs } from '../tools.ts';
import { percent } from './cells.ts';
import { httpSections } from './http.ts';
import { idleSection } from './idle.ts';
import { mcpLines, type McpFigures } from './mcp.ts';
import { keptSections, withMcp } from './kept.ts';
import { rulesSection } from './rules.ts';
import { targetSection, type Measured } from './targets.ts';

export interface Run extends Measured, McpFigures {
  readonly args: BenchArguments;
  /** Load average before the first measurement. */
  readonly loadBefore: number;
  readonly minutes: number;
}

/** The whole of RESULTS.md. */
export function report(run: Run): string {
  const { http } = run;
  const foreign = spread(http.flatMap(({ samples }) => samples.map((sample) => sample.foreign)));
  const disturbed = http.filter((cell) => cell.disturbed).length;
  const others = `; during the HTTP samples they used ${percent(foreign.median)} of a core (median; at most ${percent(foreign.max)})${disturbed > 0 ? `; ${disturbed} of ${http.length} rows have no undisturbed sample and a star` : ''}`;
  const whole = [
    '# Benchmark results',
    '',
    'Written by `npm run bench`; [README.md](README.md) says how it measures.',
    '',
    ...circumstances(run, http.length === 0 ? '' : others),
    '',
    ...targetSection(run),
    ...httpSections(http),
    ...idleSection(run.idle),
    ...rulesSection(run.rules),
    ...keptSections(run.before),
  ].join('\n');
  return withMcpOf(run, whole);
}

/** RESULTS.md as it was, with the section of MCP anew. */
export const mcpReport = (run: Run): string => withMcpOf(run, run.before);

function withMcpOf(run: Run, results: string): string {
  const lines = mcpLines(run, circumstances(run, ''));
  return lines.length === 0 ? results : withMcp(results, lines);
}

/** When, where and how it was measured. */
function circumstances({ args, loadBefore, minutes }: Run, others: string): string[] {
  const absent = Object.keys(programs).filter((program) => !has(program));
  return [
    `- Date: ${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC, ${minutes.toFixed(0)} minutes`,
    `- Machine: ${describeMachine()}`,
    `- Others on it: load average before the run ${loadBefore.toFixed(1)}${others}`,
    `- ${args.rounds} interleaved rounds of ${args.seconds} s each; a cell is the median, with the range of the rounds in brackets`,
    `- Versions: ${Object.entries(versions())
      .map(([name, version]) => `${name} ${version}`)
      .join('; ')}`,
    ...(absent.length > 0 ? [`- Not installed here, and left out: ${absent.join(', ')}`] : []),
  ];
}
