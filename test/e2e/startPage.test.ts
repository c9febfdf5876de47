/** The Start page: its commands run exactly as they are, in an empty folder of a machine without a network. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { stepsOf } from '../support/guide.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Its own network gives the commands the ports that they name, and no other host. */
const alone = ['--net', '--map-root-user', 'sh', '-c'] as const;
const possible =
  spawnSync('unshare', [...alone, 'ip link set lo up']).status === 0 &&
  spawnSync('curl', ['--version']).status === 0;
const skip = possible ? false : 'unshare, ip or curl is missing';

test('the commands of the Start page print what the page says', { skip, timeout: 120_000 }, (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-start-'));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'bin'));
  writeFileSync(
    join(folder, 'bin/portcullis'),
    `#!/bin/sh\nexec '${process.execPath}' '${root}bin/portcullis' "$@"\n`,
  );
  chmodSync(join(folder, 'bin/portcullis'), 0o755);
  // npx finds the packages here instead of fetching them.
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));

  const steps = stepsOf(readFileSync(join(root, 'docs/start.md'), 'utf8'), new Set());
  assert.ok(steps.length > 5);
  const script = steps.map(({ fence }) => `${fence.text}echo; echo '<<'\n`).join('');
  writeFileSync(join(folder, 'steps.sh'), `set -e\n${script}`);
  const env = {
    ...process.env,
    PATH: `${join(folder, 'bin')}:${join(root, 'node_modules/.bin')}:${process.env['PATH'] ?? ''}`,
    HOME: folder,
    TMPDIR: folder,
  };
  const ran = spawnSync('unshare', [...alone, 'ip link set lo up && exec bash -m steps.sh'], {
    cwd: folder,
    env,
    encoding: 'utf8',
    timeout: 100_000,
  });
  assert.equal(ran.status, 0, `${ran.stdout}\n${ran.stderr}`);
  const outputs = ran.stdout.split('<<\n');
  steps.forEach(({ fence, expected }, at) => {
    for (const line of (expected ?? '').split('\n').filter((each) => each !== ''))
      assert.ok(outputs[at]?.includes(line), `line ${String(fence.line)}: ${outputs[at] ?? ''}`);
  });
});
