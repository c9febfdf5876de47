/** The published package differs from the repository: it is one bundle, and has no sources, tests and dependencies. */
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { consolePackages } from '../support/consolePackages.ts';
import { own, packInto } from './packed.testing.ts';

const execute = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

/** The Node of this test, and others that `npm run test:package` fetches. */
const nodes = [process.execPath, ...(process.env['PORTCULLIS_TEST_NODES'] ?? '').split(delimiter)].filter(
  (path) => path !== '',
);

/** Several workers need a newer Node than one does. */
const workersOn = (node: string): number =>
  Number(execFileSync(node, ['-p', 'process.versions.node.split(".")[0]'])) >= 26 ? 2 : 1;

const protectedBy = (workers: number): string => `
config: { workers: ${String(workers)}, adminAddr: '127.0.0.1:0', statsAddr: 'off', readinessAddr: 'off' }
binds: [{ port: 0, listeners: [{ routes: [{ policies: {
  basicAuth: { htpasswd: 'bob:$$2b$$04$$bP6ymleiKJ4qOATF/3IV5eBsJAMYfR/voqcOWB0HrECKBIlgZ0vB.' },
  directResponse: { status: 204 } } }] }] }]
`;

/** Resolves with the output of a program when it matches. */
const written = (child: ChildProcess, pattern: RegExp): Promise<string> =>
  new Promise((resolve, reject) => {
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        if (pattern.test(output)) resolve(output);
      });
    child.once('close', () => reject(new Error(`the program ended before ${String(pattern)}:\n${output}`)));
  });

