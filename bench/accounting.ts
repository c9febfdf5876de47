import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { cpuBetween, processTree, type ProcessRecord } from './processes.ts';

/** The kernel's numbers at one moment, for the measured processes and the machine around them. */
interface Reading {
  /** Milliseconds. */
  readonly at: number;
  readonly measured: readonly ProcessRecord[];
  /** Backend, load generators that have ended, and this process: known users of the other core. */
  readonly known: number;
  readonly backend: readonly ProcessRecord[];
  /** Microseconds that each thread of what is measured ran or waited to run. */
  readonly threads: ReadonlyMap<string, number>;
  /** Microseconds that both cores were busy. */
  readonly busy: number;
}

/** The cost of a load. */
export interface Cost {
  /** Microseconds of the measured process tree, all threads, kernel included. */
  readonly cpu: number;
  readonly seconds: number;
  /**
   * Share of the time in which the busiest thread ran or wanted to: 1 where it could not have served more. Below that
   * it slept in between, and each sleep costs a wake-up that a loaded proxy does not pay.
   */
  readonly fullness: number;
  /** Cores that were busy for others: 0 on a quiet machine. */
  readonly foreign: number;
  readonly after: readonly ProcessRecord[];
}

/** Accounts for one load: reads before, and returns the function that reads after. */
export function startAccount(
  root: number | undefined,
  backend: number,
  cores: readonly [number, number],
): () => Cost {
  const before = read(root, backend, cores);
  return () => {
    const after = read(root, backend, cores);
    const microseconds = (after.at - before.at) * 1000;
    const cpu = cpuBetween(before.measured, after.measured);
    const known = cpu + after.known - before.known + cpuBetween(before.backend, after.backend);
    const fullness = [...after.threads].reduce(
      (most, [thread, time]) => Math.max(most, time - (before.threads.get(thread) ?? 0)),
      0,
    );
    return {
      cpu,
      seconds: microseconds / 1e6,
      fullness: Math.min(1, fullness / microseconds),
      foreign: Math.max(0, (after.busy - before.busy - known) / microseconds),
      after: after.measured,
    };
  };
}

function read(root: number | undefined, backend: number, cores: readonly [number, number]): Reading {
  const measured = root === undefined ? [] : processTree(root);
  return {
    at: performance.now(),
    measured,
    backend: processTree(backend),
    known: ownAndEndedChildren(),
    threads: new Map(measured.flatMap(({ pid }) => threadTimes(pid))),
    busy: busyTime(cores),
  };
}

/** Time on the run queue counts as wanting to run (/proc/PID/task/TID/schedstat: nanoseconds running, waiting). */
function threadTimes(pid: number): [string, number][] {
  try {
    return readdirSync(`/proc/${pid}/task`).map((thread) => {
      const [running = 0, waiting = 0] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8')
        .split(' ')
        .map(Number);
      return [thread, (running + waiting) / 1000];
    });
  } catch {
    // It ended while we looked, or this kernel does not say.
    return [];
  }
}

/** Resolves when both cores together were nearly unused for a moment, or after so many seconds. */
export async function quietMoment(cores: readonly [number, number], seconds: number): Promise<void> {
  const end = performance.now() + seconds * 1000;
  while (performance.now() < end) {
    const [busy, at] = [busyTime(cores), performance.now()];
    await delay(300);
    if (busyTime(cores) - busy < (performance.now() - at) * 100) return;
  }
}

const microsecondsPerTick = 10_000;

/** proc(5): the 14th to 17th field of stat are user and system time of the process and of children it waited for. */
function ownAndEndedChildren(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * microsecondsPerTick, 0);
}

/** Everything but idle and waiting for disks. */
function busyTime(cores: readonly number[]): number {
  const lines = readFileSync('/proc/stat', 'utf8').split('\n');
  return cores.reduce((sum, core) => {
    const line = lines.find((text) => text.startsWith(`cpu${core} `)) ?? '';
    const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = line
      .split(/\s+/)
      .slice(1)
      .map(Number);
    return sum + (user + nice + system + irq + softirq + steal) * microsecondsPerTick;
  }, 0);
}
