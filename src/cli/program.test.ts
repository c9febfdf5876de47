import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { startDevIdp } from '@portcullis/dev-idp';
import { launcher } from '../launcher.testing.ts';
import type { Terminal } from './command.ts';
import { main } from './index.ts';
import { Program, run } from './program.testing.ts';

const quiet = 'config: {adminAddr: "off", statsAddr: "off", readinessAddr: "off"}';
const served = (port: number): string =>
  `${quiet}\nbinds: [{port: ${port}, listeners: [{routes: [{policies: {directResponse: {status: 204}}}]}]}]\n`;

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'portcullis-cli-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function started(t: TestContext, ...given: ConstructorParameters<typeof Program>): Program {
  const program = new Program(...given);
  t.after(() => program.child.kill('SIGKILL'));
  return program;
}

test('a valid configuration is checked with 0, and warnings go to standard error', async () => {
  const { code, out, err } = await run(['check', '-c', 'binds: []']);
  assert.equal(code, 0);
  assert.equal(out, 'the configuration is valid\n');
  assert.match(err, /^warning: <inline>:1:1: nothing is served/);
});

test('an invalid configuration is checked with 1, and all its problems go to standard error', async (t) => {
  const file = join(folder(t), 'c.yaml');
  writeFileSync(file, 'bind: []\nbinds:\n- port: x\n  listeners: []\n');
  for (const args of [
    ['check', file],
    [`--file=${file}`, '--validate-only'],
    ['-f', file],
    ['explain', file],
  ]) {
    const { code, out, err } = await run(args);
    assert.equal(code, 1, args.join(' '));
    assert.equal(out, '');
    assert.ok(err.includes(`${file}:1:1: bind: unknown field (did you mean binds?)\n`), err);
    assert.ok(err.includes(`${file}:3:9: binds[0].port: expected a number, got a string\n`), err);
  }
});

test('check opens the files that a configuration names and looks its programs up, unless told not to', async (t) => {
  const directory = folder(t);
  const file = join(directory, 'c.yaml');
  const users = join(directory, 'users');
  writeFileSync(
    file,
    `config: {adminAddr: "off"}
binds:
- port: 1
  listeners:
  - routes:
    - policies: {basicAuth: {htpasswd: {file: ${users}}}, directResponse: {status: 204}}
    - matches: [{path: {pathPrefix: /mcp}}]
      backends: [{mcp: {targets: [{name: a, stdio: {cmd: no-such-program}}]}}]
`,
  );
  const { code, out, err } = await run(['check', file]);
  assert.deepEqual([code, out], [1, '']);
  assert.match(err, new RegExp(`c\\.yaml:6:\\d+: .*htpasswd\\.file: ${users}: there is no such file\n`));
  assert.match(err, /c\.yaml:8:\d+: .*stdio\.cmd: no-such-program: there is no such program/);
  assert.match(err, /^2 problems$/m);
  assert.equal((await run(['check', '--no-files', file])).code, 0);
  assert.equal((await run(['-f', file, '--validate-only'])).code, 1);
});

