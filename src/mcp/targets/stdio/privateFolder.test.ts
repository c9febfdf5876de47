import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { until } from '../../../until.testing.ts';
import { alive } from '../../alive.testing.ts';
import { makePrivateFolder, removePrivateFolder } from './privateFolder.ts';

const skip = process.getuid?.() === 0 ? false : 'needs the right to change users';
const owner = { uid: 65_000, gid: 65_000 };

/** A folder of another user, and a script in the place of `rm` that can write into `notes`. */
function stage(t: TestContext, script: string): { readonly folder: string; readonly notes: string } {
  const programs = mkdtempSync(join(tmpdir(), 'rm-'));
  const notes = join(programs, 'notes');
  const folder = makePrivateFolder(owner);
  mkdirSync(notes);
  chmodSync(programs, 0o755);
  chmodSync(notes, 0o777);
  writeFileSync(join(programs, 'rm'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const { PATH } = process.env;
  process.env['PATH'] = `${programs}:${PATH ?? ''}`;
  t.after(() => {
    process.env['PATH'] = PATH;
    for (const one of [programs, folder]) rmSync(one, { recursive: true, force: true });
  });
  return { folder, notes };
}

test(
  'the program that removes the folder of another user gets no secret of the gateway',
  { skip },
  async (t) => {
    const { folder, notes } = stage(t, 'env >"${0%/*}/notes/env"; exec /bin/rm "$@"');
    process.env['SECRET_OF_THE_GATEWAY'] = 'a secret';
    t.after(() => delete process.env['SECRET_OF_THE_GATEWAY']);
    await removePrivateFolder(folder, owner);
    assert.equal(existsSync(folder), false);
    const environment = readFileSync(join(notes, 'env'), 'utf8');
    assert.match(environment, /^PATH=/m);
    assert.doesNotMatch(environment, /SECRET_OF_THE_GATEWAY|^HOME=/m);
  },
);

test('a removal that a process of the user has stopped is killed at its limit', { skip }, async (t) => {
  const { folder, notes } = stage(t, 'echo $$ >"${0%/*}/notes/pid"; kill -STOP $$');
  const limit = new AbortController();
  const removal = removePrivateFolder(folder, owner, limit.signal);
  const pid = await until(
    'the program has started',
    () => Number(readFileSync(join(notes, 'pid'), 'utf8')) || false,
  );
  t.after(() => {
    if (alive(pid)) process.kill(pid, 'SIGKILL');
  });
  limit.abort();
  await removal;
  await until('the program is gone', () => !alive(pid));
});
