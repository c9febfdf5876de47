import { networks } from '../../http/index.ts';
import type { Model } from '../../model/index.ts';
import { Endpoints } from '../../upstream/index.ts';
import type { Decision, TrialRequest } from '../contract.ts';
import { Snapshot, type SnapshotTools } from '../snapshot/snapshot.ts';
import { RouteStats } from '../stats/stats.ts';
import { TcpStats } from '../stats/tcpStats.ts';
import { explain } from './explain.ts';

export type OfflineTools = Pick<SnapshotTools, 'log' | 'mcp' | 'policyTools'>;

/**
 * Compiles a model without ports and without connections, explains one request by it, and closes it.
 * @param ready is waited for between the two
 * @throws Error where the model cannot be compiled, and as `explain`
 */
export async function explainWith(
  model: Model,
  request: TrialRequest,
  tools: OfflineTools,
  ready: () => Promise<void>,
): Promise<Decision> {
  const { log } = tools;
  return await withSnapshot(model, tools, async (snapshot) => {
    await ready();
    const { limits, trustedProxies } = model.process;
    return await explain(request, {
      snapshot,
      log,
      limits,
      trustedProxies: trustedProxies && networks(trustedProxies),
    });
  });
}

/**
 * Compiles a model without ports and without connections, and closes it when its use has ended.
 * @throws Error where the model cannot be compiled
 */
export async function withSnapshot<T>(
  model: Model,
  tools: OfflineTools,
  use: (snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  const endpoints = new Endpoints({ log: tools.log, offline: true });
  try {
    const snapshot = await Snapshot.of(model, {
      ...tools,
      endpoints,
      relays: undefined,
      handshakeOf: () => ({ terms: undefined }),
      uses: { destinations: new Set(), mcp: new Set() },
      stats: () => new RouteStats(),
      tcpStats: () => new TcpStats(),
    });
    try {
      return await use(snapshot);
    } finally {
      snapshot.retire();
    }
  } finally {
    endpoints.close();
  }
}
