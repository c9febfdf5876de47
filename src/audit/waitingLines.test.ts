import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Chain, ChainKeys, macOf, readSealed } from './chain.ts';
import { WaitingLines } from './waitingLines.ts';

const keys = new ChainKeys(Buffer.from('s'.repeat(40)));
const line = (n: number, text = '') => `{"n":${n},"text":"${text}"`;

test('lines come out whole and in order, in pieces of the capacity', () => {
  const waiting = new WaitingLines(undefined, 1_000);
  const lines = Array.from({ length: 40 }, (_, n) => line(n, 'ü€😀'.repeat(n)));
  for (const one of lines) waiting.push(one);
  assert.equal(waiting.count, 40);
  assert.equal(waiting.length, Buffer.byteLength(lines.map((one) => `${one}}\n`).join('')));
  assert.ok(waiting.hasFullPiece);
  let text = '';
  let count = 0;
  for (let piece = waiting.shift(); piece !== undefined; piece = waiting.shift()) {
    assert.ok(piece.bytes.length <= 1_000, String(piece.bytes.length));
    text += piece.bytes.toString();
    count += piece.lines;
  }
  assert.equal(text, lines.map((one) => `${one}}\n`).join(''));
  assert.deepEqual([count, waiting.count, waiting.length], [40, 0, 0]);
});

test('a line longer than the capacity has a piece of its own', () => {
  const waiting = new WaitingLines(undefined, 100);
  waiting.push(line(1));
  waiting.push(line(2, '€'.repeat(500)));
  waiting.push(line(3));
  const pieces = [waiting.shift(), waiting.shift(), waiting.shift()];
  assert.deepEqual(
    pieces.map((piece) => piece?.lines),
    [1, 1, 1],
  );
  assert.equal(waiting.shift(), undefined);
});

test('a line is sealed after all lines before it, and a piece has the place of its last line', () => {
  const chain = new Chain('worker-1', keys);
  const waiting = new WaitingLines(chain, 400);
  for (let n = 0; n < 20; n++) waiting.push(line(n, 'ü'));
  assert.equal(chain.place.seq, 20);
  const key = keys.ofEpoch('worker-1', chain.epoch);
  let before = '';
  let seq = 0;
  for (let piece = waiting.shift(); piece !== undefined; piece = waiting.shift()) {
    for (const text of piece.bytes.toString().trimEnd().split('\n')) {
      const found = readSealed(text);
      assert.equal(found?.seq, ++seq);
      assert.equal(found.mac, macOf(key, before, found.content));
      before = found.mac;
    }
    assert.deepEqual([piece.place?.seq, piece.place?.mac], [seq, before]);
  }
  assert.equal(seq, 20);
});

test('the lines of a piece stay as they are until it is given back; then its memory serves again', () => {
  const waiting = new WaitingLines(new Chain('worker-1', keys), 10_000);
  waiting.push(line(1));
  const first = waiting.shift()!;
  const text = first.bytes.toString();
  for (let n = 2; n < 100; n++) waiting.push(line(n, 'x'.repeat(4_000)));
  while (waiting.shift() !== undefined);
  assert.equal(first.bytes.toString(), text);
  waiting.giveBack(first);
  waiting.push(line(100));
  const next = waiting.shift()!;
  assert.equal(next.memory, first.memory);
  assert.equal(readSealed(next.bytes.toString().trimEnd())?.seq, 100);
});
