import assert from 'node:assert/strict';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { StdioTarget } from '../../../model/index.ts';
import { until } from '../../../until.testing.ts';
import { stdioTarget } from '../../harness.testing.ts';
import { Child } from './child.ts';
import { isolatedCommand } from './isolation.ts';

const isLinux = process.platform === 'linux';
const skip = isLinux ? false : 'needs Linux';
const asRoot = process.getuid?.() === 0 ? false : 'needs the right to change users';
const mayUnshare = spawnSync('unshare', [
  '--user',
  '--map-current-user',
  '--pid',
  '--fork',
  '--mount-proc',
  'true',
]);
const namespaces = mayUnshare.status === 0 ? false : 'the machine allows no namespaces';

/** The lines of a shell script that runs as a child to its end. */
async function output(
  t: TestContext,
  script: string,
  isolation: StdioTarget['isolation'],
): Promise<readonly string[]> {
  const lines: string[] = [];
  const errors: string[] = [];
  const ended: string[] = [];
  const child = new Child(
    stdioTarget({ cmd: '/bin/sh', args: ['-c', script], ...(isolation && { isolation }) }),
    { PATH: process.env['PATH'] ?? '' },
    () => 1_000_000,
    {
      onLine: (line) => void lines.push(line),
      onTooLong: () => undefined,
      onStderr: (line) => void errors.push(line),
      onLongStderr: (head) => void errors.push(head),
      onDown: (reason) => void ended.push(reason),
    },
  );
  t.after(async () => {
    child.stop(0);
    await child.gone;
  });
  await until('the end of the child', () => ended.length > 0);
  assert.deepEqual(errors, []);
  return lines;
}

test('the kernel limits the processes of a child', { skip }, async (t) => {
  const limits = { memoryBytes: 536_870_912, cpuSeconds: 7, openFiles: 33, processes: 4_000 };
  const lines = await output(t, 'cat /proc/self/limits', { limits });
  const limit = (name: string): string | undefined =>
    lines
      .find((line) => line.startsWith(name))
      ?.slice(name.length)
      .trim()
      .split(/ +/)
      .slice(0, 2)
      .join(' ');
  assert.equal(limit('Max address space'), '536870912 536870912');
  assert.equal(limit('Max cpu time'), '7 7');
  assert.equal(limit('Max open files'), '33 33');
  assert.equal(limit('Max processes'), '4000 4000');
});

test('a child runs as the user and the first group of the user', { skip: skip || asRoot }, async (t) => {
  assert.deepEqual(await output(t, 'id -u; id -g; id -G', { user: 'daemon' }), ['1', '1', '1']);
  assert.deepEqual(await output(t, 'id -u; id -g; id -G', { user: 65_000, group: 65_001 }), [
    '65000',
    '65001',
    '65001',
  ]);
});

test(
  'a child with processes of its own sees no others, and has the same user',
  { skip: skip || namespaces },
  async (t) => {
    const lines = await output(
      t,
      'id -u; ls /proc | grep -c "^[0-9]"; test -e /proc/$$/environ && echo own',
      {
        privateProcesses: true,
      },
    );
    assert.equal(lines[0], String(process.getuid?.()));
    // The shell, ls and grep.
    assert.ok(Number(lines[1]) <= 3);
    assert.equal(lines[2], 'own');
  },
);

test('a child without new privileges says so in its status', { skip }, async (t) => {
  const lines = await output(t, 'grep NoNewPrivs /proc/self/status', { noNewPrivileges: true });
  assert.match(lines[0] ?? '', /NoNewPrivs:\s+1/);
});

for (const [whose, user, wrong] of [
  ['the gateway', undefined, false],
  ['another user', 'daemon', asRoot],
] as const)
  test(
    `a child of ${whose} has a folder of its own, which goes with it`,
    { skip: skip || wrong },
    async (t) => {
      const lines: string[] = [];
      const start = (): Child =>
        new Child(
          stdioTarget({
            cmd: '/bin/sh',
            args: ['-c', 'mkdir -p a/b; echo x >a/b/c; stat -c "%a %u %n" "$PWD"; ls; exec sleep 60'],
            isolation: { privateFolder: true, ...(user && { user }) },
          }),
          { PATH: process.env['PATH'] ?? '' },
          () => 10_000,
          {
            onLine: (line) => void lines.push(line),
            onTooLong: () => undefined,
            onStderr: (line) => void lines.push(line),
            onLongStderr: (head) => void lines.push(head),
            onDown: () => undefined,
          },
        );
      const children = [start(), start()];
      t.after(async () => {
        for (const child of children) child.stop(0);
        await Promise.all(children.map((child) => child.gone));
      });
      await until('both folders', () => lines.length === 4);
      const folders = lines.filter((line) => line !== 'a');
      assert.equal(new Set(folders).size, 2);
      const uid = user === undefined ? process.getuid?.() : 1;
      for (const line of folders) {
        assert.ok(line.startsWith(`700 ${String(uid)} ${tmpdir()}/portcullis-child-`), line);
        assert.ok(existsSync(line.slice(line.indexOf('/'))));
      }
      for (const child of children) child.kill();
      await Promise.all(children.map((child) => child.gone));
      for (const line of folders) assert.ok(!existsSync(line.slice(line.indexOf('/'))), line);
    },
  );

