import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const demo = 'examples/quickstart/demo.ts';

interface Running {
  readonly child: ChildProcess;
  /** Resolves with all output once it contains the text; rejects with it when the demo ends first. */
  until(text: string): Promise<string>;
  readonly ended: Promise<{ code: number | null; output: string }>;
}

function runDemo(...args: string[]): Running {
  const child = spawn(process.execPath, [demo, ...args], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const watchers = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
      for (const watch of watchers) watch();
    });
  }
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, output }));
  return {
    child,
    ended,
    until: (text) =>
      new Promise((resolve, reject) => {
        const watch = (): void => {
          if (!output.includes(text)) return;
          watchers.delete(watch);
          resolve(output);
        };
        watchers.add(watch);
        void ended.then(() => reject(new Error(`the demo ended without "${text}":\n${output}`)));
        watch();
      }),
  };
}

/** Everything below a process, by /proc. */
function descendants(pid: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
    } catch {
      // It ended while we looked.
    }
  }
  const found = [pid];
  for (const parent of found) {
    for (const [child, of] of parents) if (of === parent && !found.includes(child)) found.push(child);
  }
  return found.slice(1);
}

function isAlive(pid: number): boolean {
  try {
    // A zombie has been ended; only its parent has not asked yet.
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** The commands as they stand on the screen: four spaces in, an empty line after each. */
function printedCommands(output: string): string[] {
  return [...output.matchAll(/^ {4}(?:curl |[A-Z]+=\$\(curl )(?:.+\n)+/gm)].map(([text]) =>
    text.replace(/^ {4}/gm, ''),
  );
}

test('npm run demo -- --once: every answer is the expected one, and the exit code says so', async () => {
  const { code, output } = await runDemo('--once').ended;
  assert.equal(code, 0, output);
  assert.match(output, /ok every answer was the expected one/);
  assert.ok(!output.includes('\u001b['), 'no colours where there is no terminal');
});

const hasCurl = spawnSync('curl', ['--version']).status === 0;
const skip = !hasCurl && 'curl is not installed';

test('the printed commands work when pasted, and Ctrl-C leaves no process behind', { skip }, async () => {
  // The gateway's usual port is in use: the demo takes another one, in the commands too.
  const holder = createServer();
  holder.on('error', () => undefined).listen(3000);
  const running = runDemo();
  try {
    const output = await running.until('Ctrl-C stops it');
    assert.match(output, /gateway +port 3000 is taken, using \d+/);
    const commands = printedCommands(output);
    const expected = [...output.matchAll(/^ {2}< HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => status);
    assert.equal(commands.length, expected.length, 'a command for each answer');

    // The commands run in a single shell, as in a terminal: later commands use the variables of earlier ones. The
    // first two come again at the end: they leave a session open, with its MCP server.
    const script = [...commands, ...commands.slice(0, 2)]
      .map((command) => `${command.trimEnd()}\necho "<<"`)
      .join('\n');
    const shell = spawn('sh', ['-eu'], { stdio: ['pipe', 'pipe', 'inherit'] });
    let pasted = '';
    shell.stdout.setEncoding('utf8').on('data', (chunk: string) => (pasted += chunk));
    shell.stdin.end(script);
    assert.deepEqual(await once(shell, 'close'), [0, null], pasted);
    const statuses = pasted
      .split('<<\n')
      .slice(0, -1)
      .map((answer) => /^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]);
    commands.forEach((command, index) => {
      if (command.startsWith('curl')) assert.equal(statuses[index], expected[index], command);
    });
    assert.match(pasted, /Echo: hello/);
    assert.match(pasted, /"Host": \[\s+"www\.example\.com"/);

    const below = process.platform === 'linux' ? descendants(running.child.pid ?? 0) : [];
    running.child.kill('SIGINT');
    running.child.kill('SIGINT');
    assert.equal((await running.ended).code, 0);
    if (process.platform === 'linux') assert.ok(below.length > 1, 'the gateway and the MCP server ran');
    assert.deepEqual(below.filter(isAlive), []);
  } finally {
    running.child.kill('SIGTERM');
    holder.close();
  }
});

test('Ctrl-C while it starts ends it, and leaves nothing behind', async () => {
  const running = runDemo();
  await running.until('starting …');
  const below = process.platform === 'linux' ? descendants(running.child.pid ?? 0) : [];
  running.child.kill('SIGINT');
  await running.ended;
  assert.deepEqual(below.filter(isAlive), []);
});
