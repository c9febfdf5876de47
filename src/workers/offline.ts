import { createKeySets } from '../auth/index.ts';
import { McpRuntime } from '../mcp/index.ts';
import type { Model } from '../model/index.ts';
import { CallsInProgress, LocalTokens } from '../policies/index.ts';
import { explainWith, type Decision, type TrialRequest } from '../proxy/index.ts';
import { createMetrics, type Logger } from '../telemetry/index.ts';

/**
 * Explains a request by a model that nothing serves: compiles it as a gateway does, and opens no port and no connection.
 * Key sets of the network are absent.
 * @throws Error for a request without a request line, for a port that the model does not have, or where the model cannot be
 *   compiled
 */
export async function explainOffline(model: Model, request: TrialRequest, log: Logger): Promise<Decision> {
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
    // The key sets of files are read in the background.
    return await explainWith(
      model,
      request,
      {
        log,
        mcp,
        policyTools: { log, keySets, now: Date.now, tokens, globalTokens: tokens, globalCalls: calls },
      },
      () => keySets.tried(),
    );
  } finally {
    keySets.close();
    await mcp.close(0);
  }
}
