import { readFileSync } from 'node:fs';
import type { Limits } from '../model/index.ts';
import type { Logger } from '../telemetry/index.ts';

/**
 * How many files and sockets the process may have open (RLIMIT_NOFILE, which Node raises to the hard limit at its
 * start); undefined where the system does not say or sets no limit.
 */
export function openFilesLimit(): number | undefined {
  try {
    const found = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1];
    return found === undefined ? undefined : Number(found);
  } catch {
    return undefined;
  }
}

/**
 * A client connection mostly takes a second one, to a backend: more than half of all descriptors must not go to
 * clients, or accepting and connecting fail where nobody is told why.
 */
export function withinOpenFiles(limits: Limits, openFiles: number | undefined, log: Logger): Limits {
  if (openFiles === undefined) return limits;
  const most = Math.max(1, Math.ceil(openFiles / 2) - 1);
  if (limits.maxConnections <= most) return limits;
  log.warn('limits.maxConnections lowered: the process may not open as many files', {
    maxConnections: limits.maxConnections,
    openFiles,
    inUse: most,
  });
  return { ...limits, maxConnections: most };
}
