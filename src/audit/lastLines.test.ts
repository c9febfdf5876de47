import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inOrder, LastLines, lastLinesLimits } from './lastLines.ts';

const line = (time: number, text = ''): string => `{"time":${time},"text":${JSON.stringify(text)}}`;
const batch = (...lines: readonly string[]): Buffer => Buffer.from(lines.map((one) => `${one}\n`).join(''));

test('the last lines come in their order, however many batches they came in', () => {
  const last = new LastLines();
  assert.deepEqual(last.all, []);
  last.add(batch(line(1), line(2)));
  last.add(batch(line(3)));
  assert.deepEqual(last.all, [line(1), line(2), line(3)]);
  const many = Array.from({ length: lastLinesLimits.lines - 1 }, (_, index) => line(index + 4));
  last.add(batch(...many));
  assert.deepEqual(last.all, [line(3), ...many]);
});

test('the oldest lines are dropped beyond the limit of bytes, and only whole lines are shown', () => {
  const last = new LastLines();
  const most = 700;
  const lines = Array.from({ length: 10_000 }, (_, n) => line(n, 'ü'.repeat(n % most)));
  for (let at = 0; at < lines.length; at += 300) last.add(batch(...lines.slice(at, at + 300)));
  assert.deepEqual(last.all, lines.slice(-lastLinesLimits.lines));

  const half = 'x'.repeat(lastLinesLimits.bytes / 2);
  last.add(batch(line(1, half)));
  last.add(batch(line(2, half)));
  assert.deepEqual(last.all, [line(2, half)]);
  last.add(batch(line(3, half), line(4, half)));
  assert.deepEqual(last.all, [line(4, half)]);
});

test('lines of several processes are put in the order of their times', () => {
  assert.deepEqual(inOrder([line(10), line(9), line(100)]), [line(9), line(10), line(100)]);
});
