import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { LineReader } from '../../../http/index.ts';
import { fairReads, MAX_READS } from '../../../upstream/fairReads.ts';
import { still } from '../../../upstream/endpoint.testing.ts';
import { until } from '../../../until.testing.ts';
import { alive } from '../../alive.testing.ts';
import { stdioTarget } from '../../harness.testing.ts';
import { Child } from './child.ts';

/** A shell as a child, with everything that it says and every report of its end. */
function start(
  t: TestContext,
  script: string,
  more: { cwd?: string; cmd?: string } = {},
  maxLineBytes = 1_000_000,
  onLarge?: LineReader['onLarge'],
) {
  const lines: string[] = [];
  const errors: string[] = [];
  const down: string[] = [];
  const tooLong: number[] = [];
  const child = new Child(
    stdioTarget({ cmd: '/bin/sh', args: ['-c', script], ...more }),
    { PATH: process.env['PATH'] ?? '' },
    () => maxLineBytes,
    {
      onLine: (line) => void lines.push(line),
      onTooLong: (_head, _tail, bytes) => void tooLong.push(bytes),
      ...(onLarge && { onLarge }),
      onStderr: (line) => void errors.push(line),
      onLongStderr: (head, bytes) => void errors.push(`${head}… (${bytes} bytes)`),
      onDown: (reason, detail) => void down.push(detail === undefined ? reason : `${reason}: ${detail}`),
    },
  );
  t.after(async () => {
    child.stop(0);
    await child.gone;
  });
  return {
    child,
    lines,
    errors,
    down,
    tooLong,
    says: (line: string) => until(`the child says ${line}`, () => lines.includes(line)),
  };
}

test('lines go to the child and come back, those of stderr apart', async (t) => {
  const { child, lines, errors } = start(
    t,
    'while read -r line; do echo "got $line"; echo "log $line" >&2; done',
  );
  child.write('one');
  child.write('two');
  child.flush();
  await until('both lines are answered', () => lines.length === 2 && errors.length === 2);
  assert.deepEqual(lines, ['got one', 'got two']);
  assert.deepEqual(errors, ['log one', 'log two']);
});

test('a child that leaves at the end of its input is gone without a signal', async (t) => {
  const { child, down } = start(t, 'cat >/dev/null; exit 3');
  child.stop(10_000);
  await child.gone;
  assert.deepEqual(down, ['ended with exit code 3']);
});

test('a child that ignores the end of its input gets SIGTERM, and one that ignores that SIGKILL', async (t) => {
  const polite = start(t, 'trap "echo term; exit 0" TERM; echo ready; while :; do sleep 0.01; done');
  await polite.says('ready');
  polite.child.stop(20_000);
  await polite.child.gone;
  assert.deepEqual(polite.down, ['ended with exit code 0']);
  assert.ok(polite.lines.includes('term'));
  const rude = start(t, 'trap "" TERM; echo ready; while :; do sleep 0.01; done');
  await rude.says('ready');
  rude.child.stop(60);
  await rude.child.gone;
  assert.deepEqual(rude.down, ['was ended by SIGKILL']);
  assert.equal(alive(rude.child.pid!), false);
});

test('a second stop can only shorten the grace', async (t) => {
  const { child, says, down } = start(t, 'trap "" TERM; echo ready; while :; do sleep 0.01; done');
  await says('ready');
  child.stop(60);
  child.stop(600_000);
  await child.gone;
  assert.deepEqual(down, ['was ended by SIGKILL']);
});

test('processes that a child started end with it, and its last output is read', async (t) => {
  const { child, lines, down } = start(t, 'sleep 300 & echo $!; echo last words; exit 7');
  await child.gone;
  assert.deepEqual(down, ['ended with exit code 7']);
  assert.equal(lines[1], 'last words');
  assert.equal(alive(Number(lines[0])), false);
});

test('a child that closes its output is of no more use and is stopped', async (t) => {
  const { child, down } = start(t, 'exec >&-; sleep 300');
  await child.gone;
  assert.deepEqual(down, ['closed its output']);
});

test('a command that is missing, and a working directory that is, are told apart, to the operator only', async (t) => {
  const command = start(t, '', { cmd: '/no/such/command' });
  await command.child.gone;
  assert.deepEqual(command.down, ['could not be started: the command "/no/such/command" was not found']);
  assert.equal(command.child.pid, undefined);
  const directory = start(t, '', { cwd: '/no/such/directory' });
  await directory.child.gone;
  assert.deepEqual(directory.down, [
    'could not be started: the working directory "/no/such/directory" does not exist',
  ]);
  directory.child.stop(0);
  directory.child.kill();
});

test('a child that is not read waits with what it says', async (t) => {
  const { child, lines, says } = start(
    t,
    'echo first; read -r go; i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done; echo last',
  );
  await says('first');
  child.pause();
  child.write('go');
  child.flush();
  await still('the lines', () => lines.length);
  assert.ok(lines.length < 20_000, `${lines.length} lines came through a pause`);
  child.resume();
  await says('last');
  assert.equal(lines.length, 20_002);
});

