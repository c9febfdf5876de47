import { createReadStream } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { quietMoment } from '../accounting.ts';
import type { BenchArguments } from '../arguments.ts';
import { has } from '../tools.ts';
import { check } from './check.ts';
import { bestOf, disturbed, measure, type Sample } from './measure.ts';
import { proxies, type Options, type ProxyName, type Running } from './proxies.ts';
import { tables, type Row, type Table } from './sections.ts';
import { openSetting, type Setting } from './setting.ts';

/** The result of a row. */
export interface Cell {
  readonly table: Table;
  readonly row: Row;
  /** A sample of each round, without those that others disturbed, unless all are. */
  readonly samples: readonly Sample[];
  readonly disturbed: boolean;
  /** The failures of all rounds. */
  readonly failed: number;
  /** Lines the process logged for each request it served, over all its rows; undefined where it has no log. */
  readonly logged: number | undefined;
}

interface OpenCell {
  readonly table: Table;
  readonly row: Row;
  readonly running: Running;
  readonly samples: Sample[];
}

/**
 * Every table, one after the other, in rounds: each round measures all rows once, so that a noisy minute hits all of
 * them alike.
 */
export async function benchHttp(
  args: BenchArguments,
  directory: string,
  cores: readonly [number, number],
): Promise<Cell[]> {
  const chosen = tables.filter(({ section, name }) => args.wants(section, name) && possible(section));
  if (chosen.length === 0) return [];
  await using stack = new AsyncDisposableStack();
  const setting = await openSetting(directory, cores);
  stack.defer(() => setting.close());
  const processes = new Processes(setting, stack);
  const requests = new Map<Running, number>();

  const cells: OpenCell[] = [];
  for (const table of chosen) {
    const rows = table.rows.filter(({ name, proxy }) => args.proxies?.includes(name) ?? has(proxy));
    const open: OpenCell[] = [];
    for (const row of rows) {
      const running = await processes.get(row.proxy, row.options);
      await check(row.door(running, setting.token), table.workload, row.proxy !== 'direct');
      open.push({ table, row, running, samples: [] });
    }
    const take = async ({ row, running }: OpenCell, seconds: number) => {
      const sample = await measure(setting, running, table, row, seconds);
      requests.set(running, (requests.get(running) ?? 0) + sample.requests);
      return sample;
    };
    // Compilers and caches get warm on what is measured next.
    for (const cell of open) await take(cell, requests.has(cell.running) ? 1 : args.warmSeconds);
    for (let round = 1; round <= args.rounds; round++) {
      for (const cell of open) {
        const isProxy = cell.row.proxy !== 'direct';
        const sample = await bestOf(args.tries, table, isProxy, async () => {
          await quietMoment(cores, args.wait);
          return await take(cell, Math.max(args.seconds, table.workload.leastSeconds ?? 0));
        });
        cell.samples.push(sample);
        console.log(describe(round, args.rounds, cell, sample));
      }
    }
    cells.push(...open);
  }
  return await withLogs(cells, requests);
}

function describe(round: number, rounds: number, { table, row }: OpenCell, sample: Sample): string {
  return (
    `${table.name.padEnd(11)} ${round}/${rounds} ${row.name.padEnd(17)}` +
    `${sample.cpuPerRequest.toFixed(1).padStart(8)} us ${sample.requestsPerSecond.toFixed(0).padStart(7)}/s` +
    `  p99 ${sample.p99.toFixed(1).padStart(6)} ms  core ${(sample.fullness * 100).toFixed(0).padStart(3)} %` +
    `  others ${(sample.foreign * 100).toFixed(0).padStart(3)} %${sample.failed > 0 ? `  ${sample.failed} FAILED` : ''}`
  );
}

function possible(section: string): boolean {
  if (section !== 'h2' || has('h2load')) return true;
  console.log('h2: left out, h2load is not installed (npm run bench:setup)');
  return false;
}

/** The candidates' processes: those with the same options serve several tables. */
class Processes {
  readonly #setting: Setting;
  readonly #stack: AsyncDisposableStack;
  readonly #running = new Map<string, Running>();

  constructor(setting: Setting, stack: AsyncDisposableStack) {
    this.#setting = setting;
    this.#stack = stack;
  }

  async get(name: ProxyName, options: Options): Promise<Running> {
    const key = JSON.stringify([name, options]);
    const known = this.#running.get(key);
    if (known !== undefined) return known;
    const running: Running = await proxies[name](this.#setting, options);
    const { program } = running;
    if (program !== undefined) this.#stack.defer(() => program.stop());
    this.#running.set(key, running);
    return running;
  }
}

async function withLogs(cells: readonly OpenCell[], requests: ReadonlyMap<Running, number>): Promise<Cell[]> {
  // Envoy writes its log every ten seconds when there is little of it, the others sooner.
  if (cells.some(({ running }) => running.accessLog !== undefined)) await delay(11_000);
  const logged = new Map<Running, number>();
  for (const [running, count] of requests) {
    if (running.accessLog !== undefined) logged.set(running, (await countLines(running.accessLog)) / count);
  }
  return cells.map(({ table, row, running, samples }) => {
    const good = samples.filter(({ foreign }) => foreign <= disturbed);
    return {
      table,
      row,
      samples: good.length > 0 ? good : samples,
      disturbed: good.length === 0,
      failed: samples.reduce((sum, { failed }) => sum + failed, 0),
      logged: logged.get(running),
    };
  });
}

async function countLines(file: string): Promise<number> {
  let lines = 0;
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++;
  }
  return lines;
}
