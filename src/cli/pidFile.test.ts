import assert from 'node:assert/strict';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { PidFile } from './pidFile.ts';

const folder = (t: TestContext): string => {
  const path = mkdtempSync(join(tmpdir(), 'portcullis-pid-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
};

test('the pid file follows no symbolic link, neither at its own path nor at the name of a draft', (t) => {
  const home = folder(t);
  const victim = join(home, 'victim');
  writeFileSync(victim, 'precious');
  const path = join(home, 'pid');
  for (const planted of [path, `${path}.${process.pid}`]) symlinkSync(victim, planted);
  const file = new PidFile(path);
  file.write();
  assert.equal(readFileSync(victim, 'utf8'), 'precious');
  assert.ok(lstatSync(path).isFile());
  assert.equal(readFileSync(path, 'utf8'), `${process.pid}\n`);
  file.remove();
  assert.ok(!existsSync(path));
});

test('a pid file that cannot be put in its place leaves no draft behind', (t) => {
  const home = folder(t);
  const path = join(home, 'pid');
  mkdirSync(join(path, 'inside'), { recursive: true });
  assert.throws(() => new PidFile(path).write());
  assert.deepEqual(readdirSync(home), ['pid']);
});