test('check --online fetches key sets and compares the metadata of issuers', async (t) => {
  const idp = await startDevIdp({ port: 0 });
  t.after(() => idp.close());
  const policy = (settings: string): string =>
    `{policies: {jwtAuth: {mode: strict, ${settings}}, directResponse: {status: 204}}, matches: [{path: {exact: /${settings.length}}}]}`;
  const check = async (...settings: string[]) =>
    await run([
      'check',
      '--online',
      '-c',
      `${quiet}\nbinds: [{port: 1, listeners: [{routes: [${settings.map(policy).join(', ')}]}]}]`,
    ]);
  const right = await check(
    `issuer: '${idp.issuer}'`,
    `issuer: '${idp.issuer}', jwks: {url: '${idp.issuer}/v1/keys'}`,
  );
  assert.deepEqual([right.code, right.out, right.err], [0, 'the configuration is valid\n', '']);

  const away = await check(`issuer: '${idp.issuer}', jwks: {url: '${idp.url}/nothing'}`);
  assert.equal(away.code, 1);
  assert.match(away.err, /jwtAuth: the key set of .*: answered 404/);
  assert.match(away.err, /warning: .* names another key set, .*\/v1\/keys, in place of/);

  const mcp = await run([
    ...['check', '--online', '-c'],
    `${quiet}\nbinds: [{port: 1, listeners: [{routes: [{policies: {mcpAuthentication: {issuer: '${idp.url}/none', audiences: [a]}, directResponse: {status: 204}}}]}]}]`,
  ]);
  assert.equal(mcp.code, 1);
  assert.match(mcp.err, /mcpAuthentication: the key set of http:\S+\/none: /);

  // The same server by another name: its metadata names the first one.
  const other = idp.issuer.replace('localhost', '127.0.0.1');
  const wrong = await check(`issuer: '${other}', jwks: {url: '${idp.issuer}/v1/keys'}`);
  assert.equal(wrong.code, 1);
  assert.match(wrong.err, /the metadata of http:\/\/127.* could not be read: .*names another issuer/);
});

test('a reader who has seen enough is no failure', async (t) => {
  const program = started(t, ['schema']);
  program.child.stdout?.destroy();
  const { code, err } = await program.ended;
  assert.deepEqual({ code, err }, { code: 0, err: '' });
});

test('a wrong command line is answered with 2 and a pointer to the help', async () => {
  const cases: [string[], RegExp][] = [
    [['run'], /no configuration given; use -f config\.yaml/],
    [['check', '-f', 'x', '--env-file', '/no/such/file'], /--env-file: .*ENOENT/],
    [['chek'], /unknown command "chek"; did you mean check\?/],
    [['config.yaml'], /a configuration is given with -f config\.yaml/],
    [['--fil', 'x'], /Unknown option '--fil'; did you mean --file\?/],
    [['-f', 'a.yaml', '--file', 'b.yaml'], /--file is given twice/],
    [['-f'], /argument missing/],
    [['-f', 'a', '-c', 'b'], /more than one configuration given; expected one/],
    [['check', 'a', 'b'], /unexpected argument "b"/],
    [['schema', 'x'], /unexpected argument "x"/],
    [['constructor'], /unknown command "constructor"/],
    [['token', '--issuer', 'here'], /--issuer: expected an http or https URL/],
    [['token', '--issuer', 'http://a', '--client-id', 'b'], /PORTCULLIS_CLIENT_SECRET/],
  ];
  for (const [args, message] of cases) {
    let out = '';
    let err = '';
    const terminal: Terminal = { out: (text) => (out += text), err: (text) => (err += text), env: {} };
    assert.equal(await main(args, terminal), 2, `${args.join(' ')}: ${err}`);
    assert.equal(out, '');
    assert.match(err, message);
    assert.match(err, /See portcullis --help\.\n$/);
  }
});

test('Node does not read the file of --env-file: the program reports a missing one, and NODE_OPTIONS there do nothing', async (t) => {
  const directory = folder(t);
  const [options, loaded] = [join(directory, 'options.cjs'), join(directory, 'loaded')];
  writeFileSync(options, `require('node:fs').appendFileSync(${JSON.stringify(loaded)}, 'x')`);
  const file = join(directory, '.env');
  writeFileSync(file, `NODE_OPTIONS=--require=${options}\nBACKEND=a:1\n`);
  // As a shell starts the installed program.
  const launched = (args: readonly string[]) =>
    spawnSync(launcher, args, {
      encoding: 'utf8',
      env: { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, KEY: 'hidden' },
    });
  const missing = launched(['check', '-c', 'binds: []', '--env-file', join(directory, 'none')]);
  assert.equal(missing.status, 2);
  assert.match(missing.stderr, /--env-file: .*ENOENT/);
  const key = '{policies: {backendAuth: {key: {value: $KEY}}}, backends: [{host: "$BACKEND"}]}';
  const settings = `${quiet}\nbinds: [{port: 0, listeners: [{routes: [${key}]}]}]`;
  const checked = launched(['check', '-c', settings, '--env-file', file]);
  assert.deepEqual([checked.status, checked.stderr], [0, '']);
  // The gateway starts its program anew, because a secret is in its environment.
  const gateway = started(t, ['run', '-c', settings, '--env-file', file], { env: { KEY: 'hidden' } });
  await gateway.saw(/ready/);
  assert.ok(!existsSync(loaded));
});

