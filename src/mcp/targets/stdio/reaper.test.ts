import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { until } from '../../../until.testing.ts';
import { alive } from '../../alive.testing.ts';
import { recordingLog } from '../../harness.testing.ts';
import { startGroup } from './processes.testing.ts';
import { Reaper } from './reaper.ts';

/** The supervisors that a process has started. */
const supervisorsOf = (parent: number): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ');
        return (
          Number(rest.split(' ')[1]) === parent &&
          readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('portcullis-reaper')
        );
      } catch {
        return false;
      }
    });

const linux = { skip: process.platform !== 'linux' && 'needs /proc' };

test('a single supervisor serves all children, and exits after close', linux, async (t) => {
  const { log, lines } = recordingLog();
  const reaper = new Reaper(log);
  const groups = await Promise.all([startGroup(t, 'sleep 300'), startGroup(t, 'sleep 300')]);
  for (const { pid } of groups) reaper.add(pid);
  await until('the supervisor runs', () => supervisorsOf(process.pid).length === 1);
  for (const { pid } of groups) reaper.remove(pid);
  await reaper.close();
  assert.deepEqual(supervisorsOf(process.pid), []);
  for (const { pid } of groups) assert.equal(alive(pid), true, 'a group that was forgotten is left alone');
  await reaper.close();
  assert.deepEqual(lines, []);
});

/** The scheduling policy of a process: the field 41 of `/proc/PID/stat` (proc(5)). */
const policyOf = (pid: number): string | undefined =>
  readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ')[41 - 3];
const batch = '3';

test(
  'a child becomes a batch process, which takes the processor from nobody when a message wakes it',
  { skip: spawnSync('chrt', ['-b', '0', 'true']).status !== 0 && 'needs chrt' },
  async (t) => {
    const { log } = recordingLog();
    const reaper = new Reaper(log);
    const group = await startGroup(t, 'sleep 300');
    assert.notEqual(policyOf(group.pid), batch);
    reaper.add(group.pid);
    await until('the child is a batch process', () => policyOf(group.pid) === batch);
    reaper.remove(group.pid);
    await reaper.close();
  },
);

test(
  'when the gateway is killed, the groups that it still had are ended, and those it had forgotten are not',
  linux,
  async (t) => {
    const [kept, forgotten, rude] = await Promise.all([
      startGroup(t, 'sleep 300'),
      startGroup(t, 'sleep 300'),
      startGroup(t, 'trap "" TERM; while :; do sleep 0.05; done'),
    ]);
    const module = fileURLToPath(new URL('./reaper.ts', import.meta.url));
    const quiet = '{ warn: (...x) => console.error(...x) }';
    const gateway = spawn(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `const { Reaper } = await import(${JSON.stringify(module)});
       const reaper = new Reaper(${quiet});
       for (const pid of [${kept.pid}, ${forgotten.pid}, ${rude.pid}]) reaper.add(pid);
       reaper.remove(${forgotten.pid});
       setInterval(() => undefined, 1_000);
       process.stdout.write('ready');`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    t.after(() => gateway.kill('SIGKILL'));
    await once(gateway.stdout, 'data');
    const gone = [kept, rude].map((group) => once(group, 'exit'));
    gateway.kill('SIGKILL');
    const [[, first], [, second]] = (await Promise.all(gone)) as [[null, string], [null, string]];
    assert.deepEqual([first, second], ['SIGTERM', 'SIGKILL']);
    assert.equal(alive(forgotten.pid), true);
  },
);
