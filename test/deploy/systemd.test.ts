/** The unit of systemd: its syntax, its hardening, and the commands in it. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Program, run } from '../../src/cli/program.testing.ts';
import { launcher } from '../../src/launcher.testing.ts';

const unit = readFileSync(new URL('../../deploy/systemd/portcullis.service', import.meta.url), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'portcullis-systemd-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** The values of a setting, in their order. */
const valuesOf = (name: string): string[] =>
  Array.from(unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm')), ([, value = '']) => value);

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

test(
  'systemd finds no mistake in the unit, and rates its exposure as OK',
  { skip: !hasSystemd && 'no systemd' },
  () => {
    const file = join(folder, 'portcullis.service');
    // The program must exist.
    writeFileSync(file, unit.replaceAll('/usr/bin/portcullis', launcher));
    const verified = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' });
    assert.deepEqual([verified.status, verified.stderr], [0, '']);
    const rated = execFileSync('systemd-analyze', ['security', '--offline=true', '--threshold=25', file], {
      encoding: 'utf8',
    });
    assert.match(rated, /Overall exposure level .* OK/);
  },
);

test('the commands of the unit start the gateway and reach its admin port', async (t) => {
  const here = (text: string): string =>
    text
      .replaceAll('/etc/portcullis', join(folder, 'etc'))
      .replaceAll('/run/portcullis', join(folder, 'run'));
  for (const name of ['etc', 'run']) mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(
    join(folder, 'etc/portcullis.yaml'),
    "config: { statsAddr: 'off', readinessAddr: 'off' }\nbinds: [{ port: $PORT, listeners: [{ routes: [{ policies: { directResponse: { status: 204 } } }] }] }]",
  );
  writeFileSync(join(folder, 'etc/env'), 'PORT=0\n');
  const env = Object.fromEntries(
    valuesOf('Environment').map((line): [string, string] => {
      const [name = '', value = ''] = here(line).split('=');
      return [name, name === 'HOME' ? folder : value];
    }),
  );
  const [start = ''] = valuesOf('ExecStart');
  const gateway = new Program(here(start).split(' ').slice(1), { env });
  t.after(() => gateway.child.kill('SIGKILL'));
  await gateway.saw(/ready ports=[1-9]\d* admin=unix:/);
  const [reload = ''] = valuesOf('ExecReload');
  const [, ...admin] = here(reload).split(' ').slice(1);
  assert.equal((await run(['admin', ...admin, '/readyz'])).code, 0);
  const [pidFile = ''] = valuesOf('PIDFile');
  assert.equal(readFileSync(here(pidFile), 'utf8').trim(), String(gateway.child.pid));
  gateway.child.kill();
  assert.equal((await gateway.ended).code, 0);
  // An invalid configuration ends with a code after which systemd does not start the gateway again.
  writeFileSync(join(folder, 'etc/portcullis.yaml'), 'binds: 1\n');
  const { code } = await run(here(start).split(' ').slice(1), { env });
  assert.ok(valuesOf('RestartPreventExitStatus')[0]?.split(' ').includes(String(code)), String(code));
});
