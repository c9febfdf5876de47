import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { frame, PREFACE } from './frame.testing.ts';
import { Http2Frames, PROTOCOL_ERROR, STREAM_CLOSED } from './http2Frames.ts';

const DATA = 0;
const HEADERS = 1;
const PRIORITY = 2;
const RST_STREAM = 3;
const SETTINGS = 4;
const PING = 6;
const WINDOW_UPDATE = 8;
const ENDS = 1;
const ACK = 1;

type Frame = readonly [type: number, flags: number, stream: number, payload?: Buffer];

const encode = (parts: Frame): Buffer => frame(...parts);

const dependency = (stream: number): Buffer => Buffer.from([0, 0, 0, stream, 16]);

interface Result {
  readonly error: number | undefined;
  readonly passed: Buffer;
}

/** What comes of bytes that arrive in these pieces. */
function look(pieces: readonly Buffer[], pinging = false): Result {
  const passed: Buffer[] = [];
  const frames = new Http2Frames({ pinging, take: (bytes) => void passed.push(Buffer.from(bytes)) });
  for (const piece of pieces) {
    const error = frames.take(piece);
    if (error !== undefined) return { error, passed: Buffer.concat(passed) };
  }
  return { error: undefined, passed: Buffer.concat(passed) };
}

const errorOf = (...frames: readonly Frame[]): number | undefined =>
  look([Buffer.concat([PREFACE, ...frames.map(encode)])]).error;

test('a client may not send on a stream that it has ended itself', () => {
  assert.equal(errorOf([HEADERS, ENDS, 1], [DATA, 0, 1]), STREAM_CLOSED);
  assert.equal(errorOf([HEADERS, ENDS, 1], [HEADERS, ENDS, 1]), STREAM_CLOSED);
  assert.equal(errorOf([HEADERS, 0, 1], [RST_STREAM, 0, 1], [DATA, 0, 1]), STREAM_CLOSED);
  assert.equal(errorOf([HEADERS, 0, 1], [RST_STREAM, 0, 1], [HEADERS, 0, 1]), STREAM_CLOSED);
  assert.equal(errorOf([HEADERS, 0, 1], [DATA, ENDS, 1], [DATA, 0, 1]), STREAM_CLOSED);
  assert.equal(errorOf([HEADERS, 0, 1], [HEADERS, ENDS, 1], [DATA, 0, 1]), STREAM_CLOSED);
});

test('a client may not go back to a stream that it passed over', () => {
  assert.equal(errorOf([HEADERS, ENDS, 5], [HEADERS, ENDS, 3]), PROTOCOL_ERROR);
  assert.equal(errorOf([HEADERS, ENDS, 1], [HEADERS, 0, 7], [HEADERS, 0, 5]), PROTOCOL_ERROR);
});

test('priorities are for a stream, and for another one', () => {
  assert.equal(errorOf([PRIORITY, 0, 0, dependency(1)]), PROTOCOL_ERROR);
  assert.equal(errorOf([PRIORITY, 0, 3, dependency(3)]), PROTOCOL_ERROR);
  assert.equal(errorOf([PRIORITY, 0, 3, dependency(1)]), undefined);
  // Of the wrong size: that is for the codec.
  assert.equal(errorOf([PRIORITY, 0, 3, Buffer.alloc(2)]), undefined);
});

test('what a client may do is let through', () => {
  const sound: readonly Frame[] = [
    [SETTINGS, 0, 0],
    [HEADERS, 0, 1],
    [DATA, 0, 1, Buffer.alloc(20_000)],
    [HEADERS, ENDS, 3],
    [HEADERS, ENDS, 1],
    [WINDOW_UPDATE, 0, 1, Buffer.alloc(4)],
    [PRIORITY, 0, 1, dependency(3)],
    [RST_STREAM, 0, 1, Buffer.alloc(4)],
    [RST_STREAM, 0, 1, Buffer.alloc(4)],
    [HEADERS, 0, 2_000_001],
    // So long ago that nothing is known of it any more.
    [DATA, 0, 3],
    [PING, 0, 0, Buffer.alloc(8)],
    [200, 255, 1, Buffer.alloc(3)],
  ];
  const bytes = Buffer.concat([PREFACE, ...sound.map(encode)]);
  assert.deepEqual(look([bytes]), { error: undefined, passed: bytes });
});

test('an acknowledgement of no PING is taken out, one that is awaited is not', () => {
  const ack = encode([PING, ACK, 0, Buffer.alloc(8)]);
  const bytes = Buffer.concat([PREFACE, ack, encode([PING, 0, 0, Buffer.alloc(8, 1)]), ack, ack]);
  const expected = Buffer.concat([PREFACE, encode([PING, 0, 0, Buffer.alloc(8, 1)])]);
  assert.deepEqual(look([bytes]).passed, expected);
  assert.deepEqual(look([bytes], true).passed, bytes);
});

test('it makes no difference in what pieces the frames come', () => {
  const frame = fc.record({
    type: fc.constantFrom(DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE),
    flags: fc.constantFrom(0, 1, 4),
    stream: fc.constantFrom(0, 1, 3, 5, 7),
    length: fc.nat(20),
  });
  fc.assert(
    fc.property(
      fc.array(frame, { maxLength: 8 }),
      fc.array(fc.nat(300), { maxLength: 30 }),
      (frames, cuts) => {
        const bytes = Buffer.concat([
          PREFACE,
          ...frames.map(({ type, flags, stream, length }) =>
            encode([type, flags, stream, Buffer.alloc(length, 1)]),
          ),
        ]);
        const ends = [...cuts.filter((cut) => cut < bytes.length).toSorted((a, b) => a - b), bytes.length];
        const pieces = ends.map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end));
        assert.deepEqual(look(pieces), look([bytes]));
        assert.deepEqual(look(Array.from(bytes, (byte) => Buffer.from([byte]))), look([bytes]));
      },
    ),
    { numRuns: 1_000 },
  );
});
