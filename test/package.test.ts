/** What is published is not what is developed: compiled, and without sources and tests. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

const severalWorkers = `
config: { workers: 2, adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off' }
binds: [{ port: 0, listeners: [{ routes: [{ policies: { directResponse: { status: 204 } } }] }] }]
`;

test('the compiled package runs without its sources', async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'portcullis-package-'));
  t.after(() => rmSync(home, { recursive: true }));
  const tsc = join(root, 'node_modules/.bin/tsc');
  execFileSync(tsc, ['-p', 'tsconfig.build.json', '--outDir', join(home, 'dist')], { cwd: root });
  for (const part of ['bin', 'package.json', 'examples/quickstart/config.yaml'])
    cpSync(join(root, part), join(home, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(home, 'node_modules'));

  const run = (...args: string[]): string =>
    execFileSync(process.execPath, ['bin/portcullis', ...args], {
      cwd: home,
      encoding: 'utf8',
      stdio: 'pipe',
    });
  assert.match(run('--version'), /^portcullis \d+\.\d+\.\d+/);
  assert.match(run('explain', 'examples/quickstart/config.yaml'), /route mcp/);
  assert.match(run('check', 'examples/quickstart/config.yaml'), /valid/);
  // Workers are started from files of their own.
  const several = spawn(process.execPath, ['bin/portcullis', '-c', severalWorkers], { cwd: home });
  t.after(() => several.kill('SIGKILL'));
  let log = '';
  several.stderr.setEncoding('utf8');
  for await (const text of several.stderr as AsyncIterable<string>) {
    log += text;
    if (/ready .*workers=2/.test(log)) several.kill('SIGTERM');
  }
  assert.match(log, /ready .*workers=2/);
  assert.deepEqual(globSync('dist/**/{*.test.js,*.testing.js,fixtures}', { cwd: home }), []);
});
