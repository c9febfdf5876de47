import { createReadStream } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
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
  /** Lines the candidate logged over all workloads for each request it served; undefined without a proxy. */
  readonly logged: number | undefined;
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

  const chosen = candidates
    .filter(({ name }) => args.candidates?.includes(name) ?? true)
    .filter(
      ({ workloads: own }) => own === undefined || own.some((name) => args.workloads?.includes(name) ?? true),
    );
  const cells: { workload: Workload; candidate: Candidate; running: Running; samples: Sample[] }[] = [];
  const requests = new Map<Running, number>();
  const counted = (running: Running, sample: Sample) => {
    requests.set(running, (requests.get(running) ?? 0) + sample.requests);
    return sample;
  };
  for (const candidate of chosen) {
    const running = await candidate.start(setting);
    if (running.program !== undefined) {
      const { program } = running;
      stack.defer(() => program.stop());
    }
    for (const workload of workloads) {
      if (args.workloads?.includes(workload.name) === false) continue;
      if (!(candidate.workloads?.includes(workload.name) ?? workload.name !== 'routes')) continue;
      await check(running, workload, candidate.name !== 'direct');
      cells.push({ workload, candidate, running, samples: [] });
    }
    // Compilers and caches get warm on what is measured first.
    const first = workloads[0];
    if (first !== undefined) counted(running, await measure(running, first, cores[1], 3));
  }

  cells.sort((a, b) => workloads.indexOf(a.workload) - workloads.indexOf(b.workload));
  for (let round = 1; round <= args.rounds; round++) {
    for (const { workload, candidate, running, samples } of cells) {
      const sample = counted(running, await measure(running, workload, cores[1], args.seconds));
      samples.push(sample);
      console.log(
        `http ${round}/${args.rounds} ${workload.name.padEnd(5)} ${candidate.name.padEnd(15)}` +
          `${sample.cpuPerRequest.toFixed(1).padStart(9)} us ${sample.requestsPerSecond.toFixed(0).padStart(8)}/s` +
          `  p99 ${sample.p99.toFixed(1)} ms${sample.failed > 0 ? `  ${sample.failed} FAILED` : ''}`,
      );
    }
  }
  // Logs are written in batches by some.
  await delay(2000);
  const logged = new Map<Running, number>();
  for (const [running, count] of requests) {
    if (running.accessLog !== undefined) logged.set(running, (await countLines(running.accessLog)) / count);
  }
  return cells.map((cell) => ({ ...cell, logged: logged.get(cell.running) }));
}

async function countLines(file: string): Promise<number> {
  let lines = 0;
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++;
  }
  return lines;
}
