import type { BenchArguments } from '../arguments.ts';
import { candidates, type Candidate, type Running } from './candidates.ts';
import { check, measure, type Sample } from './measure.ts';
import { openSetting } from './setting.ts';
import { workloads, type Workload } from './workloads.ts';

/** All samples of one candidate under one workload. */
export interface Cell {
  readonly workload: Workload;
  readonly candidate: Candidate;
  readonly samples: readonly Sample[];
}

/**
 * Every workload against every candidate, in rounds: each round measures all of them once, so that a noisy minute
 * hits all alike.
 */
export async function benchHttp(
  args: BenchArguments,
  directory: string,
  cores: readonly [number, number],
): Promise<Cell[]> {
  await using stack = new AsyncDisposableStack();
  const setting = await openSetting(directory, cores);
  stack.defer(() => setting.close());

  const chosen = candidates.filter(({ name }) => args.candidates?.includes(name) ?? true);
  const cells: { workload: Workload; candidate: Candidate; running: Running; samples: Sample[] }[] = [];
  for (const candidate of chosen) {
    const running = await candidate.start(setting);
    if (running.program !== undefined) {
      const { program } = running;
      stack.defer(() => program.stop());
    }
    for (const workload of workloads) {
      if (args.workloads?.includes(workload.name) === false) continue;
      if (candidate.workloads?.includes(workload.name) === false) continue;
      await check(running, workload, candidate.name !== 'direct');
      cells.push({ workload, candidate, running, samples: [] });
    }
    // Compilers and caches get warm on what is measured first.
    const first = workloads[0];
    if (first !== undefined) await measure(running, first, cores[1], 2);
  }

  cells.sort((a, b) => workloads.indexOf(a.workload) - workloads.indexOf(b.workload));
  for (let round = 1; round <= args.rounds; round++) {
    for (const { workload, candidate, running, samples } of cells) {
      const sample = await measure(running, workload, cores[1], args.seconds);
      samples.push(sample);
      console.log(
        `http ${round}/${args.rounds} ${workload.name.padEnd(5)} ${candidate.name.padEnd(15)}` +
          `${sample.cpuPerRequest.toFixed(1).padStart(9)} us ${sample.requestsPerSecond.toFixed(0).padStart(8)}/s` +
          `  p99 ${sample.p99.toFixed(1)} ms${sample.failed > 0 ? `  ${sample.failed} FAILED` : ''}`,
      );
    }
  }
  return cells;
}
