import { availableParallelism, totalmem } from 'node:os';

/** What a worker takes with some traffic; on a machine with less memory for each, more of them do harm. */
const bytesEach = 256 * 1_024 * 1_024;

/** What the machine, or the container, has to offer. */
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

/** How many processes serve: `auto` is one for each processor that this process may use, as far as the memory goes. */
export function workerCount(setting: number | 'auto', machine: Machine = thisMachine()): number {
  if (setting !== 'auto') return setting;
  return Math.max(1, Math.min(machine.processors, Math.floor(machine.memory / bytesEach)));
}
