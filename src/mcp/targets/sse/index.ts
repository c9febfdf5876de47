import type { SseTarget } from '../../../model/index.ts';
import { remoteOptions } from '../conversation/remoteConnection.ts';
import type { TargetRuntime, TargetServices } from '../kind/targetRuntime.ts';
import { SseConnection } from './sseConnection.ts';

/** Sessions with servers that speak HTTP+SSE. */
export const sseRuntime = (services: TargetServices): TargetRuntime<SseTarget> => ({
  connect: (target, use) => new SseConnection(target, remoteOptions(services, use)),
});
