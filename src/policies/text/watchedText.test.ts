import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { memoryLog } from '../../auth/log.testing.ts';
import { GatewayError } from '../../errors.ts';
import { WatchedText } from './watchedText.ts';

const folder = mkdtempSync(join(tmpdir(), 'watched-text-'));
after(() => rmSync(folder, { recursive: true }));

/** Reads words; `bad` is none. `next` resolves when the file was read again. */
function words() {
  let notify = (): void => undefined;
  const { log, lines } = memoryLog();
  const read = (text: string): string => {
    setImmediate(notify);
    if (text === 'bad') throw new Error('not a word');
    return text;
  };
  const next = (): Promise<void> => new Promise((resolve) => (notify = resolve));
  return { options: { name: 'test', read, log, pollMs: 5 }, lines, next };
}

const replace = (file: string, text: string): void => {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
};

test('a text of the configuration is taken as it is', () => {
  assert.equal(new WatchedText({ kind: 'inline', text: 'a' }, words().options).value, 'a');
  assert.throws(() => new WatchedText({ kind: 'inline', text: 'bad' }, words().options), /not a word/);
});

test('a file is read again when it changes, and a bad change leaves the last good one', async () => {
  const file = join(folder, 'changing');
  writeFileSync(file, 'a');
  const { options, lines, next } = words();
  const watched = new WatchedText({ kind: 'file', file }, options);
  assert.equal(watched.value, 'a');
  for (const [text, expected] of [
    ['bb', 'bb'],
    ['bad', 'bb'],
    ['ccc', 'ccc'],
  ] as const) {
    const read = next();
    replace(file, text);
    await read;
    assert.equal(watched.value, expected);
  }
  watched.close();
  assert.equal(lines.length, 1);
});

test('a watch hears of a change that is in force, until it ends', async () => {
  const file = join(folder, 'watched');
  writeFileSync(file, 'a');
  const { options, next } = words();
  const watched = new WatchedText({ kind: 'file', file }, options);
  const heard: string[] = [];
  const end = watched.watch(() => heard.push(watched.value));
  for (const text of ['bad', 'bb', 'ccc']) {
    if (text === 'ccc') end();
    const read = next();
    replace(file, text);
    await read;
  }
  watched.close();
  assert.deepEqual(heard, ['bb']);
});

test('requests are refused until the file is usable', async () => {
  const file = join(folder, 'late');
  const { options, next } = words();
  const watched = new WatchedText({ kind: 'file', file }, options);
  assert.throws(
    () => watched.value,
    (error) =>
      error instanceof GatewayError && error.code === 'policy_failed' && /ENOENT/.test(error.detail ?? ''),
  );
  const read = next();
  replace(file, 'a');
  await read;
  assert.equal(watched.value, 'a');
  watched.close();
});
