import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pickCores } from '../../bench/machine.ts';
import { warmSeconds } from '../../bench/mcp/run.ts';
import type { OpenLoad } from '../../bench/mcp/measure.ts';
import { startMcpRow } from '../../bench/profile/mcpRow.ts';
import { spread, type Spread } from '../../bench/statistics.ts';

/** Rows of the benchmark that differ in nothing but the stream. */
const rows = { off: 'mcp/portcullis-http', on: 'mcp/portcullis-http-audited' } as const;
/**
 * Pairs of gateways, one after the other: gateways of one row differ by more than the stream costs, because each compiles
 * its code in its own way. Many gateways at a time would push each other out of the processor's caches.
 */
const pairs = 6;
const roundsOfPair = 25;
/** Short ones: others on the machine change what a call costs within seconds, for both alike. */
const sampleSeconds = 0.4;

/** Microseconds of CPU time that a gateway uses for a call. */
export interface StreamCost {
  readonly off: Spread;
  readonly on: Spread;
  /** Differences of two samples that followed each other. */
  readonly more: Spread;
}

/** Microseconds of CPU time of a call in two gateways. */
export interface Costs {
  readonly off: number;
  readonly on: number;
}

/** Measures a call at full load with and without a stream with a chain, in pairs of gateways that take turns. */
export const streamCost = (): Promise<StreamCost> => costOfPairs(pairs, costsOfPair);

/** Measures pairs of gateways, one after the other. @param measure starts and measures one pair */
export async function costOfPairs(count: number, measure: () => Promise<Costs[]>): Promise<StreamCost> {
  const costs: Costs[] = [];
  for (let pair = 0; pair < count; pair++) costs.push(...(await measure()));
  return {
    off: spread(costs.map(({ off }) => off)),
    on: spread(costs.map(({ on }) => on)),
    more: spread(costs.map(({ off, on }) => on - off)),
  };
}

/** Measures two gateways in turns; each of them is the first one of a round as often as the other. */
export async function inTurns<T>(
  rounds: number,
  { off, on }: { readonly off: T; readonly on: T },
  costOf: (one: T) => Promise<number>,
): Promise<Costs[]> {
  const costs: Costs[] = [];
  for (let round = 0; round < rounds; round++) {
    const first = round % 2 === 0 ? await costOf(on) : undefined;
    const without = await costOf(off);
    costs.push({ off: without, on: first ?? (await costOf(on)) });
  }
  return costs;
}

async function costsOfPair(): Promise<Costs[]> {
  await using stack = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), 'portcullis-audit-cost-'));
  stack.defer(() => rmSync(directory, { recursive: true }));
  const cores = pickCores();
  const startOne = async (name: string): Promise<OpenLoad> => {
    const row = await startMcpRow(name, directory, cores, []);
    stack.defer(() => row.close());
    const load = await row.open();
    stack.defer(() => load.close());
    await load.sample(warmSeconds);
    return load;
  };
  const off = await startOne(rows.off);
  const on = await startOne(rows.on);
  return await inTurns(
    roundsOfPair,
    { off, on },
    async (load) => (await load.sample(sampleSeconds)).gatewayCpuPerCall,
  );
}
