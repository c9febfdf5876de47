import { startIssuer } from '../../test/support/issuer.ts';
import { candidates, type McpCandidate } from '../mcp/candidates.ts';
import type { RunningGateway } from '../mcp/gateways.ts';
import { benchToken, startCandidate } from '../mcp/run.ts';
import type { StartRow } from './loadedRow.ts';

const known = new Map<string, McpCandidate>(
  candidates
    .filter(({ start, needs }) => start !== undefined && needs === undefined)
    .map((one) => [`mcp/${one.name}`, one]),
);

export const mcpRows: readonly string[] = [...known.keys()];

export const startMcpRow: StartRow = async (name, directory, [gatewayCore, loadCore], nodeOptions) => {
  const candidate = known.get(name)!;
  const stack = new AsyncDisposableStack();
  const issuer = await startIssuer();
  stack.defer(() => issuer.close());
  let running: RunningGateway | undefined;
  const serverCore = candidate.apart === true ? loadCore : gatewayCore;
  const token = await benchToken(issuer);
  const sample = await startCandidate(
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
    load: async (seconds, onLoad) => (await sample(seconds, onLoad)).gatewayCpuPerCall,
    stop: () => program.stop(),
    close: () => stack.disposeAsync(),
  };
};
