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
/** Gateways of one row differ by more than the stream costs, because each compiles its code in its own way. */
const gatewaysOfRow = 3;
const rounds = 100;
/** Short ones: others on the machine change what a call costs within seconds, for both alike. */
const sampleSeconds = 0.25;

/** Microseconds of CPU time that a gateway uses for a call at full load. */
export interface StreamCost {
  readonly off: Spread;
  readonly on: Spread;
  /** Differences of two samples that followed each other. */
  readonly more: Spread;
}

/** Measures a call with and without a stream with a chain, in several gateways of each kind, which take turns. */
export async function streamCost(): Promise<StreamCost> {
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
  const costOf = async (load: OpenLoad): Promise<number> =>
    (await load.sample(sampleSeconds)).gatewayCpuPerCall;
  const pairs: Record<keyof typeof rows, OpenLoad>[] = [];
  while (pairs.length < gatewaysOfRow)
    pairs.push({ off: await startOne(rows.off), on: await startOne(rows.on) });
  const costs: Record<keyof typeof rows, number>[] = [];
  for (let round = 0; round < rounds; round++)
    for (const { off, on } of pairs) {
      // Each goes first as often as the other.
      const first = round % 2 === 0 ? await costOf(on) : undefined;
      const without = await costOf(off);
      costs.push({ off: without, on: first ?? (await costOf(on)) });
    }
  return {
    off: spread(costs.map(({ off }) => off)),
    on: spread(costs.map(({ on }) => on)),
    more: spread(costs.map(({ off, on }) => on - off)),
  };
}
