import { startIssuer } from '../../test/support/issuer.ts';
import { candidates, type McpCandidate } from '../mcp/candidates.ts';
import type { RunningGateway } from '../mcp/gateways.ts';
import type { OpenLoad } from '../mcp/measure.ts';
import { benchToken, sampleOnce, startCandidate } from '../mcp/run.ts';
import type { LoadedRow, StartRow } from './loadedRow.ts';

const known = new Map<string, McpCandidate>(
  candidates
    .filter(({ start, needs }) => start !== undefined && needs === undefined)
    .map((one) => [`mcp/${one.name}`, one]),
);

export const mcpRows: readonly string[] = [...known.keys()];

export interface LoadedMcpRow extends LoadedRow {
  /** Opens sessions for samples that follow each other closely. */
  open(): Promise<OpenLoad>;
}

export const startMcpRow: StartRow<LoadedMcpRow> = async (
  name,
  directory,
  [gatewayCore, loadCore],
  nodeOptions,
) => {
  const candidate = known.get(name)!;
  const stack = new AsyncDisposableStack();
  const issuer = await startIssuer();
  stack.defer(() => issuer.close());
  let running: RunningGateway | undefined;
  const serverCore = candidate.apart === true ? loadCore : gatewayCore;
  const token = await benchToken(issuer);
  const open = await startCandidate(
    candidate,
    { directory, issuer, token, gatewayCore, serverCore, nodeOptions },
    loadCore,
    stack,
    (started) => (running = started),
  );
  const { program } = running!;
  return {
    title: candidate.title,
    pid: program.pid,
    open,
    load: async (seconds, onLoad) => (await sampleOnce(open, seconds, onLoad)).gatewayCpuPerCall,
    stop: () => program.stop(),
    close: () => stack.disposeAsync(),
  };
};
