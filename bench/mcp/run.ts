import { setTimeout as delay } from 'node:timers/promises';
import { startIssuer } from '../../test/support/issuer.ts';
import type { BenchArguments } from '../arguments.ts';
import { processTree } from '../processes.ts';
import { has } from '../tools.ts';
import { candidates, type McpCandidate } from './candidates.ts';
import { isCompared } from './comparisons.ts';
import { serverCommand, type McpSetting, type RunningGateway } from './gateways.ts';
import type { LoadOrders } from './load.ts';
import { measure, type McpSample } from './measure.ts';

export interface McpCell {
  readonly candidate: McpCandidate;
  readonly samples: readonly McpSample[];
}

/** The runtime compiles a path of the program anew while it learns about it, for the first seconds of its use. */
const warmSeconds = 6;
/** The time for a gateway to close the connections that were idle for too long while it slept. */
const wakeMs = 1_000;

/**
 * Every row once in each round. Two processes of one program differ by up to 15 % for as long as they live, so a row that
 * is compared with another one has a gateway of its own in each round.
 */
export async function benchMcp(
  args: BenchArguments,
  directory: string,
  cores: readonly [number, number],
): Promise<McpCell[]> {
  await using stack = new AsyncDisposableStack();
  const issuer = await startIssuer();
  stack.defer(() => issuer.close());
  const setting = { directory, issuer, token: await benchToken(issuer), gatewayCore: cores[0] };

  const cells: { candidate: McpCandidate; samplers: Sampler[]; samples: McpSample[] }[] = [];
  for (const candidate of candidates) {
    if (args.proxies?.includes(candidate.name) === false) continue;
    if (candidate.needs !== undefined && !has(candidate.needs)) continue;
    const apart = candidate.apart === true ? cores[1] : cores[0];
    const samplers: Sampler[] = [];
    for (let count = isCompared(candidate.name) ? args.rounds : 1; count > 0; count--) {
      let running: RunningGateway | undefined;
      const always = await startCandidate(
        candidate,
        { ...setting, serverCore: apart },
        cores[1],
        stack,
        (started) => (running = started),
      );
      const sample = running === undefined ? always : asleepBetween(running, always, stack);
      samplers.push(sample);
      if (running !== undefined) await sample(warmSeconds);
    }
    cells.push({ candidate, samplers, samples: [] });
  }
  for (let round = 1; round <= args.rounds; round++) {
    for (const { candidate, samplers, samples } of cells) {
      const taken = await samplers[round % samplers.length]!(args.seconds);
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

/**
 * Has a gateway sleep between its samples. Idle processes wake up now and then, and dozens of them do so on the core and
 * in the caches of the one that is measured.
 */
function asleepBetween(running: RunningGateway, sample: Sampler, stack: AsyncDisposableStack): Sampler {
  const signal = (name: 'SIGSTOP' | 'SIGCONT'): void => {
    for (const { pid: root } of [running.program, ...running.beside])
      for (const { pid } of processTree(root))
        try {
          process.kill(pid, name);
        } catch (error) {
          // The child of a session that has ended is gone meanwhile.
          if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
        }
  };
  signal('SIGSTOP');
  stack.defer(() => signal('SIGCONT'));
  return async (seconds, onLoad) => {
    signal('SIGCONT');
    await delay(wakeMs);
    try {
      return await sample(seconds, onLoad);
    } finally {
      signal('SIGSTOP');
    }
  };
}

/** A token that every rule of the benchmark accepts. */
export const benchToken = (issuer: McpSetting['issuer']): Promise<string> =>
  issuer.token({ aud: 'api://bench', groups: ['benchers', 'staff', 'europe'] });

/** Loads a gateway for so many seconds. @param onLoad runs when all sessions are open */
export type Sampler = (seconds: number, onLoad?: () => void) => Promise<McpSample>;

/** Starts the gateway of a row. @param stack stops it, and what stands beside it */
export async function startCandidate(
  { start, sessions, work }: McpCandidate,
  setting: McpSetting,
  loadCore: number,
  stack: AsyncDisposableStack,
  onStart?: (running: RunningGateway) => void,
): Promise<Sampler> {
  const running = await start?.(setting);
  for (const program of running === undefined ? [] : [running.program, ...running.beside])
    stack.defer(() => program.stop());
  if (running !== undefined) onStart?.(running);
  const target: LoadOrders['target'] =
    running === undefined ? { command: serverCommand(setting) } : { url: running.url, token: running.token };
  return (seconds, onLoad) =>
    measure(running, { clients: sessions, seconds, work, target }, loadCore, onLoad);
}
