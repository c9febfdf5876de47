import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { LineSplitter } from './lineSplitter.ts';

interface Seen {
  lines: string[];
  long: { head: string; tail: string; bytes: number }[];
  push: (chunk: Buffer) => void;
  pushFrom: (memory: Buffer, length: number) => void;
  end: () => void;
}

function splitter(limit = 1_000): Seen {
  const lines: string[] = [];
  const long: Seen['long'] = [];
  const split = new LineSplitter(() => limit, {
    onLine: (text) => lines.push(text),
    onTooLong: (head, tail, bytes) => long.push({ head, tail, bytes }),
  });
  return {
    lines,
    long,
    push: (chunk) => split.push(chunk),
    pushFrom: (memory, length) => split.pushFrom(memory, length),
    end: () => split.end(),
  };
}

test('lines come out whole however the bytes are cut', () => {
  const line = fc.string({ unit: 'grapheme', maxLength: 50 }).filter((text) => !/[\r\n]/.test(text));
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.integer({ min: 1, max: 20 })), (texts, cuts) => {
      const bytes = Buffer.from(texts.map((text) => `${text}\n`).join(''));
      const seen = splitter();
      let at = 0;
      for (const cut of cuts) {
        seen.push(bytes.subarray(at, at + cut));
        at += cut;
      }
      seen.push(bytes.subarray(at));
      assert.deepEqual(
        seen.lines,
        texts.filter((text) => text !== '').map((text) => Buffer.from(text).toString()),
      );
    }),
  );
});

test('lines come out whole from a memory that the next bytes overwrite', () => {
  const memory = Buffer.alloc(64);
  const line = fc.string({ unit: 'grapheme', maxLength: 50 }).filter((text) => !/[\r\n]/.test(text));
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.integer({ min: 1, max: 64 })), (texts, cuts) => {
      const bytes = Buffer.from(texts.map((text) => `${text}\n`).join(''));
      const seen = splitter();
      for (let at = 0, turn = 0; at < bytes.length; turn++) {
        const length = bytes.copy(memory, 0, at, at + (cuts[turn] ?? 64));
        seen.pushFrom(memory, length);
        at += length;
      }
      assert.deepEqual(
        seen.lines,
        texts.filter((text) => text !== '').map((text) => Buffer.from(text).toString()),
      );
    }),
  );
});

test('a carriage return before the line break is no part of the line', () => {
  const seen = splitter();
  seen.push(Buffer.from('a\r\nb\r'));
  seen.push(Buffer.from('\n'));
  assert.deepEqual(seen.lines, ['a', 'b']);
});

test('a line over the limit is refused with both its ends, and the next one is read', () => {
  for (const step of [1, 7, 64, 10_000]) {
    const seen = splitter(100);
    const bytes = Buffer.from(`short\nHEAD${'x'.repeat(5_000)}TAIL\nnext\n`);
    for (let at = 0; at < bytes.length; at += step) seen.push(bytes.subarray(at, at + step));
    assert.deepEqual(seen.lines, ['short', 'next']);
    assert.equal(seen.long.length, 1);
    assert.equal(seen.long[0]!.bytes, 5_008);
    assert.match(seen.long[0]!.head, /^HEAD/);
    assert.match(seen.long[0]!.tail, /TAIL$/);
    assert.ok(seen.long[0]!.head.length <= 512 && seen.long[0]!.tail.length <= 512);
  }
});

test('a line of exactly the limit passes', () => {
  const seen = splitter(10);
  seen.push(Buffer.from('0123456789\n01234567890\n'));
  assert.deepEqual(seen.lines, ['0123456789']);
  assert.equal(seen.long.length, 1);
});

test('the rest after the last line break is a line when the stream ends', () => {
  const seen = splitter();
  seen.push(Buffer.from('last'));
  seen.end();
  assert.deepEqual(seen.lines, ['last']);
});

test('the taker of a large line keeps its bytes when the next ones overwrite the memory', () => {
  const taken: Buffer[] = [];
  const split = new LineSplitter(() => 10_000_000, {
    onLine: () => undefined,
    onTooLong: () => assert.fail('the line is within the limit'),
    onLarge: (head) => {
      taken.push(head);
      return {
        take: (bytes) => taken.push(bytes),
        end: () => undefined,
        tooLong: () => assert.fail('the line is within the limit'),
      };
    },
  });
  const line = Buffer.alloc(1_500_000, '0123456789abc');
  const memory = Buffer.alloc(65_536);
  const all = Buffer.concat([line, Buffer.from('\nnext\n')]);
  for (let at = 0; at < all.length; at += memory.length)
    split.pushFrom(memory, all.copy(memory, 0, at, at + memory.length));
  memory.fill('!');
  assert.ok(Buffer.concat(taken).equals(line));
});

test('a line that comes byte by byte takes about twice its length', () => {
  const lines: string[] = [];
  const split = new LineSplitter(() => 10_000_000, {
    onLine: (text) => lines.push(text),
    onTooLong: () => assert.fail('the line is within the limit'),
  });
  const memory = Buffer.from('x');
  const before = process.memoryUsage();
  for (let i = 0; i < 2_000_000; i++) split.pushFrom(memory, 1);
  const after = process.memoryUsage();
  const taken = after.heapUsed + after.external - before.heapUsed - before.external;
  assert.ok(taken < 60_000_000, `${taken} bytes`);
  split.push(Buffer.from('\n'));
  assert.equal(lines[0]?.length, 2_000_000);
});
