import { randomInt } from 'node:crypto';
import type { OpenApiTarget } from '../../../model/index.ts';
import type { ResumableRuntime, TargetServices, TargetUse } from '../kind/targetRuntime.ts';
import { maxPendingOf } from '../conversation/pendingCalls.ts';
import { Descriptions } from './descriptions.ts';
import { OpenApiConnection } from './openapiConnection.ts';

/** Ids of calls must not be used twice in a session: those of a session of another process begin somewhere above. */
const minResumedId = 2 ** 32;
const maxResumedId = 2 ** 47;

/** HTTP APIs that the gateway serves as MCP servers. */
export function openapiRuntime({ limits, log, metrics }: TargetServices): ResumableRuntime<OpenApiTarget> {
  const descriptions = new Descriptions(log, metrics);
  const connect = (target: OpenApiTarget, use: TargetUse, firstId?: number): OpenApiConnection =>
    new OpenApiConnection(
      target,
      {
        reach: use.reach(),
        descriptions,
        limits,
        log: use.log,
        listener: use.session,
        maxPending: maxPendingOf(use.session),
      },
      firstId,
    );
  return {
    connect: (target, use) => connect(target, use),
    takeUp: (target, use, place) => {
      const connection = connect(target, use, randomInt(minResumedId, maxResumedId));
      connection.takeUp(place);
      return { connection, ready: Promise.resolve() };
    },
    close: () => {
      descriptions.close();
      return Promise.resolve();
    },
  };
}
