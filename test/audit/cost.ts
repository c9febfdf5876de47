import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pickCores } from '../../bench/machine.ts';
import { candidates } from '../../bench/mcp/candidates.ts';
import { benchToken, startCandidate, warmSeconds, type Sampler } from '../../bench/mcp/run.ts';
import { spread, type Spread } from '../../bench/statistics.ts';
import { startIssuer } from '../support/issuer.ts';

/** Rows of the benchmark that differ in nothing but the stream. */
const rows = { off: 'portcullis-http', on: 'portcullis-http-audited' } as const;
/** One process may differ from the next by more than the stream costs: each compiles its code in another way. */
const gatewaysOfRow = 3;
const rounds = 14;
const sampleSeconds = 1;

/** Microseconds of CPU time that a gateway uses for a call at full load. */
export interface StreamCost {
  readonly off: Spread;
  readonly on: Spread;
  /**
   * The difference of the least of each: other work on the machine only ever adds time, to some samples more than the
   * stream does.
   */
  readonly more: number;
  /** The median of the differences of two samples that followed each other, with what the machine added. */
  readonly disturbed: number;
}

/** Measures a call with and without a stream with a chain, in several gateways of each kind, which take turns. */
export async function streamCost(): Promise<StreamCost> {
  await using stack = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), 'portcullis-audit-cost-'));
  stack.defer(() => rmSync(directory, { recursive: true }));
  const issuer = await startIssuer();
  stack.defer(() => issuer.close());
  const [gatewayCore, serverCore] = pickCores();
  const setting = { directory, issuer, token: await benchToken(issuer), gatewayCore, serverCore };
  const startOne = async (name: string): Promise<Sampler> => {
    const candidate = candidates.find((row) => row.name === name);
    if (candidate === undefined) throw new Error(`the benchmark has no row ${name}`);
    const sample = await startCandidate(candidate, setting, serverCore, stack);
    await sample(warmSeconds);
    return sample;
  };
  const pairs: Record<keyof typeof rows, Sampler>[] = [];
  while (pairs.length < gatewaysOfRow)
    pairs.push({ off: await startOne(rows.off), on: await startOne(rows.on) });
  const costs: Record<keyof typeof rows, number>[] = [];
  const costOf = async (sample: Sampler): Promise<number> => (await sample(sampleSeconds)).gatewayCpuPerCall;
  for (let round = 0; round < rounds; round++)
    for (const pair of pairs) {
      // Each goes first as often as the other.
      const first = round % 2 === 0 ? await costOf(pair.on) : undefined;
      const off = await costOf(pair.off);
      costs.push({ off, on: first ?? (await costOf(pair.on)) });
    }
  const off = spread(costs.map((one) => one.off));
  const on = spread(costs.map((one) => one.on));
  const { median: disturbed } = spread(costs.map((one) => one.on - one.off));
  return { off, on, more: on.min - off.min, disturbed };
}
