/** A gateway ends with the launcher or package manager that started it, and goes on without its shell or service manager. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { launcher } from '../../src/launcher.testing.ts';
import { markedProcesses, markName } from './processes.testing.ts';
import { until } from '../../src/until.testing.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const quiet =
  'config: {adminAddr: "off", statsAddr: "off", readinessAddr: "off"}\n' +
  'binds: [{port: 0, listeners: [{routes: [{policies: {directResponse: {status: 204}}}]}]}]\n';

interface Started {
  readonly child: ChildProcess;
  readonly mark: string;
  /** Waits until the output has this. */
  saw(text: RegExp): Promise<unknown>;
}

/** Starts a command whose processes, and theirs, are told apart by a variable; all of them end with the test. */
function start(t: TestContext, command: string, args: readonly string[], cwd: string): Started {
  const mark = randomUUID();
  const child = spawn(command, args, {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], [markName]: mark },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  t.after(() => {
    for (const { pid } of markedProcesses(mark)) process.kill(pid, 'SIGKILL');
  });
  return {
    child,
    mark,
    saw: (text) =>
      until(
        () => `${text}:\n${output}`,
        () => text.test(output),
      ),
  };
}

/** A folder in which `portcullis` is an installed package, and scripts of npm run it. */
function installed(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'launchers-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'node_modules', '.bin'), { recursive: true });
  symlinkSync(launcher, join(folder, 'node_modules', '.bin', 'portcullis'));
  const scripts = {
    serve: 'portcullis -f c.yaml',
    after: 'echo first && portcullis -f c.yaml; echo last',
    left: 'portcullis -f c.yaml > out 2>&1 < /dev/null & echo left',
  };
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'x', version: '1.0.0', scripts }));
  writeFileSync(join(folder, 'c.yaml'), quiet);
  // Makes Node look older than it is, so that the launcher starts itself on the packaged one.
  writeFileSync(
    join(folder, 'old.cjs'),
    `Object.defineProperty(process.versions, 'node', {value: '20.1.0'});`,
  );
  return folder;
}

interface Launcher {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly ready?: RegExp;
}

const ready = /\bready\b.*ports=\d+/;
const demoReady = /MCP at http/;

const launchers: Readonly<Record<string, Launcher>> = {
  'npm run demo': { command: 'npm', args: ['run', 'demo'], cwd: root, ready: demoReady },
  'the demo itself': {
    command: process.execPath,
    args: ['examples/quickstart/demo.ts'],
    cwd: root,
    ready: demoReady,
  },
  'npx portcullis': { command: 'npx', args: ['portcullis', '-f', 'c.yaml'] },
  'npm run': { command: 'npm', args: ['run', 'serve'] },
  'npm run with a script of several commands': { command: 'npm', args: ['run', 'after'] },
  'the launcher of an old Node': {
    command: process.execPath,
    args: ['--require', './old.cjs', launcher, '-f', 'c.yaml'],
  },
};

const skip = process.platform !== 'linux' && 'processes are found by /proc';

for (const [name, { command, args, cwd, ready: sign = ready }] of Object.entries(launchers))
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGKILL'] as const)
    test(`everything that ${name} started ends after ${signal} to it`, { skip }, async (t) => {
      const { child, mark, saw } = start(t, command, args, cwd ?? installed(t));
      await saw(sign);
      assert.ok(markedProcesses(mark).length > 1);
      child.kill(signal);
      await until('the end of all', () => markedProcesses(mark).length === 0);
    });

test(
  'a gateway that a shell leaves in the background goes on when the shell has ended',
  { skip },
  async (t) => {
    const folder = installed(t);
    const { child, mark } = start(
      t,
      '/bin/sh',
      ['-c', `${process.execPath} ${launcher} -f c.yaml > out 2>&1 &`],
      folder,
    );
    await once(child, 'exit');
    await staysReady(folder, mark);
  },
);

test(
  'a gateway that a script of npm leaves in the background goes on when npm has ended',
  { skip },
  async (t) => {
    const folder = installed(t);
    const { child, mark } = start(t, 'npm', ['run', 'left'], folder);
    await once(child, 'exit');
    await staysReady(folder, mark);
  },
);

/** The gateway serves, and still does after it has looked at its parents. */
async function staysReady(folder: string, mark: string): Promise<void> {
  const out = (): string => readFileSync(join(folder, 'out'), 'utf8');
  await until(out, () => ready.test(out()));
  // There is no event to wait for: nothing may happen. It looks at its parents every half second.
  await delay(1_500);
  assert.ok(markedProcesses(mark).length > 0);
  assert.doesNotMatch(out(), /SIGTERM|draining/);
}