for (const output of ['stdout', 'stderr'] as const)
  test(`a flood of short lines on ${output} is read some hundred lines at a time, and is read whole`, async (t) => {
    const turns = new Map<number, number>();
    const whole = Promise.withResolvers<undefined>();
    let count = 0;
    const note = (line: string): void => {
      if (line === 'last') whole.resolve(undefined);
      const turn = fairReads.current;
      turns.set(turn, (turns.get(turn) ?? 0) + 1);
      count++;
    };
    // It stays: Node hands over the last of stderr at once when a child exits.
    const command = 'yes | head -n 100000; echo last; cat >/dev/null';
    const child = new Child(
      stdioTarget({ cmd: '/bin/sh', args: ['-c', output === 'stderr' ? `{ ${command}; } >&2` : command] }),
      { PATH: process.env['PATH'] ?? '' },
      () => 1_000_000,
      {
        onLine: note,
        onTooLong: () => undefined,
        onStderr: note,
        onLongStderr: () => undefined,
        onDown: () => undefined,
      },
    );
    t.after(async () => {
      child.stop(0);
      await child.gone;
    });
    await whole.promise;
    assert.equal(count, 100_001);
    const most = Math.max(...turns.values());
    assert.ok(most <= 1_024, `${most} lines in one turn`);
  });

test('a large line is read a few pieces at a time, so that others have their turn', async (t) => {
  const reads = new Map<number, number>();
  const line = Promise.withResolvers<number>();
  let bytes = 0;
  start(t, 'head -c 30000000 /dev/zero; echo', {}, 100_000_000, (head) => {
    bytes = head.length;
    return {
      take: (piece) => {
        bytes += piece.length;
        const turn = fairReads.current;
        reads.set(turn, (reads.get(turn) ?? 0) + 1);
        // While the gateway works, the pipe fills again, so there is always more to read.
        for (let hash = 0; hash < 3; hash++) createHash('sha512').update(piece).digest();
      },
      end: () => line.resolve(bytes),
      tooLong: () => line.reject(new Error('too long')),
    };
  });
  assert.equal(await line.promise, 30_000_000);
  assert.ok(Math.max(...reads.values()) <= MAX_READS, `${Math.max(...reads.values())} reads in a turn`);
});

test('a child that is not read in the middle of a large line waits, also behind its turn', async (t) => {
  let bytes = 0;
  const { child, says } = start(
    t,
    'echo ready; read -r go; head -c 30000000 /dev/zero | tr "\\0" x; echo; echo last',
    {},
    100_000_000,
    () => ({
      take: ({ length }) => {
        if (bytes === 0) child.pause();
        bytes += length;
      },
      end: () => undefined,
      tooLong: () => undefined,
    }),
  );
  await says('ready');
  child.write('go');
  child.flush();
  await until('the line has begun', () => bytes > 0);
  await still('the bytes', () => bytes);
  assert.ok(bytes < 20_000_000, `${bytes} bytes came through a pause`);
  child.resume();
  await says('last');
});

test('a line over the limit is reported with its length, and a long line of stderr is cut', async (t) => {
  const { errors, tooLong, says } = start(
    t,
    'head -c 5000 /dev/zero | tr "\\0" x; echo; head -c 5000 /dev/zero | tr "\\0" y >&2; echo >&2; echo next',
    {},
    1_000,
  );
  await says('next');
  await until('the line of stderr is there', () => errors.length === 1);
  assert.deepEqual(tooLong, [5_000]);
  assert.match(errors[0]!, /^y+… \(5000 bytes\)$/);
  assert.ok(errors[0]!.length < 4_200);
});

test('arguments that the system refuses are an exception, and no child', () => {
  const nobody = {
    onLine: () => undefined,
    onTooLong: () => undefined,
    onStderr: () => undefined,
    onLongStderr: () => undefined,
    onDown: () => undefined,
  };
  assert.throws(
    () => new Child(stdioTarget({ args: ['a\0b'] }), {}, () => 1, nobody),
    /null bytes|ERR_INVALID/,
  );
});

test('a gateway without file descriptors says so, and goes on', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'descriptors-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const url = new URL('./child.ts', import.meta.url).href;
  const program = join(folder, 'start.ts');
  writeFileSync(
    program,
    `const { Child } = await import(${JSON.stringify(url)});
     const { closeSync, openSync } = await import('node:fs');
     const start = (down) => new Child(${JSON.stringify(stdioTarget({ cmd: 'cat', args: [] }))}, process.env, () => 1,
       { onLine() {}, onTooLong() {}, onStderr() {}, onDown: down });
     const open = [];
     try { for (;;) open.push(openSync('/dev/null')); } catch {}
     try { start(() => console.log('heard twice')); } catch (error) { console.log(error.message); }
     for (const one of open) closeSync(one);
     await new Promise((resolve) => setImmediate(resolve));
     const child = start(() => undefined);
     child.stop(0);
     await child.gone;
     console.log('another one ended');`,
  );
  const { stdout, stderr } = spawnSync(
    '/bin/sh',
    ['-c', `ulimit -n 1024; exec "$0" "$1"`, process.execPath, program],
    {
      encoding: 'utf8',
    },
  );
  assert.equal(stdout, 'the gateway has no file descriptors left for pipes\nanother one ended\n', stderr);
});
