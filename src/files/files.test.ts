import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import {
  fileMark,
  maxFileBytes,
  quietMs,
  readRegularFile,
  readRegularText,
  Settling,
  shownUrl,
} from './index.ts';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-files-'));
after(() => rmSync(folder, { recursive: true }));
const path = (name: string): string => join(folder, name);

test('a FIFO, a device and a directory are refused at once', () => {
  execFileSync('mkfifo', [path('fifo')]);
  assert.throws(() => readRegularFile(path('fifo')), /is not a regular file/);
  assert.throws(() => readRegularFile('/dev/zero'), /is not a regular file/);
  assert.throws(() => readRegularFile(folder), /directory/);
});

test('a sparse file of gigabytes is refused without reading it', () => {
  writeFileSync(path('sparse'), '');
  truncateSync(path('sparse'), 1.9e9);
  assert.throws(() => readRegularFile(path('sparse')), /is over 8388608 bytes \(MAX_FILE_BYTES/);
});

test('the limit holds to the byte, and for files that do not tell their size', () => {
  writeFileSync(path('ten'), '0123456789');
  assert.equal(readRegularText(path('ten'), 10), '0123456789');
  assert.throws(() => readRegularFile(path('ten'), 9), /is over 9 bytes/);
  // Files of /proc have the size 0.
  assert.ok(readRegularText('/proc/self/status').includes('Pid:'));
  assert.throws(() => readRegularFile('/proc/self/status', 10), /is over 10 bytes/);
});

test('the environment sets the limit, and nonsense in it does not', () => {
  assert.equal(maxFileBytes({}), 8_388_608);
  assert.equal(maxFileBytes({ MAX_FILE_BYTES: '100' }), 100);
  for (const nonsense of ['', '0', '-1', '8MiB'])
    assert.equal(maxFileBytes({ MAX_FILE_BYTES: nonsense }), 8_388_608);
});

test('a file that was written in place is due when it was left alone, a replaced one at once', () => {
  const file = path('settling');
  writeFileSync(file, 'a');
  let now = 0;
  const settling = new Settling(fileMark(file), () => now);
  const due = (): boolean => settling.due(fileMark(file));
  assert.equal(due(), false, 'nothing has changed');
  writeFileSync(file, 'half');
  assert.equal(due(), false);
  now += quietMs - 1;
  assert.equal(due(), false);
  writeFileSync(file, 'whole');
  now += quietMs;
  assert.equal(due(), false, 'it was changed again');
  now += quietMs;
  assert.equal(due(), true);
  assert.equal(due(), false, 'once');

  writeFileSync(`${file}.new`, 'replaced');
  renameSync(`${file}.new`, file);
  assert.equal(due(), true);
  rmSync(file);
  assert.equal(due(), true, 'its absence counts at once');
  writeFileSync(file, 'created');
  assert.equal(due(), false, 'somebody may write to it still');
  now += quietMs;
  assert.equal(due(), true);

  writeFileSync(path('other'), 'b');
  symlinkSync('other', `${file}.link`);
  renameSync(`${file}.link`, file);
  assert.equal(due(), true, 'a link that turns');
  settling.written();
  writeFileSync(`${file}.new`, 'c');
  renameSync(`${file}.new`, file);
  assert.equal(due(), false, 'it was written to under its own name, too');
});

test('a file is due again when its permissions have changed', () => {
  const file = path('permissions');
  writeFileSync(file, 'a', { mode: 0o000 });
  let now = 0;
  const settling = new Settling(fileMark(file), () => now);
  const due = (): boolean => settling.due(fileMark(file));
  chmodSync(file, 0o644);
  assert.equal(due(), false);
  now += quietMs;
  assert.equal(due(), true);
  assert.equal(due(), false, 'once');
});

test('an address is named without its query, its fragment and its user information', () => {
  const shown = {
    'https://idp.test/keys': 'https://idp.test/keys',
    'https://idp.test/keys?code=hidden': 'https://idp.test/keys',
    'https://idp.test?code=hidden@x': 'https://idp.test',
    'https://hidden:hidden@idp.test/a@b': 'https://idp.test/a@b',
    'https://hid@den@idp.test/keys#hidden': 'https://idp.test/keys',
  };
  for (const [address, name] of Object.entries(shown)) assert.equal(shownUrl(address), name);
});
