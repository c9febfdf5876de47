import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { leaveFolder, PrivateFolder, removeStaleFolders } from './privateFolder.ts';

function parentOf(t: TestContext): string {
  const parent = mkdtempSync(join(tmpdir(), 'folder-'));
  t.after(() => rmSync(parent, { recursive: true }));
  return parent;
}

async function listen(t: TestContext, path: string): Promise<void> {
  const server = createServer().listen(path);
  await once(server, 'listening');
  t.after(() => server.close());
}

test('the folder is for its user alone, and goes with all that is in it', async (t) => {
  const folder = new PrivateFolder([parentOf(t)]);
  assert.equal(statSync(folder.path).mode & 0o777, 0o700);
  await listen(t, folder.socket('a'));
  assert.ok(existsSync(folder.socket('a')));
  folder.removeSocket('a');
  folder.removeSocket('a');
  assert.equal(existsSync(folder.socket('a')), false);
  folder.remove();
  assert.equal(existsSync(folder.path), false);
});

test('the error says what to do when no folder can be made', (t) => {
  const parent = parentOf(t);
  const missing = join(parent, 'missing');
  const long = join(parent, 'x'.repeat(90));
  mkdirSync(long);
  assert.throws(
    () => new PrivateFolder([missing, long]),
    /set TMPDIR to a writable folder with a short path: ENOENT.*; the name of .*x is too long for a socket path/,
  );
  assert.deepEqual(readdirSync(long), []);
  assert.equal(dirname(new PrivateFolder([missing, long, parent]).path), parent);
});

test('only folders of killed gateways are removed', async (t) => {
  const parent = parentOf(t);
  const later = Date.now() + 11 * 60_000;
  const [dead, alive, foreign] = [
    new PrivateFolder([parent]),
    new PrivateFolder([parent]),
    new PrivateFolder([parent]),
  ];
  writeFileSync(dead.socket('1'), '');
  await listen(t, alive.socket('1'));
  writeFileSync(alive.socket('2'), '');
  writeFileSync(join(foreign.path, 'notes.txt'), 'of somebody');
  const target = join(parent, 'elsewhere');
  mkdirSync(target);
  symlinkSync(target, join(parent, 'portcullis-link'));
  await removeStaleFolders([parent]);
  assert.ok(existsSync(dead.path), 'it may be about to start');
  await removeStaleFolders([join(parent, 'missing'), parent], later);
  assert.deepEqual(
    [dead, alive, foreign].map(({ path }) => existsSync(path)),
    [false, true, true],
  );
  assert.ok(existsSync(target));
});

test('without the main process the last worker removes the folder', (t) => {
  const folder = new PrivateFolder([parentOf(t)]);
  for (const name of ['1', '2']) writeFileSync(folder.socket(name), '');
  writeFileSync(folder.counter, '');
  leaveFolder(folder.socket('1'));
  assert.ok(existsSync(folder.socket('2')));
  leaveFolder(folder.socket('2'));
  assert.equal(existsSync(folder.path), false);
  leaveFolder(folder.socket('2'));
});
