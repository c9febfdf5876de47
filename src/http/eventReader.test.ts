import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventReader } from './eventReader.ts';
import { formatComment, formatEvent } from './sse.ts';

interface Read {
  readonly reader: EventReader;
  readonly events: string[];
  readonly skipped: { head: string; tail: string; length: number }[];
}

/** Reads a stream that comes in pieces of so many bytes. */
function read(stream: string, piece = Infinity, maxLength = 1_000): Read {
  const events: string[] = [];
  const skipped: Read['skipped'] = [];
  const reader = new EventReader(
    {
      onEvent: (data) => void events.push(data),
      onTooLong: (head, tail, length) => void skipped.push({ head, tail, length }),
    },
    maxLength,
  );
  const bytes = Buffer.from(stream);
  for (let at = 0; at < bytes.length; at += piece) reader.take(bytes, at, Math.min(at + piece, bytes.length));
  return { reader, events, skipped };
}

const sizes = [1, 2, 3, 7, Infinity];

test('events are the same however the bytes come, and whatever ends a line', () => {
  const stream =
    '\ufeffdata: {"ü":1}\n\n: comment\r\n\r\ndata:two\r\ndata: lines\r\n\r\nid: 7\rdata: three\r\rdata\n\n';
  for (const size of sizes) {
    const { events, reader } = read(stream, size);
    assert.deepEqual(events, ['{"ü":1}', 'two\nlines', 'three'], `in pieces of ${size}`);
    assert.equal(reader.lastId, '7');
  }
});

test('the reader reads events as the writer formats them', () => {
  const messages = ['{"a":1}', 'b\nc', '{"d":"\u2028"}'];
  const stream = messages
    .map(
      (message, i) => formatComment('x') + formatEvent(message, { event: 'message', id: `${i}`, retry: 5 }),
    )
    .join('');
  for (const size of sizes) {
    const { events, reader } = read(stream, size);
    assert.deepEqual(events, messages);
    assert.deepEqual([reader.lastId, reader.retryMs], ['2', 5]);
  }
});

test('an event without data moves the place to resume from, and one that is not whole does not', () => {
  const { reader, events } = read('id: 1\nretry: 20\ndata:\n\nid: 2\ndata: never');
  assert.deepEqual(events, []);
  assert.deepEqual([reader.lastId, reader.retryMs], ['1', 20]);
});

test('events of other types, unknown fields and senseless values are passed over', () => {
  const { reader, events } = read(
    'event: ping\ndata: x\n\nretry: soon\nid: a\0b\nname: x\nevent: message\ndata: y\n\n',
  );
  assert.deepEqual(events, ['y']);
  assert.deepEqual([reader.lastId, reader.retryMs], [undefined, undefined]);
});

test('an id that could not stand in a header is not kept', () => {
  assert.equal(read(`id: ${'x'.repeat(2_000)}\ndata: y\n\n`).reader.lastId, undefined);
  assert.equal(read('id: a\u0007\ndata: y\n\n').reader.lastId, undefined);
});

test('an event over the limit is skipped with its ends told, and the next one is read', () => {
  const long = `{"jsonrpc":"2.0","id":5,"result":"${'x'.repeat(5_000)}"}`;
  for (const size of sizes)
    for (const stream of [
      `data: ${long}\n\ndata: next\n\n`,
      `data: ${long.slice(0, 900)}\ndata: ${long.slice(900)}\n\ndata: next\n\n`,
    ]) {
      const { events, skipped } = read(stream, size);
      assert.deepEqual(events, ['next'], `in pieces of ${size}`);
      assert.equal(skipped.length, 1);
      assert.ok(skipped[0]!.head.startsWith('{"jsonrpc":"2.0","id":5,'), skipped[0]!.head.slice(0, 40));
      assert.ok(skipped[0]!.tail.endsWith('xx"}'));
      assert.ok(skipped[0]!.length >= long.length);
    }
});

test('after stop no event is reported, not even a buffered one', () => {
  const events: string[] = [];
  const reader: EventReader = new EventReader(
    {
      onEvent: (data) => {
        events.push(data);
        reader.stop();
      },
      onTooLong: () => undefined,
    },
    100,
  );
  const bytes = Buffer.from('data: 1\n\ndata: 2\n\n');
  reader.take(bytes, 0, bytes.length);
  assert.deepEqual(events, ['1']);
});

test('events of other types are told apart by a reader that asks for them', () => {
  const told: string[] = [];
  const reader = new EventReader(
    {
      onEvent: (data) => void told.push(`message: ${data}`),
      onTooLong: () => void told.push('too long'),
      onTyped: (type, data) => void told.push(`${type}: ${data}`),
    },
    100,
  );
  const bytes = Buffer.from(
    'event: endpoint\ndata: /a\n\ndata: b\n\nevent: message\ndata: c\n\nevent: end\n\n',
  );
  reader.take(bytes, 0, bytes.length);
  assert.deepEqual(told, ['endpoint: /a', 'message: b', 'message: c', 'end: ']);
});

test('an event that comes in tiny pieces takes a few times its length', () => {
  const events: string[] = [];
  const reader = new EventReader(
    { onEvent: (data) => events.push(data), onTooLong: () => assert.fail() },
    9e6,
  );
  reader.take(Buffer.from('data: '), 0, 6);
  const piece = Buffer.from('xyz');
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < 1_000_000; i++) reader.take(piece, 0, 3);
  const taken = process.memoryUsage().heapUsed - before;
  assert.ok(taken < 25_000_000, `${taken} bytes`);
  reader.take(Buffer.from('\n\n'), 0, 2);
  assert.equal(events[0], 'xyz'.repeat(1_000_000));
});
