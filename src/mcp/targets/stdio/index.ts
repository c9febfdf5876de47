import type { StdioTarget } from '../../../model/index.ts';
import type { TargetRuntime, TargetServices } from '../kind/targetRuntime.ts';
import { Children } from './children.ts';
import { StdioConnection } from './stdioConnection.ts';

/** Servers that run as child processes, one for each session. */
export function stdioRuntime(services: TargetServices): TargetRuntime<StdioTarget> {
  const { restart, limits, now, onRestart, onTaken, onGroup } = services;
  const children = new Children({
    budget: services.children,
    log: services.log,
    maxLineBytes: () => limits().maxMcpMessageBytes,
    secrets: services.secrets,
    ...(onGroup && { onGroup }),
  });
  return {
    connect: (target, { session, log }) =>
      new StdioConnection(target, {
        children,
        activity: session,
        keep: session.keep,
        limits,
        restart,
        log,
        listener: session,
        now,
        onRestart,
        onEvicted: onTaken,
      }),
    children: () => children.size,
    close: (graceMs) => children.close(graceMs),
  };
}
