import { startIssuer } from '../../test/support/issuer.ts';
import type { BenchArguments } from '../arguments.ts';
import { has } from '../tools.ts';
import { candidates, type McpCandidate } from './candidates.ts';
import { serverCommand, type McpSetting, type RunningGateway } from './gateways.ts';
import type { LoadOrders } from './load.ts';
import { openLoad, type McpSample, type OpenLoad } from './measure.ts';

export interface McpCell {
  readonly candidate: McpCandidate;
  readonly samples: readonly McpSample[];
}

/** The runtime compiles a path of the program anew while it learns about it, for the first seconds of its use. */
export const warmSeconds = 6;

/** Every gateway once in each round. */
export async function benchMcp(
  args: BenchArguments,
  directory: string,
  cores: readonly [number, number],
): Promise<McpCell[]> {
  await using stack = new AsyncDisposableStack();
  const issuer = await startIssuer();
  stack.defer(() => issuer.close());
  const setting = { directory, issuer, token: await benchToken(issuer), gatewayCore: cores[0] };

  const cells: { candidate: McpCandidate; open: Opener; samples: McpSample[] }[] = [];
  for (const candidate of candidates) {
    if (args.proxies?.includes(candidate.name) === false) continue;
    if (candidate.needs !== undefined && !has(candidate.needs)) continue;
    const apart = candidate.apart === true ? cores[1] : cores[0];
    const open = await startCandidate(candidate, { ...setting, serverCore: apart }, cores[1], stack);
    cells.push({ candidate, open, samples: [] });
    if (candidate.start !== undefined) await sampleOnce(open, warmSeconds);
  }
  for (let round = 1; round <= args.rounds; round++) {
    for (const { candidate, open, samples } of cells) {
      const taken = await sampleOnce(open, args.seconds);
      samples.push(taken);
      console.log(
        `mcp ${round}/${args.rounds} ${candidate.name.padEnd(28)}` +
          `gateway ${taken.gatewayCpuPerCall.toFixed(1).padStart(8)} us  ` +
          `server ${taken.serverCpuPerCall.toFixed(1).padStart(7)} us ` +
          `${taken.callsPerSecond.toFixed(0).padStart(7)}/s  p99 ${taken.p99.toFixed(1)} ms`,
      );
    }
  }
  return cells;
}

/** A token that every rule of the benchmark accepts. */
export const benchToken = (issuer: McpSetting['issuer']): Promise<string> =>
  issuer.token({ aud: 'api://bench', groups: ['benchers', 'staff', 'europe'] });

/** Opens sessions with a gateway. */
export type Opener = () => Promise<OpenLoad>;

/** Loads a gateway with sessions of its own for so many seconds. @param onLoad runs when all sessions are open */
export async function sampleOnce(open: Opener, seconds: number, onLoad?: () => void): Promise<McpSample> {
  const load = await open();
  try {
    return await load.sample(seconds, onLoad);
  } finally {
    await load.close();
  }
}

/** Starts the gateway of a row. @param stack stops it, and what stands beside it */
export async function startCandidate(
  { start, sessions, work }: McpCandidate,
  setting: McpSetting,
  loadCore: number,
  stack: AsyncDisposableStack,
  onStart?: (running: RunningGateway) => void,
): Promise<Opener> {
  const running = await start?.(setting);
  for (const program of running === undefined ? [] : [running.program, ...running.beside])
    stack.defer(() => program.stop());
  if (running !== undefined) onStart?.(running);
  const target: LoadOrders['target'] =
    running === undefined ? { command: serverCommand(setting) } : { url: running.url, token: running.token };
  return () => openLoad(running, { clients: sessions, work, target }, loadCore);
}