test('a command that does not exist leaves no folder', { skip }, async () => {
  const own = mkdtempSync(join(tmpdir(), 'isolation-'));
  const former = process.env['TMPDIR'];
  process.env['TMPDIR'] = own;
  try {
    const child = new Child(
      stdioTarget({ cmd: '/no/such/command', isolation: { privateFolder: true } }),
      {},
      () => 1,
      {
        onLine: () => undefined,
        onTooLong: () => undefined,
        onStderr: () => undefined,
        onLongStderr: () => undefined,
        onDown: () => undefined,
      },
    );
    await child.gone;
    assert.deepEqual(readdirSync(own), []);
  } finally {
    if (former === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = former;
    rmSync(own, { recursive: true });
  }
});

test('a child inherits no file that the gateway has open', { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'isolation-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = openSync(join(folder, 'of-the-gateway'), 'w');
  t.after(() => closeSync(file));
  const lines = await output(t, 'ls -l /proc/$$/fd', undefined);
  assert.equal(lines.filter((line) => / [012] -> pipe:| [012] -> socket:/.test(line)).length, 3);
  assert.ok(!lines.some((line) => line.includes('of-the-gateway')));
});

test('a child inherits no file that the parent of the gateway left open', { skip }, (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'isolation-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const secret = join(folder, 'secret');
  writeFileSync(secret, 'a secret');
  const url = new URL('./child.ts', import.meta.url).href;
  const target = stdioTarget({ cmd: '/bin/sh', args: ['-c', 'ls -l /proc/$$/fd; echo end'] });
  writeFileSync(
    join(folder, 'start.ts'),
    `import { readFileSync } from 'node:fs';
     const { Child } = await import(${JSON.stringify(url)});
     console.log('the gateway reads', readFileSync('/dev/fd/30', 'utf8'));
     new Child(${JSON.stringify(target)}, { PATH: process.env.PATH }, () => 10_000,
       { onLine: (line) => console.log(line), onStderr: console.log, onDown: () => undefined });`,
  );
  const { stdout, stderr } = spawnSync(
    'bash',
    [
      '-c',
      'exec 20<"$1" 30<"$1" 2000<"$1"; exec "$2" "$3"',
      'bash',
      secret,
      process.execPath,
      join(folder, 'start.ts'),
    ],
    { encoding: 'utf8' },
  );
  assert.match(stdout, /the gateway reads a secret\n/, stderr);
  assert.match(stdout, / 30 -> \/dev\/null\n/);
  assert.match(stdout, /\nend\n/);
  assert.ok(!stdout.includes(secret), stdout);
});

test('a gateway without the right to change users says so', { skip: skip || asRoot }, (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'isolation-'));
  t.after(() => rmSync(folder, { recursive: true }));
  chmodSync(folder, 0o755);
  const url = new URL('./child.ts', import.meta.url).href;
  const target = stdioTarget({ cmd: '/bin/true', args: [], isolation: { user: 'daemon' } });
  writeFileSync(
    join(folder, 'start.ts'),
    `const { Child } = await import(${JSON.stringify(url)});
     process.setgroups([]); process.setgid(65534); process.setuid(65534);
     try { new Child(${JSON.stringify(target)}, {}, () => 1, {}); } catch (error) { console.log(error.message); }`,
  );
  const { stdout, stderr } = spawnSync(process.execPath, [join(folder, 'start.ts')], { encoding: 'utf8' });
  assert.equal(stdout.trim(), 'the gateway has no right to start programs as another user or group', stderr);
});

test('unknown users and groups, and other platforms, are errors that name the setting', () => {
  const of = (isolation: StdioTarget['isolation'], platform?: NodeJS.Platform) => () =>
    isolatedCommand({ cmd: 'x', args: [], ...(isolation && { isolation }) }, platform);
  assert.throws(of({ user: 'no-such-user' }), /no user no-such-user/);
  assert.throws(of({ group: 'no-such-group' }), /no group no-such-group/);
  assert.throws(of({ user: 64_999 }), /group is needed/);
  assert.throws(of({ privateProcesses: true }, 'darwin'), /need Linux/);
});
