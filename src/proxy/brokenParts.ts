import type { Model } from '../model/index.ts';
import { detectionsOf } from './ports/detections.ts';
import { ServerIdentities } from './ports/serverIdentity.ts';
import { withSnapshot, type OfflineTools } from './trial/offline.ts';

/**
 * Compiles a model without ports and without connections, with the files that it names.
 * @param ready is waited for before the policies are asked
 * @returns the problem of each certificate and each route that a gateway could not serve
 * @throws Error where the model cannot be compiled
 */
export async function brokenPartsWith(
  model: Model,
  tools: OfflineTools,
  ready: () => Promise<void>,
): Promise<readonly string[]> {
  const identities = new ServerIdentities(tools.log, () => undefined);
  try {
    detectionsOf(model, identities);
    const certificates = identities.views.map(({ problem }) => problem);
    return await withSnapshot(model, tools, async ({ routes, tcpRoutes }) => {
      await ready();
      const broken = [...routes, ...tcpRoutes].map((route) => route.broken);
      return [...new Set([...certificates, ...broken])].filter((problem) => problem !== undefined);
    });
  } finally {
    identities.close();
  }
}