test('the exit code of a wrong command line is that of the process', async () => {
  const { code, out, err } = await run(['chek']);
  assert.deepEqual([code, out], [2, '']);
  assert.equal(err, 'portcullis: unknown command "chek"; did you mean check?\nSee portcullis --help.\n');
});

test('help and version are answered on standard output with 0', async () => {
  const help = await run(['--help']);
  assert.equal(help.code, 0);
  for (const word of ['run', 'check', 'explain', 'schema', 'token', 'idp', '--validate-only', 'exit codes:'])
    assert.ok(help.out.includes(word), word);
  const check = await run(['check', '-h']);
  assert.match(check.out, /^usage: portcullis check \[FILE\]/);
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  assert.equal((await run(['-V'])).out, `portcullis ${version}\n`);
});

test('neither explain nor check shows the value of a variable', async () => {
  const env = { SECRET: 's3cr3t-value' };
  const routes = (rest: string): string => `${quiet}\nbinds: [{port: 0, listeners: [{routes: [${rest}]}]}]`;
  const text = routes(
    '{matches: [{headers: [{name: x-a, value: {exact: $SECRET}}]}], backends: [{mcp: {targets: [{name: a, stdio: {cmd: run, args: [$SECRET, --token, "in clear"]}}]}}]}',
  );
  const explained = await run(['explain', '-c', text], { env });
  assert.equal(explained.code, 0, explained.err);
  assert.match(explained.out, /x-a = \[redacted\]/);
  assert.match(explained.out, /run '\[redacted\]' --token '\[redacted\]'/);
  assert.doesNotMatch(explained.out, /s3cr3t|in clear/);
  const { code, out } = await run(['explain', '--json', '-c', text], { env });
  assert.equal(code, 0);
  const { binds } = JSON.parse(out) as { binds: { listeners: { routes: object[] }[] }[] };
  assert.equal(binds[0]?.listeners[0]?.routes.length, 1);
  assert.doesNotMatch(out, /s3cr3t|in clear/);
  const checked = await run(['check', '-c', routes('{backends: [{backend: $SECRET}]}')], { env });
  assert.equal(checked.code, 1);
  assert.match(checked.err, /there is no backend "\$SECRET"/);
  assert.doesNotMatch(checked.err, /s3cr3t/);
});

test('the schema that is printed is the one in the repository', async () => {
  const { code, out } = await run(['schema']);
  assert.equal(code, 0);
  const committed = readFileSync(new URL('../../schema/portcullis.schema.json', import.meta.url), 'utf8');
  assert.ok(out === committed, 'run `npm run generate`');
});

test('the gateway runs, drains on the first signal and ends with 0', async (t) => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const program = started(t, ['-c', served(0)]);
    const [, port] = await program.saw(/ready .*ports=(\d+)/);
    assert.equal((await fetch(`http://127.0.0.1:${port ?? ''}/`)).status, 204);
    program.child.kill(signal);
    assert.deepEqual((await program.ended).code, 0);
  }
});

test('variables of the environment reach the configuration', async (t) => {
  const program = started(t, ['-c', served(0).replace('port: 0', 'port: $PORT')], { env: { PORT: '0' } });
  await program.saw(/ready /);
  program.child.kill();
  assert.equal((await program.ended).code, 0);
});

