import { startIssuer } from '../../test/support/issuer.ts';
import type { BenchArguments } from '../arguments.ts';
import { candidates, type McpCandidate, type RunningGateway } from './candidates.ts';
import { has } from '../tools.ts';
import { measure, type McpSample } from './measure.ts';

export interface McpCell {
  readonly candidate: McpCandidate;
  readonly samples: readonly McpSample[];
}

/** Every gateway once in each round. */
export async function benchMcp(
  args: BenchArguments,
  directory: string,
  cores: readonly [number, number],
): Promise<McpCell[]> {
  await using stack = new AsyncDisposableStack();
  const issuer = await startIssuer();
  stack.defer(() => issuer.close());
  const token = await issuer.token({ aud: 'api://bench', groups: ['benchers', 'staff', 'europe'] });
  const setting = { directory, issuer, token, gatewayCore: cores[0] };

  const cells: { candidate: McpCandidate; running: RunningGateway; samples: McpSample[] }[] = [];
  for (const candidate of candidates) {
    if (args.proxies?.includes(candidate.name) === false) continue;
    if (!has(candidate.name.replace(/-(silent|apart|http|federation)$/, ''))) continue;
    const running = await candidate.start({
      ...setting,
      serverCore: candidate.apart === true ? cores[1] : cores[0],
    });
    if (running.program !== undefined) {
      const { program } = running;
      stack.defer(() => program.stop());
      for (const other of running.beside ?? []) stack.defer(() => other.stop());
    }
    cells.push({ candidate, running, samples: [] });
    if (running.program !== undefined) await measure(running, cores[1], 2);
  }
  for (let round = 1; round <= args.rounds; round++) {
    for (const { candidate, running, samples } of cells) {
      const sample = await measure(running, cores[1], args.seconds);
      samples.push(sample);
      console.log(
        `mcp ${round}/${args.rounds} ${candidate.name.padEnd(20)}` +
          `gateway ${sample.gatewayCpuPerCall.toFixed(1).padStart(8)} us  ` +
          `server ${sample.serverCpuPerCall.toFixed(1).padStart(7)} us ` +
          `${sample.callsPerSecond.toFixed(0).padStart(7)}/s  p99 ${sample.p99.toFixed(1)} ms`,
      );
    }
  }
  return cells;
}
