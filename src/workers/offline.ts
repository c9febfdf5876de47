import { createKeySets } from '../auth/index.ts';
import { McpRuntime } from '../mcp/index.ts';
import type { Model } from '../model/index.ts';
import { CallsInProgress, LocalTokens } from '../policies/index.ts';
import {
  brokenPartsWith,
  explainWith,
  type Decision,
  type OfflineTools,
  type TrialRequest,
} from '../proxy/index.ts';
import { createMetrics, type Logger } from '../telemetry/index.ts';

/**
 * Explains a request by a model that nothing serves: compiles it as a gateway does, and opens no port and no connection.
 * Key sets of the network are absent.
 * @throws Error for a request without a request line, for a port that the model does not have, or where the model cannot be
 *   compiled
 */
export const explainOffline = (model: Model, request: TrialRequest, log: Logger): Promise<Decision> =>
  withTools(model, log, (tools, ready) => explainWith(model, request, tools, ready));

/**
 * Prepares a model as a gateway does, with the files that it names, and opens no port and no connection.
 * @returns the problem of each certificate, key set, secret and route that a gateway could not use, once each
 * @throws Error where the model cannot be compiled
 */
export const brokenParts = (model: Model, log: Logger): Promise<readonly string[]> =>
  withTools(model, log, (tools, ready) => brokenPartsWith(model, tools, ready));

/** @param use gets the tools of a gateway that serves nothing, and waits for the key sets of files */
async function withTools<T>(
  model: Model,
  log: Logger,
  use: (tools: OfflineTools, ready: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const keySets = createKeySets({ log, offline: true });
  const { fixed, limits } = model.process;
  const mcp = new McpRuntime({
    sessionTtlMs: fixed.sessionTtlMs,
    sessionResumableMs: 0,
    limits: () => limits,
    log,
    metrics: createMetrics(),
    secrets: new Set(),
    servesNothing: true,
  });
  const tokens = new LocalTokens(Date.now);
  const calls = new CallsInProgress();
  try {
    const policyTools = { log, keySets, now: Date.now, tokens, globalTokens: tokens, globalCalls: calls };
    // The key sets of files are read in the background.
    return await use({ log, mcp, policyTools }, () => keySets.tried());
  } finally {
    keySets.close();
    await mcp.close(0);
  }
}
