import type { StdioTarget } from '../../../model/index.ts';
import type { Logger } from '../../../telemetry/index.ts';
import { RetainedMemory, RetainedMemoryPool } from '../../limits/retainedMemory.ts';
import type { IdSequence } from '../conversation/pendingCalls.ts';
import type { TargetListener } from '../kind/target.ts';
import type { TargetRuntime, TargetServices, Tenant } from '../kind/targetRuntime.ts';
import { Children } from './children.ts';
import { SharedChildren } from './sharedChildren.ts';
import { StdioConnection, type StdioOptions } from './stdioConnection.ts';

/** Servers that run as child processes: one for each session, for each user, or for all requests of a backend. */
export function stdioRuntime(services: TargetServices): TargetRuntime<StdioTarget> {
  const { restart, limits, now, onRestart, onRestartFailed, onReplaced, onTaken, onGroup } = services;
  const children = new Children({
    budget: services.children,
    log: services.log,
    maxLineBytes: () => limits().maxMcpMessageBytes,
    secrets: services.secrets,
    ...(onGroup && { onGroup }),
  });
  const connect = (
    target: StdioTarget,
    user: TargetListener & Tenant,
    keep: RetainedMemory,
    log: Logger,
    more: Pick<StdioOptions, 'environment' | 'ids'> = {},
  ): StdioConnection =>
    new StdioConnection(target, {
      children,
      activity: user,
      keep,
      limits,
      restart,
      log,
      listener: user,
      now,
      onRestart,
      onRestartFailed,
      onReplaced,
      onEvicted: onTaken,
      ...more,
    });
  // A session may have calls at two children of the same user.
  const ids: IdSequence = { last: 0 };
  const shared = new SharedChildren({
    version: services.version,
    idleMs: services.idleMs,
    now,
    onReplaced,
    connect: (target, child, environment) =>
      connect(
        target,
        child,
        // It keeps its first request only.
        new RetainedMemory(new RetainedMemoryPool(), child.holder),
        services.log.child({ target: target.name }),
        { environment, ids },
      ),
  });
  const connectTo: TargetRuntime<StdioTarget>['connect'] = (target, use) => {
    if (target.scope === 'shared') return shared.connect(target, use);
    if (target.scope === 'user') return shared.connectUser(target, use);
    const environment = target.injected && use.environment();
    return connect(target, use.session, use.session.keep, use.log, { environment });
  };
  return {
    connect: connectTo,
    retire: (liveKeys) => shared.retire(liveKeys),
    children: () => children.size,
    close: (graceMs) => {
      shared.close(graceMs);
      return children.close(graceMs);
    },
  };
}
