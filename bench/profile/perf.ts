import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { groupOf } from './groups.ts';

/** Samples by group and function. */
export interface Profile {
  readonly source: string;
  readonly total: number;
  readonly groups: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

/** Names for compiled JavaScript: V8 writes /tmp/perf-PID.map, which perf reads. */
export const nodeOptions = ['--perf-basic-prof', '--interpreted-frames-native-stack'];

const run = promisify(execFile);

/** Samples all threads of the process for some seconds, kernel included. */
export async function recordWithPerf(pid: number, file: string, seconds: number): Promise<Profile> {
  // The clock of the CPU: virtual machines often have no hardware counters.
  const options = ['record', '-q', '-F', '1999', '-e', 'cpu-clock', '-p', `${pid}`, '-o', file];
  await run('perf', [...options, '--', 'sleep', `${seconds}`]);
  const script = spawn('perf', ['script', '-i', file, '-F', 'comm,ip,sym,dso'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const exited = once(script, 'exit');
  const groups = new Map<string, Map<string, number>>();
  let total = 0;
  for await (const line of createInterface({ input: script.stdout })) {
    // `MainThread  7f3c JS:*parseHead file:///src/http/parse.ts:40 (/tmp/perf-1.map)`
    const match = /^\s*(.+?)\s+[0-9a-f]+ (.+) \((.*)\)\s*$/.exec(line);
    if (match === null) continue;
    const [, thread = '', symbol = '', object = ''] = match;
    const { group, label } = groupOf(thread, symbol, object);
    const functions = groups.get(group) ?? new Map<string, number>();
    groups.set(group, functions);
    functions.set(label, (functions.get(label) ?? 0) + 1);
    total++;
  }
  await exited;
  return { source: 'perf, clock of the CPU', total, groups };
}
