import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { finished } from 'node:stream/promises';
import { test } from 'node:test';
import { relayLines } from './relay.ts';

async function relayed(chunks: readonly (string | Buffer)[]): Promise<string[]> {
  const from = new PassThrough();
  const written: string[] = [];
  relayLines(from, { write: (text) => void written.push(text) });
  for (const chunk of chunks) from.write(chunk);
  from.end();
  await finished(from);
  return written;
}

test('lines of another process are passed on whole, however their bytes arrive', async () => {
  const euro = Buffer.from('€');
  const written = await relayed(['one\ntw', 'o', '\nprice ', euro.subarray(0, 1), euro.subarray(1), '\n']);
  assert.ok(written.every((text) => text.endsWith('\n')));
  assert.equal(written.join(''), 'one\ntwo\nprice €\n');
});

test('the last words of a process that was cut off are a line of their own', async () => {
  assert.deepEqual(await relayed(['said\nand th']), ['said\n', 'and th\n']);
});

test('a line that never ends is not kept for ever', async () => {
  const piece = 'x'.repeat(262_144);
  const written = await relayed([piece, piece, piece, piece, piece, '\n']);
  assert.ok(written.length > 1);
  assert.ok(Math.max(...written.map(({ length }) => length)) < 1_400_000);
});
