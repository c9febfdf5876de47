import type { StdioTarget } from '../../../model/index.ts';
import type { Logger } from '../../../telemetry/index.ts';
import { RetainedMemory, RetainedMemoryPool } from '../../limits/retainedMemory.ts';
import type { TargetListener } from '../kind/target.ts';
import type { TargetRuntime, TargetServices, Tenant } from '../kind/targetRuntime.ts';
import { Children } from './children.ts';
import { SharedChildren } from './sharedChildren.ts';
import { StdioConnection } from './stdioConnection.ts';

/** Servers that run as child processes: one for each session, or one for all requests of a backend. */
export function stdioRuntime(services: TargetServices): TargetRuntime<StdioTarget> {
  const { restart, limits, now, onRestart, onTaken, onGroup } = services;
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
      onEvicted: onTaken,
    });
  const shared = new SharedChildren({
    version: services.version,
    idleMs: services.idleMs,
    now,
    connect: (target, child) =>
      connect(
        target,
        child,
        // It keeps its first request only.
        new RetainedMemory(new RetainedMemoryPool(), child.holder),
        services.log.child({ target: target.name }),
      ),
  });
  return {
    connect: (target, use) =>
      target.scope === 'shared'
        ? shared.connect(target, use)
        : connect(target, use.session, use.session.keep, use.log),
    retire: (liveKeys) => shared.retire(liveKeys),
    children: () => children.size,
    close: (graceMs) => children.close(graceMs),
  };
}
