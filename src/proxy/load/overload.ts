import { closeSync, openSync } from 'node:fs';
import { getHeapStatistics } from 'node:v8';
import type { OverloadLimits } from '../../model/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { MemoryInUse } from './memoryInUse.ts';

/** The load of the process. */
export interface Load {
  /** Milliseconds by which the event loop is late. */
  readonly lagMs: number;
  /** Memory in use as a share of what the process may have. */
  readonly memory: number;
  /** No file or socket can be opened any more. */
  readonly outOfFiles: boolean;
}

export const overloadReasons = ['lag', 'memory', 'files'] as const;
export type OverloadReason = (typeof overloadReasons)[number];

/** `close`: connections end after their request. `shed`: new requests are refused, too. */
export type OverloadLevel = 'none' | 'close' | 'shed';

/** Time between two looks. */
const TICK_MS = 250;
/** A single pause (a collection of garbage, a new configuration) is no overload: it takes as many looks in a row. */
const LOOKS = 3;

/**
 * Watches the process, and says when it has more to do than it can: new work is then refused first, so that what is
 * under way ends well. Requests only read `level` and `reason`.
 */
export class Overload {
  level: OverloadLevel = 'none';
  /** The reason of the overload: the threshold that is exceeded. */
  reason: OverloadReason = 'lag';
  load: Load = { lagMs: 0, memory: 0, outOfFiles: false };
  limits: OverloadLimits;
  private readonly log: Logger;
  private readonly samples: Load[] = [];
  private readonly memoryInUse = new MemoryInUse();
  private readonly timer: NodeJS.Timeout | undefined;
  private due = performance.now() + TICK_MS;

  /** @param watch false: somebody else calls `note` */
  constructor(limits: OverloadLimits, log: Logger, watch = true) {
    this.limits = limits;
    this.log = log;
    if (!watch) return;
    this.timer = setInterval(() => this.sample(), TICK_MS);
    this.timer.unref();
  }

  /** Judges by the best of the last looks. */
  note(load: Load): void {
    this.samples.push(load);
    if (this.samples.length > LOOKS) this.samples.shift();
    const lagMs = this.samples.length < LOOKS ? 0 : Math.min(...this.samples.map((look) => look.lagMs));
    const memory = this.samples.length < LOOKS ? 0 : Math.min(...this.samples.map((look) => look.memory));
    this.load = { lagMs, memory, outOfFiles: load.outOfFiles };
    const { limits } = this;
    if (over(lagMs, limits.shedLagMs)) this.become('shed', 'lag');
    else if (over(memory, limits.shedMemory)) this.become('shed', 'memory');
    // Connections that end give descriptors back.
    else if (load.outOfFiles) this.become('close', 'files');
    else if (over(lagMs, limits.closeLagMs)) this.become('close', 'lag');
    else if (over(memory, limits.closeMemory)) this.become('close', 'memory');
    else this.become('none', this.reason);
  }

  close(): void {
    clearInterval(this.timer);
  }

  private sample(): void {
    const now = performance.now();
    const lagMs = Math.max(0, now - this.due);
    this.due = now + TICK_MS;
    this.note({ lagMs, memory: memoryShare(this.memoryInUse), outOfFiles: outOfFiles() });
  }

  private become(level: OverloadLevel, reason: OverloadReason): void {
    const before = this.level;
    this.level = level;
    this.reason = reason;
    if (level === before) return;
    const fields = {
      reason,
      lagMs: Math.round(this.load.lagMs),
      memory: Math.round(this.load.memory * 100) / 100,
    };
    if (level === 'shed') this.log.error('Overloaded: new requests are refused', fields);
    else if (reason === 'files' && level === 'close')
      this.log.error(
        'No file descriptors left: new connections are lost, open connections close after their request',
      );
    else if (level === 'close') this.log.warn('Overloaded: connections close after their request', fields);
    else this.log.info('Overload ended', fields);
  }
}

const over = (value: number, threshold: number): boolean => threshold > 0 && value >= threshold;

/** The nearer of two ends: that of the heap, and that of the memory the system grants (a container's limit). */
function memoryShare(inUse: MemoryInUse): number {
  const { used_heap_size: used, heap_size_limit: most } = getHeapStatistics();
  const granted = grantedMemory();
  if (granted === undefined) return used / most;
  const { rss, heapUsed, external } = process.memoryUsage();
  return Math.max(used / most, inUse.note({ rss, known: heapUsed + external }) / granted);
}

/** Memory that the system lets the process have; without a limit it names none, or more than any machine has. */
export function grantedMemory(): number | undefined {
  const granted = process.constrainedMemory();
  return granted > 0 && granted < 2 ** 50 ? granted : undefined;
}

/**
 * Tried, for nobody tells: with no descriptor left, libuv takes a reserved one to accept and close what waits at the
 * door, so that it does not spin, and says nothing.
 */
function outOfFiles(): boolean {
  try {
    closeSync(openSync('/dev/null', 'r'));
    return false;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'EMFILE' || code === 'ENFILE';
  }
}