test('a port in use ends with 3', async (t) => {
  const server = createServer().listen(0, '::');
  t.after(() => server.close());
  await once(server, 'listening');
  const { code, err } = await run(['-c', served((server.address() as AddressInfo).port)]);
  assert.equal(code, 3, err);
  assert.match(err, /EADDRINUSE|in use/);
  assert.match(err, /--admin-port N; to switch them off, start with --no-admin/);
  if (process.platform === 'linux')
    assert.match(err, new RegExp(`is in use by process ${String(process.pid)} \\(node`));
});

test('one flag moves the ports of the operator, or switches them off', async (t) => {
  const file = `config: { adminAddr: '127.0.0.1:1', statsAddr: '127.0.0.1:1', readinessAddr: '127.0.0.1:1' }
binds: [{ port: 0, listeners: [{ routes: [{ policies: { directResponse: { status: 204 } } }] }] }]`;
  const without = started(t, ['-c', file, '--no-admin']);
  await without.saw(/ready .* admin=off stats=off readiness=off/);
  without.child.kill();
  const moved = started(t, ['-c', file, '--admin-port', '0']);
  const [, stats = ''] = await moved.saw(
    /ready .* admin=http:\/\/127\.0\.0\.1:[1-9]\d+ stats=http:\/\/\S*:(\d+) readiness=http/,
  );
  assert.equal((await fetch(`http://127.0.0.1:${stats}/metrics`)).status, 200);
  moved.child.kill();
  for (const wrong of [
    ['--admin-port', '65515'],
    ['--admin-port', 'x'],
    ['--admin-port', '0', '--no-admin'],
  ])
    assert.equal((await run(['-c', file, ...wrong])).code, 2, wrong.join(' '));
});

/** A preload that makes Node look older than it is. */
function oldNode(t: TestContext): string[] {
  const preload = join(folder(t), 'old.cjs');
  writeFileSync(preload, `Object.defineProperty(process.versions, 'node', { value: '20.1.0' });`);
  return ['--require', preload];
}

test('on an old Node the launcher starts itself on the packaged one and passes signals and exit codes on', async (t) => {
  const node = oldNode(t);
  assert.match((await run(['--version'], { node })).out, /^portcullis \d/);
  assert.equal((await run(['nope'], { node })).code, 2);
  const program = started(t, ['-c', served(0)], { node });
  await program.saw(/ready /);
  program.child.kill('SIGTERM');
  const { code, err } = await program.ended;
  assert.equal(code, 0, err);
  assert.match(err, /SIGTERM: draining/);
});

test('a gateway whose launcher was killed stops by itself', async (t) => {
  const program = started(t, ['-c', served(0)], { node: oldNode(t) });
  await program.saw(/ready /);
  program.child.kill('SIGKILL');
  // Standard error is closed when the last process that writes to it is gone: the gateway.
  const { signal, err } = await program.ended;
  assert.equal(signal, 'SIGKILL');
  assert.match(err, /draining/);
});

test('on an old Node without the package the launcher says which Node it needs', async (t) => {
  const root = folder(t);
  mkdirSync(join(root, 'bin'));
  const manifest = join(dirname(launcher), '../package.json');
  copyFileSync(manifest, join(root, 'package.json'));
  const { engines } = JSON.parse(readFileSync(manifest, 'utf8')) as {
    readonly engines: { readonly node: string };
  };
  for (const file of ['portcullis', 'parent.js', 'compileCache.js'])
    copyFileSync(join(dirname(launcher), file), join(root, 'bin', file));
  const { code, err } = await run(['--version'], {
    node: oldNode(t),
    program: join(root, 'bin', 'portcullis'),
  });
  assert.equal(code, 3);
  assert.equal(engines.node, '>=22.18');
  assert.match(err, /^portcullis needs Node 22\.18 or newer; this is 20\.1\.0\./);
});
