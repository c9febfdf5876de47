import assert from 'node:assert/strict';
import {
  chmodSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { ConfigConflict, ConfigFile } from './configFile.ts';

const old = '# kept\nbinds: []\n';

function stage(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'config-file-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'config.yaml');
  writeFileSync(file, old, { mode: 0o640 });
  chmodSync(file, 0o640);
  const document = new ConfigFile({ source: { file }, name: file, env: {} });
  t.after(() => document.close());
  return { folder, file, document };
}

test('a write replaces the text, and keeps the mode of the file', (t) => {
  const { folder, file, document } = stage(t);
  const { text, etag } = document.read();
  assert.equal(text, old);
  const next = '# another\nbinds: []\n';
  const written = document.write(next, etag);
  assert.equal(readFileSync(file, 'utf8'), next);
  assert.equal(statSync(file).mode & 0o777, 0o640);
  assert.deepEqual(readdirSync(folder), ['config.yaml'], 'no other file is left');
  assert.deepEqual(document.read(), { text: next, etag: written.etag });
  assert.notEqual(written.etag, etag);
});

test('a link to the file stays a link', (t) => {
  const { folder, file } = stage(t);
  const link = join(folder, 'link.yaml');
  symlinkSync('config.yaml', link);
  const document = new ConfigFile({ source: { file: link }, name: link, env: {} });
  document.write('binds: []', document.read().etag);
  assert.ok(lstatSync(link).isSymbolicLink());
  assert.equal(readFileSync(file, 'utf8'), 'binds: []');
});

test('a write whose text has changed meanwhile is refused', (t) => {
  const { file, document } = stage(t);
  const { etag } = document.read();
  writeFileSync(file, 'binds: [] # by an editor');
  assert.throws(() => document.write('binds: []', etag), ConfigConflict);
  assert.match(readFileSync(file, 'utf8'), /by an editor/);
});

test('a text on the command line is read and never written', () => {
  const document = new ConfigFile({ source: { text: old }, name: '<inline>', env: {} });
  const { etag } = document.read();
  assert.match(document.whyNotWritable ?? '', /not in a file/);
  assert.throws(() => document.write('binds: []', etag), /not in a file/);
});

test('a text is checked as the file source checks it, large ones on a thread', async (t) => {
  const { document } = stage(t);
  const wrong = await document.check('binds: [{ port: x, listeners: [] }]');
  assert.deepEqual(!wrong.ok && wrong.problems.map(({ line, path }) => [line, path]), [[1, 'binds[0].port']]);
  const empty = await document.check('config: {}');
  assert.match(empty.ok ? '' : (empty.problems[0]?.message ?? ''), /every port would close/);
  const large = await document.check(`binds: []\n${'# padding\n'.repeat(10_000)}`);
  assert.ok(large.ok);
  const largeAndWrong = await document.check(`bind: []\n${'# padding\n'.repeat(10_000)}`);
  assert.equal(largeAndWrong.ok, false);
});
