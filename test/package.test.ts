/** The published package differs from the repository: it is compiled, and has no sources and tests. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
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

test('the package pins each dependency by version and hash, and its bill of materials names exactly those', (t) => {
  const home = mkdtempSync(join(tmpdir(), 'portcullis-shrinkwrap-'));
  t.after(() => rmSync(home, { recursive: true }));
  const script = (name: string, ...args: string[]): string =>
    execFileSync(process.execPath, [join(root, 'scripts', name), ...args], {
      encoding: 'utf8',
      stdio: 'pipe',
    });
  const file = join(home, 'npm-shrinkwrap.json');
  writeFileSync(file, script('shrinkwrap.ts'));

  interface Locked {
    readonly version: string;
    readonly integrity?: string;
    readonly dev?: boolean;
    readonly dependencies?: Readonly<Record<string, string>>;
  }
  const packagesOf = (path: string): Readonly<Record<string, Locked>> =>
    (JSON.parse(readFileSync(path, 'utf8')) as { packages: Record<string, Locked> }).packages;
  const { '': own, ...pinned } = packagesOf(file);
  const developed = packagesOf(join(root, 'package-lock.json'));
  for (const [place, entry] of Object.entries(pinned)) {
    assert.deepEqual(entry, developed[place], place);
    assert.ok(entry.integrity !== undefined && entry.dev !== true, place);
  }
  for (const name of Object.keys(own?.dependencies ?? {})) assert.ok(`node_modules/${name}` in pinned, name);

  const bill = JSON.parse(script('sbom.ts', file)) as { components: readonly { 'bom-ref': string }[] };
  assert.deepEqual(
    bill.components.map((component) => component['bom-ref']).toSorted(),
    [
      ...new Set(
        Object.entries(pinned).map(
          ([place, { version }]) => `${place.replace(/^.*node_modules\//, '')}@${version}`,
        ),
      ),
    ].toSorted(),
  );
  const { scripts, files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>;
    readonly files: readonly string[];
  };
  for (const made of ['npm-shrinkwrap.json', 'sbom.cdx.json']) {
    assert.ok(files.includes(made));
    assert.match(scripts['prepack'] ?? '', new RegExp(`> ${made.replaceAll('.', '\\.')}`));
  }
});
