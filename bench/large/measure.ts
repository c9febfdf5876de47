import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { processTree, residentMegabytes } from '../processes.ts';
import type { LargeCase } from './cases.ts';
import { LargeClient } from './client.ts';
import type { Download, Order } from './download.ts';
import type { LargeGateway } from './gateway.ts';

export interface LargeSample {
  /** Rise of resident memory while eight results of 12 MB pass at the same time. */
  readonly rise: number;
  /** Milliseconds of small calls of another session: alone, and while results of 15 MB pass. */
  readonly alone: readonly number[];
  readonly beside: readonly number[];
  /** Milliseconds that a result of 15 MB takes, on average. */
  readonly took: number;
}

const sessions = 8;
const samplingMs = 2;

/** Measures a gateway that was just started. */
export async function measure(gateway: LargeGateway, way: LargeCase, rounds: number): Promise<LargeSample> {
  const rise = await memory(gateway, way);
  const small = new LargeClient(new URL(`http://127.0.0.1:${gateway.port}/json`));
  await small.open();
  for (let i = 0; i < 300; i++) await small.call('echo');
  const alone = await timed(small, delay(1_500));
  const beside: number[] = [];
  let took = 0;
  await using download = await startDownload(gateway, way, 1);
  await download.run({ megabytes: 15 });
  for (let round = 0; round < rounds; round++) {
    const since = performance.now();
    const passing = download.run({ megabytes: 15 }).then(() => void (took += performance.now() - since));
    beside.push(...(await timed(small, passing)));
    await delay(50);
  }
  small.close();
  return { rise, alone, beside, took: took / rounds };
}

async function memory(gateway: LargeGateway, way: LargeCase): Promise<number> {
  await using download = await startDownload(gateway, way, sessions);
  await delay(500);
  // Without its children.
  const [own] = processTree(gateway.program.pid);
  const resident = () => residentMegabytes(own === undefined ? [] : [own]);
  const before = resident();
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, resident());
  }, samplingMs);
  await download.run({ megabytes: 12 });
  clearInterval(timer);
  return Math.max(most, resident()) - before;
}

/** Calls one after the other until the work is done. @returns the milliseconds of each */
async function timed(client: LargeClient, work: Promise<unknown>): Promise<number[]> {
  const taken: number[] = [];
  let working = true;
  const done = work.finally(() => (working = false));
  while (working) {
    const since = performance.now();
    await client.call('echo');
    taken.push(performance.now() - since);
    await delay(1);
  }
  await done;
  return taken;
}

interface Downloads extends AsyncDisposable {
  /** Resolves when every session has its result. */
  run(order: Order): Promise<void>;
}

async function startDownload(gateway: LargeGateway, way: LargeCase, count: number): Promise<Downloads> {
  const workerData: Download = { port: gateway.port, way, sessions: count };
  const worker = new Worker(new URL('download.ts', import.meta.url), { workerData });
  await once(worker, 'message');
  return {
    run: async (order) => {
      worker.postMessage(order);
      const [bytes] = (await once(worker, 'message')) as [number | string];
      if (typeof bytes === 'string' || bytes < order.megabytes * 900_000)
        throw new Error(`${way.name}: the answer is not whole: ${bytes}`);
    },
    [Symbol.asyncDispose]: async () => void (await worker.terminate()),
  };
}