describe('the npm package', () => {
  let home = '';
  let installed = '';

  before(async () => {
    home = mkdtempSync(join(tmpdir(), 'portcullis-package-'));
    const tarball = await packInto(home);
    // Alone and from an empty cache: whatever npm would have to fetch would be an error.
    installed = join(home, 'installed');
    mkdirSync(installed);
    writeFileSync(join(installed, 'package.json'), '{}');
    const cache = ['--cache', join(home, 'cache'), '--offline', '--no-audit', '--no-fund'];
    await execute('npm', ['install', ...cache, tarball], { cwd: installed });
    installed = join(installed, 'node_modules/portcullis');
  });
  after(() => rmSync(home, { recursive: true, force: true }));

  /** Runs the installed program from an empty folder, with an environment that points to no checkout. */
  const environment = (): NodeJS.ProcessEnv => ({ PATH: process.env['PATH'], HOME: home });
  const start = (t: TestContext, node: string, ...args: string[]): ChildProcess => {
    const folder = mkdtempSync(join(home, 'empty-'));
    const child = spawn(node, [join(installed, 'bin/portcullis'), ...args], {
      cwd: folder,
      env: environment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    t.after(() => child.kill('SIGKILL'));
    return child;
  };
  const run = async (node: string, ...args: string[]): Promise<string> => {
    const folder = mkdtempSync(join(home, 'empty-'));
    const program = join(installed, 'bin/portcullis');
    return (await execute(node, [program, ...args], { cwd: folder, env: environment(), maxBuffer: 1 << 26 }))
      .stdout;
  };

  test('takes at most 40 MB, and has no sources, tests, source maps and declaration files', () => {
    const files = globSync('**', { cwd: join(installed, '..') }).map((file) => join(installed, '..', file));
    const sizes = files.map((file) => statSync(file)).filter((found) => found.isFile());
    assert.ok(sizes.length > 20);
    assert.ok(sizes.reduce((sum, { size }) => sum + size, 0) < 40e6);
    assert.deepEqual(
      files.filter((file) => /\.(?:map|ts|test\.js|testing\.js)$/.test(file)),
      [],
    );
  });

  test('lists the licence of each bundled package, and its bill of materials names exactly those packages', () => {
    const packages = JSON.parse(readFileSync(join(installed, 'dist/packages.json'), 'utf8')) as string[];
    assert.ok(packages.some((name) => name.startsWith('zod@')));
    // The authorization server is part of the package.
    assert.ok(packages.some((name) => name.startsWith('oidc-provider@')));
    const bill = JSON.parse(readFileSync(join(installed, 'sbom.cdx.json'), 'utf8')) as {
      readonly components: readonly { readonly 'bom-ref': string; readonly hashes?: readonly unknown[] }[];
    };
    const shown = consolePackages(join(installed, 'ui/dist/licenses.txt'));
    assert.ok(shown.some((name) => name.startsWith('react@')));
    assert.deepEqual(
      bill.components.map((component) => component['bom-ref']).toSorted(),
      [...new Set([...packages, ...shown])].toSorted(),
    );
    for (const component of bill.components) assert.equal(component.hashes?.length, 1, component['bom-ref']);
    const licences = readFileSync(join(installed, 'THIRD-PARTY-LICENSES'), 'utf8').split(
      `\n${'-'.repeat(80)}\n`,
    );
    assert.equal(licences.length, packages.length + 1);
    for (const name of packages) {
      const title = name.replace(/@(?=[^@]+$)/, ' ');
      assert.ok(
        licences.some((text) => text.trim().startsWith(`${title}\nLicense: `)),
        name,
      );
    }
    for (const text of licences.slice(1))
      assert.match(text, /Permission|Redistribution|Apache|public domain/, text);
  });

  test('names every file that prepack makes, and postpack restores the manifest', () => {
    for (const made of ['dist', 'sbom.cdx.json', 'THIRD-PARTY-LICENSES'])
      assert.ok(own.files.includes(made), made);
    assert.match(
      own.scripts?.['prepack'] ?? '',
      /build && .*sbom\.ts .* > sbom\.cdx\.json && .*manifest\.ts publish$/,
    );
    assert.match(own.scripts?.['postpack'] ?? '', /^node scripts\/manifest\.ts restore/);
  });

  for (const node of nodes)
    describe(`on ${node}`, () => {
      test('its commands run from an empty folder', async () => {
        assert.match(await run(node, '--version'), /^portcullis \d+\.\d+\.\d+/);
        const config = join(root, 'examples/quickstart/config.yaml');
        assert.match(await run(node, 'check', config), /valid/);
        assert.match(await run(node, 'explain', config), /route mcp/);
        assert.equal(
          await run(node, 'schema'),
          readFileSync(join(root, 'schema/portcullis.schema.json'), 'utf8'),
        );
        const server = `${node} ${join(root, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')}`;
        assert.match(await run(node, 'init', '--server', server), /everything: \d+ tools: .*echo/);
        // The help of all commands loads the code of all commands.
        for (const name of [
          'stdio',
          'upgrade',
          'import',
          'why',
          'pins',
          'audit',
          'token',
          'controller',
          'proxy',
        ])
          assert.match(await run(node, name, '--help'), new RegExp(`^usage: portcullis ${name}`), name);
      });

      test('serves, with workers where Node has what they need, checks passwords on a thread, and drains', async (t) => {
        const gateway = start(t, node, '-c', protectedBy(workersOn(node)));
        const ready = /ready ports=(\d+).* admin=(\S+)/.exec(await written(gateway, /ready .*\n/));
        const [, port = '', admin = ''] = ready ?? [];
        assert.equal((await fetch(`${admin}/ui/`)).status, 200);
        const ask = async (password: string): Promise<number> => {
          const authorization = `Basic ${btoa(`bob:${password}`)}`;
          return (await fetch(`http://127.0.0.1:${port}/`, { headers: { authorization } })).status;
        };
        assert.equal(await ask('wrong'), 401);
        assert.equal(await ask('secret'), 204);
        gateway.kill('SIGTERM');
        assert.deepEqual(await once(gateway, 'exit'), [0, null]);
      });

      test('its authorization server issues tokens', async (t) => {
        const idp = start(t, node, 'idp', '--port', '0');
        const [, issuer = ''] =
          /(http:\/\/localhost:\d+\S*)/.exec(await written(idp, /http:\/\/localhost:\d+\S*\s/)) ?? [];
        const flags = ['--issuer', issuer, '--client-id', 'demo', '--client-secret', 'demo-secret'];
        const [, payload = ''] = (await run(node, 'token', ...flags)).split('.');
        const { iat, exp } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<
          string,
          number
        >;
        // A bundler that drops names of classes takes the lifetime of tokens away.
        assert.equal(exp! - iat!, 3_600);
      });
    });
});
