import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { MemoryDestination } from './memory.testing.ts';
import { Sink } from './sink.ts';

test('lines wait for a batch and are all there after close', () => {
  const destination = new MemoryDestination();
  const sink = new Sink(destination, { flushAt: 12, flushMs: 60_000 });
  sink.write('first\n');
  assert.equal(destination.text, '');
  sink.write('second\n');
  assert.equal(destination.text, 'first\nsecond\n');
  sink.write('third\n');
  sink.close();
  assert.equal(destination.text, 'first\nsecond\nthird\n');
});

test('a destination that takes nothing costs lines, not memory, and the loss is reported', () => {
  const stuck = new Writable({ write: () => {}, highWaterMark: 1 });
  let lost = 0;
  const sink = new Sink(stuck, { flushAt: 1_024, flushMs: 60_000, onDrop: (lines) => (lost += lines) });
  const line = `${'x'.repeat(1_023)}\n`;
  for (let i = 0; i < 10_000; i++) sink.write(line);
  assert.ok(stuck.writableLength < 5_000_000, `kept ${String(stuck.writableLength)} bytes`);
  assert.equal(lost, 1);
  sink.close();
});

test('a destination that fails does not end the process', async () => {
  const broken = new Writable({ write: (_chunk, _encoding, done) => done(new Error('disk full')) });
  let lost = 0;
  const sink = new Sink(broken, { flushAt: 0, flushMs: 0, onDrop: (lines) => (lost += lines) });
  sink.write('a\n');
  await new Promise((resolve) => broken.once('close', resolve));
  sink.write('b\n');
  assert.equal(lost, 2, 'the line that failed and the line that was refused both count');
  sink.close();
});

test('a full pipe blocks neither the process nor its end, and written lines arrive whole and in order', async () => {
  const script = `
    import { Sink } from ${JSON.stringify(new URL('sink.ts', import.meta.url).href)};
    import { writeSync } from 'node:fs';
    let lost = 0;
    const sink = new Sink(1, { flushAt: 16384, flushMs: 10, onDrop: (n) => { lost += n; } });
    const pad = 'x'.repeat(1000);
    for (let i = 0; i < 8000; i++) sink.write(i + ' ' + pad + '\\n');
    writeSync(2, 'not blocked\\n');
    process.stdin.once('data', () => { process.stdin.destroy(); sink.close(); });
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'pipe' });
  const [note] = (await once(child.stderr, 'data')) as [Buffer];
  assert.equal(note.toString(), 'not blocked\n');
  // The test has not read its stdout so far: 8 MB went into a pipe of some 100 KB.
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  child.stdin.write('go');
  const [code] = (await once(child, 'close')) as [number];
  assert.equal(code, 0);
  const numbers = text
    .trimEnd()
    .split('\n')
    .map((line) => Number(line.slice(0, line.indexOf(' '))));
  assert.deepEqual(
    numbers,
    numbers.map((_, i) => i),
  );
  assert.ok(numbers.length > 100 && numbers.length < 8_000, `${String(numbers.length)} lines arrived`);
});

/** Runs a script in a process that may write no file larger than 1 024 bytes (`ulimit -f`), as on a full disk. */
const onFullDisk = (script: string): string => {
  const home = mkdtempSync(join(tmpdir(), 'portcullis-log-'));
  const file = join(home, 'log');
  try {
    const out = openSync(file, 'a');
    const { status, stderr } = spawnSync(
      'sh',
      // POSIX counts in blocks of 512 bytes, some shells in blocks of 1 024.
      ['-c', 'ulimit -f 2; exec "$0" --input-type=module -e "$1"', process.execPath, script],
      { stdio: ['ignore', out, 'pipe'], encoding: 'utf8' },
    );
    closeSync(out);
    assert.equal(status, 0, stderr);
    return readFileSync(file, 'utf8');
  } finally {
    rmSync(home, { recursive: true });
  }
};

test('after a disk was full the next record is a line of its own, and the log reports every lost line', () => {
  const text = onFullDisk(`
    import { ftruncateSync } from 'node:fs';
    import { createLogger } from ${JSON.stringify(new URL('logger.ts', import.meta.url).href)};
    const log = createLogger({ level: 'info', format: 'json', destination: (process.stdout.writableLength, 1) });
    const pad = 'x'.repeat(400);
    for (let i = 0; i < 20; i++) log.info('before', { i, pad });
    ftruncateSync(1, 500);
    log.info('after');
    log.close();
  `);
  const lines = text.split('\n');
  const whole = lines.flatMap((line) => {
    try {
      return [JSON.parse(line) as { message: string; lines?: number }];
    } catch {
      return [];
    }
  });
  assert.deepEqual(
    whole.map(({ message }) => message),
    ['before', 'log lines lost: the destination of the log did not take them', 'after'],
  );
  // The first record is whole before the cut at 500 bytes; the disk took some whole records that the cut removed again.
  const lost = whole[1]?.lines ?? 0;
  assert.ok(lost >= 15 && lost <= 18, `${String(lost)} lines lost`);
});

test('lines that are lost after the last report are reported when the sink closes', async () => {
  const broken = new Writable({ write: (_chunk, _encoding, done) => done(new Error('disk full')) });
  let lost = 0;
  const sink = new Sink(broken, { flushAt: 0, flushMs: 0, onDrop: (lines) => (lost += lines) });
  sink.write('refused by the disk\n');
  await new Promise((resolve) => broken.once('close', resolve));
  for (let i = 0; i < 9; i++) sink.write('refused at once\n');
  sink.close();
  assert.equal(lost, 10);
});
