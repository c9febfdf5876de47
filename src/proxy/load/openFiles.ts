import { readFileSync } from 'node:fs';
import { defaults, type Limits } from '../../model/index.ts';
import type { Logger } from '../../telemetry/index.ts';

/**
 * The number of files and sockets that the process may have open (RLIMIT_NOFILE, which Node raises to the hard
 * limit at its start); undefined if the system does not say or sets no limit.
 */
export function openFilesLimit(): number | undefined {
  try {
    const found = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1];
    return found === undefined ? undefined : Number(found);
  } catch {
    return undefined;
  }
}

/** Fewer connections than this are soon used up. */
const FEW = 1_000;

/**
 * A client connection mostly takes a second one, to a backend: more than half of all descriptors must not go to
 * clients, or accepting and connecting fail where nobody is told why.
 */
export function withinOpenFiles(limits: Limits, openFiles: number | undefined, log: Logger): Limits {
  if (openFiles === undefined) return limits;
  const most = Math.max(1, Math.ceil(openFiles / 2) - 1);
  // A client of UDP takes one, and comes on top.
  const flows = Math.max(1, Math.floor(openFiles / 4));
  const kept = { ...limits, maxUdpFlows: Math.min(limits.maxUdpFlows, flows) };
  if (kept.maxUdpFlows < limits.maxUdpFlows && limits.maxUdpFlows !== defaults.limits.maxUdpFlows)
    log.warn('limits.maxUdpFlows lowered: the limit of open files is too low', {
      configured: limits.maxUdpFlows,
      loweredTo: flows,
      openFiles,
    });
  if (limits.maxConnections <= most) return kept;
  const fields = { configured: limits.maxConnections, loweredTo: most, openFiles };
  const message = 'limits.maxConnections lowered: the limit of open files is too low';
  // The default was not set by the operator, and thousands of connections are left: worth an info line, not a
  // warning.
  if (limits.maxConnections === defaults.limits.maxConnections && most >= FEW) log.info(message, fields);
  else log.warn(message, fields);
  return { ...kept, maxConnections: most };
}
