import { availableParallelism, totalmem } from 'node:os';

/** The memory of a worker under some traffic; with less for each, more workers do harm. */
const bytesEach = 256 * 1_024 * 1_024;

/** The resources of the machine, or the container. */
export interface Machine {
  readonly processors: number;
  /** Bytes of memory. */
  readonly memory: number;
}

function thisMachine(): Machine {
  const granted = process.constrainedMemory();
  // Without a limit the system names none, or more than any machine has.
  const memory = granted > 0 ? Math.min(granted, totalmem()) : totalmem();
  return { processors: availableParallelism(), memory };
}

/**
 * The number of serving processes: `auto` is one for each processor that this process may use, as far as the
 * memory goes.
 */
export function workerCount(setting: number | 'auto', machine: Machine = thisMachine()): number {
  if (setting !== 'auto') return setting;
  return Math.max(1, Math.min(machine.processors, Math.floor(machine.memory / bytesEach)));
}
