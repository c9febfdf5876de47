import { readdirSync, readFileSync } from 'node:fs';

/** Variable that every process started by a gateway under test inherits. */
export const markName = 'PORTCULLIS_E2E_MARK';

export interface ProcessView {
  readonly pid: number;
  readonly command: string;
}

/**
 * Living processes whose environment carries the mark, whoever their parent is now: one that outlived the gateway
 * belongs to init and could not be found by its parents. Zombies have no environment and do not count.
 */
export function markedProcesses(mark: string): ProcessView[] {
  const wanted = `\0${markName}=${mark}\0`;
  const found: ProcessView[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      if (!`\0${readFileSync(`/proc/${name}/environ`, 'latin1')}\0`.includes(wanted)) continue;
      const command = readFileSync(`/proc/${name}/cmdline`, 'latin1').replaceAll('\0', ' ').trim();
      found.push({ pid: Number(name), command });
    } catch {
      // It ended while we looked, or is not ours to look at.
    }
  }
  return found;
}

/** Open descriptors of a process. */
export const openDescriptors = (pid: number): number => countOf(() => readdirSync(`/proc/${pid}/fd`).length);

/** Threads of a process. */
export const threadsOf = (pid: number): number => countOf(() => readdirSync(`/proc/${pid}/task`).length);

/** Resident memory of a process, in bytes. */
export const residentBytes = (pid: number): number =>
  countOf(() => {
    const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kib ?? 0) * 1024;
  });

/** A process that has just ended has nothing. */
function countOf(look: () => number): number {
  try {
    return look();
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return 0;
    throw error;
  }
}
