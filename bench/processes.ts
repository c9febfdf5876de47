import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export interface Pinned {
  readonly pid: number;
  readonly child: ChildProcess;
  /** The file with its stdout and stderr. */
  readonly logFile: string;
  /** SIGTERM, and SIGKILL for what is left of it and its children after 5 s. */
  stop(): Promise<void>;
}

// A run that is broken off leaves nothing behind.
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGTERM');
});
for (const [signal, number] of [
  ['SIGINT', 2],
  ['SIGTERM', 15],
] as const) {
  process.once(signal, () => process.exit(128 + number));
}

/** Starts a program bound to one core, with its output in a file, as a service manager would. */
export function startPinned(
  core: number,
  command: readonly string[],
  logFile: string,
  env: Readonly<Record<string, string>> = {},
): Pinned {
  const log = openSync(logFile, 'a');
  // taskset replaces itself by the program, so the pid is the program's.
  const child = spawn('taskset', ['-c', `${core}`, ...command], {
    stdio: ['ignore', log, log],
    env: { ...process.env, ...env },
  });
  closeSync(log);
  running.add(child);
  child.on('exit', () => running.delete(child));
  const exited = once(child, 'exit');
  exited.catch(() => {});
  const pid = child.pid ?? 0;
  return {
    pid,
    child,
    logFile,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const family = processTree(pid);
      child.kill('SIGTERM');
      await Promise.race([exited, delay(5_000)]);
      for (const member of family) {
        // Only what is still the same process: a pid may have been given to another one.
        if (startTime(member.pid) !== member.startTime) continue;
        try {
          process.kill(member.pid, 'SIGKILL');
        } catch {
          // It ended in between.
        }
      }
      await exited;
    },
  };
}

/** Resolves when something accepts connections on the port; throws when the program ends before or after 30 s. */
export async function waitForPort(port: number, program: Pinned): Promise<void> {
  const deadline = Date.now() + 30_000;
  while (!(await accepts(port))) {
    if (program.child.exitCode !== null || program.child.signalCode !== null || Date.now() > deadline) {
      throw new Error(`nothing listens on ${port}:\n${readFileSync(program.logFile, 'utf8').slice(-4000)}`);
    }
    await delay(20);
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

export interface ProcessRecord {
  readonly pid: number;
  readonly parent: number;
  /** Clock ticks since boot: with the pid it names one process. */
  readonly startTime: number;
  /** User and system time of all threads, in microseconds. */
  readonly cpu: number;
  readonly command: string;
}

// sysconf(_SC_CLK_TCK), which Linux fixes at 100 for user space.
const microsecondsPerTick = 10_000;

/** A process and all its descendants, as /proc shows them now. */
export function processTree(root: number): ProcessRecord[] {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readProcess(Number(name)) ?? []);
  const tree = all.filter((record) => record.pid === root);
  for (const member of tree) tree.push(...all.filter((record) => record.parent === member.pid));
  return tree;
}

function readProcess(pid: number): ProcessRecord | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the name in parentheses and may hold spaces: count from its end (proc(5)).
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return {
      pid,
      parent: Number(fields[1]),
      startTime: Number(fields[19]),
      cpu: (Number(fields[11]) + Number(fields[12])) * microsecondsPerTick,
      command: readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' '),
    };
  } catch {
    // It ended while we looked.
    return undefined;
  }
}

const startTime = (pid: number) => readProcess(pid)?.startTime;

/** Microseconds of CPU the processes of the second picture used since the first. */
export function cpuBetween(before: readonly ProcessRecord[], after: readonly ProcessRecord[]): number {
  const then = new Map(before.map((record) => [record.pid, record.cpu]));
  return after.reduce((sum, record) => sum + record.cpu - (then.get(record.pid) ?? 0), 0);
}

/** Resident memory in megabytes. */
export function residentMegabytes(records: readonly ProcessRecord[]): number {
  return records.reduce((sum, { pid }) => {
    try {
      const match = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
      return sum + Number(match?.[1] ?? 0) / 1024;
    } catch {
      return sum;
    }
  }, 0);
}
