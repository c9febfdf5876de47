import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CODE, FLAG, FRAME, PREFACE, WINDOW_DEFAULT, WINDOW_MOST } from './codes.ts';
import { block, frame, head, MemoryConnection, number, type Frame } from './memory.testing.ts';
import type { ServerSettings } from './settings.ts';

const ENDS = FLAG.endStream;
const WHOLE = FLAG.endHeaders;

const settings = (...entries: readonly (readonly [id: number, value: number])[]): Buffer =>
  frame(
    FRAME.settings,
    0,
    0,
    Buffer.concat(entries.flatMap(([id, value]) => [Buffer.from([0, id]), number(value)])),
  );
const start = Buffer.concat([PREFACE, settings()]);
const get = (stream: number, flags = ENDS | WHOLE): Buffer => frame(FRAME.headers, flags, stream, head());
const data = (stream: number, text: string, flags = 0): Buffer =>
  frame(FRAME.data, flags, stream, Buffer.from(text));

function begun(more: Partial<ServerSettings> = {}): MemoryConnection {
  const connection = new MemoryConnection(undefined, more);
  connection.take(start, frame(FRAME.settings, FLAG.ack, 0));
  connection.written();
  return connection;
}

/** The first stream, with a small answer begun. */
function answering(connection: MemoryConnection): MemoryConnection['streams'][number] {
  connection.take(get(1));
  const [stream] = connection.streams;
  assert.ok(stream !== undefined);
  stream.respond('HTTP/1.1 200 OK\r\n\r\n', false);
  connection.said();
  return stream;
}

const summary = ({ type, stream, payload }: Frame): readonly number[] => [type, stream, payload.length];

test('settings go out first, and those of the client are acknowledged', () => {
  const connection = new MemoryConnection();
  connection.take(start);
  const frames = connection.written();
  assert.deepEqual(
    frames.map(({ type, flags }) => [type, flags]),
    [
      [FRAME.settings, 0],
      [FRAME.windowUpdate, 0],
      [FRAME.settings, FLAG.ack],
    ],
  );
  assert.equal(frames[1]?.payload.readUInt32BE(0), 1_048_576 - WINDOW_DEFAULT);
});

test('a request is handed on as text, its body and trailers behind it', () => {
  const connection = begun();
  const trailers = frame(FRAME.headers, ENDS | WHOLE, 1, block(['x-sum', '1']));
  connection.take(frame(FRAME.headers, WHOLE, 1, head('POST')), data(1, 'hel'), data(1, 'lo'), trailers);
  const [stream] = connection.streams;
  assert.equal(
    stream?.request?.text,
    'POST / HTTP/1.1\r\nhost: app.test\r\ntransfer-encoding: chunked\r\n\r\n',
  );
  // The connection delivers only bytes that were asked for.
  assert.deepEqual([stream?.body, stream?.trailers], ['', undefined]);
  stream?.stream.inbound.resume();
  assert.deepEqual([stream?.body, stream?.trailers], ['hello', [['x-sum', '1']]]);
});

test('padding and priorities are taken off', () => {
  const connection = begun();
  const padded = Buffer.concat([Buffer.from([3, 0, 0, 0, 0, 16]), head('POST'), Buffer.alloc(3)]);
  connection.take(frame(FRAME.headers, WHOLE | FLAG.padded | FLAG.priority, 1, padded));
  const [stream] = connection.streams;
  stream?.stream.inbound.resume();
  connection.take(
    frame(FRAME.data, FLAG.padded, 1, Buffer.from('\x02hi\0\0')),
    frame(FRAME.data, FLAG.padded | ENDS, 1, Buffer.from('\0!')),
  );
  assert.deepEqual([stream?.body, stream?.trailers], ['hi!', []]);
});

test('a head may come in many frames, and nothing between them', () => {
  const connection = begun();
  const bytes = head('GET', ['x-a', 'b'.repeat(100)]);
  connection.take(frame(FRAME.headers, ENDS, 1, bytes.subarray(0, 10)));
  assert.equal(connection.codec.inHead, true);
  for (let at = 10; at < bytes.length; at += 7)
    connection.take(
      frame(FRAME.continuation, at + 7 >= bytes.length ? WHOLE : 0, 1, bytes.subarray(at, at + 7)),
    );
  assert.equal(connection.codec.inHead, false);
  assert.match(connection.streams[0]?.request?.text ?? '', /x-a: b{100}\r\n/);
  connection.take(frame(FRAME.headers, ENDS, 3, bytes), data(1, 'x'));
  assert.equal(connection.error, CODE.protocol);
});

test('a head that does not end is not gathered for ever', () => {
  const connection = begun();
  connection.take(frame(FRAME.headers, ENDS, 1, head()));
  const more = frame(FRAME.continuation, 0, 1, Buffer.alloc(16_000));
  for (let i = 0; i < 20 && connection.error === undefined; i++) connection.take(more);
  assert.equal(connection.error, CODE.enhanceYourCalm);
});

/** The frames that end the connection, by the code of its GOAWAY. */
const fatal: Readonly<Record<string, readonly [frames: readonly Buffer[], code: number]>> = {
  'another frame than SETTINGS at first': [[PREFACE, get(1)], CODE.protocol],
  'no preface': [[Buffer.from('GET / HTTP/1.1\r\nhost: a\r\n\r\n')], CODE.protocol],
  'DATA of the connection': [[start, data(0, 'x')], CODE.protocol],
  'a stream of ours': [[start, get(2)], CODE.protocol],
  'DATA of a stream that was never opened': [[start, data(1, 'x')], CODE.protocol],
  'RST_STREAM of a stream that was never opened': [
    [start, frame(FRAME.reset, 0, 1, number(8))],
    CODE.protocol,
  ],
  'a window of a stream that was never opened': [
    [start, frame(FRAME.windowUpdate, 0, 1, number(1))],
    CODE.protocol,
  ],
  'a window of the connection that does not grow': [
    [start, frame(FRAME.windowUpdate, 0, 0, number(0))],
    CODE.protocol,
  ],
  'a window of the connection beyond all bounds': [
    [start, frame(FRAME.windowUpdate, 0, 0, number(WINDOW_MOST))],
    CODE.flowControl,
  ],
  PUSH_PROMISE: [[start, frame(FRAME.pushPromise, WHOLE, 1, number(2))], CODE.protocol],
  'CONTINUATION of nothing': [[start, frame(FRAME.continuation, WHOLE, 1, head())], CODE.protocol],
  'CONTINUATION behind a whole head': [
    [start, get(1), frame(FRAME.continuation, WHOLE, 1, head())],
    CODE.protocol,
  ],
  'a frame that is too long': [[start, frame(FRAME.headers, 0, 1, Buffer.alloc(16_385))], CODE.frameSize],
  'PING of seven bytes': [[start, frame(FRAME.ping, 0, 0, Buffer.alloc(7))], CODE.frameSize],
  'settings of seven bytes': [[start, frame(FRAME.settings, 0, 0, Buffer.alloc(7))], CODE.frameSize],
  'an acknowledgement of settings with some': [
    [start, frame(FRAME.settings, FLAG.ack, 0, Buffer.alloc(6))],
    CODE.frameSize,
  ],
  'a window beyond all bounds in the settings': [[start, settings([4, 0x8000_0000])], CODE.flowControl],
  'a frame size that may not be': [[start, settings([5, 16_383])], CODE.protocol],
  'a push that is neither on nor off': [[start, settings([2, 2])], CODE.protocol],
  'a head that cannot be decoded': [
    [start, frame(FRAME.headers, ENDS | WHOLE, 1, Buffer.from([0x80]))],
    CODE.compression,
  ],
  'more padding than payload in DATA': [
    [
      start,
      frame(FRAME.headers, WHOLE, 1, head('POST')),
      frame(FRAME.data, FLAG.padded, 1, Buffer.from('\x05abc')),
    ],
    CODE.protocol,
  ],
  'more padding than payload in HEADERS': [
    [start, frame(FRAME.headers, WHOLE | FLAG.padded, 1, Buffer.from('\x05abc'))],
    CODE.protocol,
  ],
  'settings that move the window of a stream beyond all bounds': [
    [
      start,
      get(1, WHOLE),
      frame(FRAME.windowUpdate, 0, 1, number(WINDOW_MOST - WINDOW_DEFAULT)),
      settings([4, 65_536]),
    ],
    CODE.flowControl,
  ],
};

for (const [what, [pieces, code]] of Object.entries(fatal))
  test(`the connection ends for ${what}`, () => {
    const connection = new MemoryConnection();
    connection.take(...pieces, get(101));
    assert.equal(connection.error, code);
    const last = connection.written().at(-1);
    assert.deepEqual([last?.type, last?.payload.readUInt32BE(4)], [FRAME.goAway, code]);
    // The connection reads no further frames.
    assert.ok(connection.streams.every(({ stream }) => stream.id !== 101));
  });

/** The frames that end a stream, by the code of its RST_STREAM. */
const wrong: Readonly<Record<string, readonly [frames: readonly Buffer[], code: number]>> = {
  'a connection field': [
    [frame(FRAME.headers, ENDS | WHOLE, 1, head('GET', ['connection', 'close']))],
    CODE.protocol,
  ],
  'no path': [
    [frame(FRAME.headers, ENDS | WHOLE, 1, block([':method', 'GET'], [':scheme', 'http']))],
    CODE.protocol,
  ],
  'a stream before itself': [
    [
      frame(
        FRAME.headers,
        ENDS | WHOLE | FLAG.priority,
        1,
        Buffer.concat([Buffer.from([0, 0, 0, 1, 0]), head()]),
      ),
    ],
    CODE.protocol,
  ],
  'a second head': [
    [frame(FRAME.headers, WHOLE, 1, head('POST')), frame(FRAME.headers, WHOLE, 1, block(['x', '1']))],
    CODE.protocol,
  ],
  'trailers with a pseudo-header': [
    [
      frame(FRAME.headers, WHOLE, 1, head('POST')),
      frame(FRAME.headers, ENDS | WHOLE, 1, block([':path', '/'])),
    ],
    CODE.protocol,
  ],
  'a window that does not grow': [[get(1, WHOLE), frame(FRAME.windowUpdate, 0, 1, number(0))], CODE.protocol],
  'a window beyond all bounds': [
    [get(1, WHOLE), frame(FRAME.windowUpdate, 0, 1, number(WINDOW_MOST))],
    CODE.flowControl,
  ],
  'more than the window of the stream': [
    [
      frame(FRAME.headers, WHOLE, 1, head('POST')),
      ...Array.from({ length: 5 }, () => data(1, 'x'.repeat(16_000))),
    ],
    CODE.flowControl,
  ],
  'a head beyond the limit': [
    [
      frame(
        FRAME.headers,
        ENDS | WHOLE,
        1,
        head('GET', ...Array.from({ length: 101 }, () => ['a', 'b'] as const)),
      ),
    ],
    CODE.enhanceYourCalm,
  ],
};

for (const [what, [frames, code]] of Object.entries(wrong))
  test(`the stream ends, and no other, for ${what}`, () => {
    const connection = begun();
    connection.take(...frames, get(3));
    assert.equal(connection.error, undefined);
    const reset = connection.said().find(({ type }) => type === FRAME.reset);
    assert.deepEqual([reset?.stream, reset?.payload.readUInt32BE(0)], [1, code]);
    assert.equal(connection.streams.at(-1)?.stream.id, 3);
    // Each is counted: they are work without an answer.
    assert.ok(connection.nuisances > 2);
  });

test('more streams than agreed are refused, and may come later', () => {
  const connection = begun({ maxStreams: 2 });
  connection.take(get(1), get(3), get(5));
  const [reset] = connection.said();
  assert.deepEqual(
    [reset?.type, reset?.stream, reset?.payload.readUInt32BE(0)],
    [FRAME.reset, 5, CODE.refusedStream],
  );
  connection.streams[0]?.respond('HTTP/1.1 204 No Content\r\n\r\n', true);
  connection.take(get(7));
  assert.deepEqual(
    connection.streams.map(({ stream }) => stream.id),
    [1, 3, 7],
  );
});

test('a body is as long as its length says', () => {
  for (const [pieces, length, fine] of [
    [['hello'], 5, true],
    [['he', '', 'llo'], 5, true],
    [['hello'], 6, false],
    [['hello'], 4, false],
    [[''], 0, true],
  ] as const) {
    const connection = begun();
    connection.take(frame(FRAME.headers, WHOLE, 1, head('POST')));
    const [stream] = connection.streams;
    assert.equal(stream?.stream.inbound.expect(length), true);
    connection.take(...pieces.map((text, i) => data(1, text, i + 1 === pieces.length ? ENDS : 0)));
    assert.equal(stream?.closed, fine ? undefined : CODE.protocol, `${pieces.join()} of ${length}`);
  }
  const connection = begun();
  connection.take(get(1));
  assert.equal(connection.streams[0]?.stream.inbound.expect(1), false);
  assert.equal(connection.streams[0]?.closed, CODE.protocol);
});

test('a body that comes before its length is looked at is as long as its length says, too', () => {
  for (const [came, length, more, fine] of [
    ['hello', 5, undefined, true],
    ['hel', 5, 'lo', true],
    ['hello', 4, undefined, false],
    ['hello', 6, undefined, false],
    ['hel', 5, 'l', false],
    ['hel', 5, 'lot', false],
  ] as const) {
    const connection = begun();
    connection.take(
      frame(FRAME.headers, WHOLE, 1, head('POST')),
      data(1, came, more === undefined ? ENDS : 0),
    );
    const [stream] = connection.streams;
    const expected = stream?.stream.inbound.expect(length);
    if (more !== undefined) connection.take(data(1, more, ENDS));
    assert.equal(stream?.closed, fine ? undefined : CODE.protocol, `${came} ${more ?? ''} of ${length}`);
    if (more === undefined) assert.equal(expected, fine);
  }
});

test('the client may send more as bytes are taken, and not before', () => {
  const connection = begun({ streamWindow: WINDOW_DEFAULT, connectionWindow: WINDOW_DEFAULT });
  connection.take(frame(FRAME.headers, WHOLE, 1, head('POST')));
  const piece = data(1, 'x'.repeat(16_000));
  connection.take(piece, piece, piece);
  assert.deepEqual(connection.written(), []);
  connection.streams[0]?.stream.inbound.resume();
  assert.deepEqual(
    connection.written().map(({ type, stream, payload }) => [type, stream, payload.readUInt32BE(0)]),
    [
      [FRAME.windowUpdate, 0, 48_000],
      [FRAME.windowUpdate, 1, 48_000],
    ],
  );
});

test('data for a stream that the gateway reset counts against the connection window and is returned', () => {
  const connection = begun({ connectionWindow: WINDOW_DEFAULT });
  connection.take(frame(FRAME.headers, WHOLE, 1, head('POST')));
  connection.streams[0]?.stream.reset(CODE.cancel);
  connection.said();
  const piece = data(1, 'x'.repeat(16_000));
  connection.take(piece, piece, piece);
  assert.deepEqual(connection.written().map(summary), [[FRAME.windowUpdate, 0, 4]]);
  assert.equal(connection.error, undefined);
});

test('an answer waits for the windows of the client', () => {
  const connection = begun();
  connection.take(settings([4, 10]));
  const stream = answering(connection);
  assert.equal(stream.stream.send(Buffer.from('a'.repeat(25)), 0, 25, true), false);
  assert.deepEqual(connection.said().map(summary), [[FRAME.data, 1, 10]]);
  assert.equal(stream.stream.pending, 15);
  connection.take(frame(FRAME.windowUpdate, 0, 1, number(5)));
  assert.deepEqual(connection.said().map(summary), [[FRAME.data, 1, 5]]);
  // The settings move the windows of streams that are open, too.
  connection.take(settings([4, 100]));
  const [last] = connection.said();
  assert.deepEqual([last?.payload.length, last?.flags], [10, ENDS]);
  assert.equal(stream.closed, 'in order');
});

test('a window may be below zero, and then nothing goes out', () => {
  const connection = begun();
  const stream = answering(connection);
  stream.stream.send(Buffer.alloc(1_000), 0, 1_000, false);
  connection.take(settings([4, 500]));
  connection.said();
  assert.equal(stream.stream.send(Buffer.alloc(10), 0, 10, false), false);
  connection.take(frame(FRAME.windowUpdate, 0, 1, number(500)));
  assert.deepEqual(connection.said(), []);
  connection.take(frame(FRAME.windowUpdate, 0, 1, number(4)));
  assert.deepEqual(connection.said().map(summary), [[FRAME.data, 1, 4]]);
  connection.take(frame(FRAME.windowUpdate, 0, 1, number(6)));
  assert.equal(stream.drains, 1);
});

test('streams with much to send take turns', () => {
  const connection = begun();
  connection.take(settings([4, 1_000_000]), get(1), get(3), get(5));
  for (const { stream } of connection.streams) {
    const piece = Buffer.alloc(40_000);
    stream.send(piece, 0, piece.length, true);
  }
  // The window of the connection is used up by the first two.
  assert.deepEqual(connection.said().map(summary), [
    [FRAME.data, 1, 16_384],
    [FRAME.data, 1, 16_384],
    [FRAME.data, 1, 7_232],
    [FRAME.data, 3, 16_384],
    [FRAME.data, 3, 9_151],
  ]);
  connection.take(frame(FRAME.windowUpdate, 0, 0, number(1_000_000)));
  assert.deepEqual(
    connection.said().map(({ stream }) => stream),
    [3, 5, 5, 5],
  );
});

test('data beyond the connection window waits in its stream', () => {
  const connection = begun();
  connection.take(settings([4, 10_000_000]), frame(FRAME.windowUpdate, 0, 0, number(10_000_000)));
  const stream = answering(connection);
  connection.unsent = 1_000_000;
  let given = 0;
  const large = Buffer.alloc(100_000);
  assert.equal(
    stream.stream.send(large, 0, large.length, false, () => given++),
    false,
  );
  assert.deepEqual(connection.said(), []);
  assert.equal(given, 0);
  connection.unsent = 0;
  connection.flush();
  assert.equal(given, 1);
  assert.equal(stream.drains, 1);
  assert.equal(
    connection.said().reduce((sum, { payload }) => sum + payload.length, 0),
    100_000,
  );
});

test('small parts that wait for the client are gathered, and none of them is written over', () => {
  const connection = begun();
  connection.take(settings([4, 0]));
  const { stream } = answering(connection);
  const part = Buffer.alloc(1);
  for (let i = 0; i < 10_000; i++) {
    part[0] = i % 251;
    stream.send(part, 0, 1, false);
  }
  let given = 0;
  stream.send(Buffer.from('lent'), 0, 4, false, () => given++);
  stream.send(Buffer.from('end'), 0, 3, true);
  connection.take(frame(FRAME.windowUpdate, 0, 1, number(50_000)));
  const frames = connection.said();
  assert.ok(frames.length < 10, `${frames.length} frames`);
  const body = Buffer.concat(frames.map(({ payload }) => payload));
  const bytes = Buffer.from(Array.from({ length: 10_000 }, (_, i) => i % 251));
  assert.ok(body.equals(Buffer.concat([bytes, Buffer.from('lentend')])));
  assert.equal(frames.at(-1)?.flags, ENDS);
  assert.equal(given, 1);
});

test('trailers wait for the body before them', () => {
  const connection = begun();
  connection.take(settings([4, 3]));
  const { stream } = answering(connection);
  stream.send(Buffer.from('hello'), 0, 5, false);
  stream.sendTrailers([['grpc-status', '0']]);
  connection.take(frame(FRAME.windowUpdate, 0, 1, number(100)));
  const frames = connection.said();
  assert.deepEqual(
    frames.map(({ type, flags }) => [type, flags]),
    [
      [FRAME.data, 0],
      [FRAME.data, 0],
      [FRAME.headers, ENDS | WHOLE],
    ],
  );
  assert.match(frames[2]?.payload.toString('latin1') ?? '', /grpc-status\x010/);
});

test('a head that is longer than a frame goes out in several', () => {
  const connection = begun();
  connection.take(get(1));
  const lines = Array.from({ length: 50 }, (_, i) => `x-${i}: ${'a'.repeat(1_000)}\r\n`).join('');
  connection.streams[0]?.respond(`HTTP/1.1 200 OK\r\n${lines}\r\n`, true);
  const frames = connection.said();
  assert.deepEqual(
    frames.map(({ type, flags }) => [type, flags]),
    [
      [FRAME.headers, ENDS],
      [FRAME.continuation, 0],
      [FRAME.continuation, 0],
      [FRAME.continuation, WHOLE],
    ],
  );
});

test('a GOAWAY in two steps serves requests on their way, and refuses later ones', () => {
  const connection = begun();
  connection.take(get(1));
  connection.codec.announceEnd();
  connection.codec.ping(7);
  connection.take(get(3), frame(FRAME.ping, FLAG.ack, 0, Buffer.from([0, 0, 0, 0, 0, 0, 0, 7])));
  assert.deepEqual(connection.pongs, [7]);
  connection.codec.refuseNew();
  connection.take(get(5));
  assert.deepEqual(
    connection.said().map(({ type, payload }) => [type, payload.readUInt32BE(0)]),
    [
      [FRAME.goAway, WINDOW_MOST],
      [FRAME.ping, 0],
      [FRAME.goAway, 3],
      [FRAME.reset, CODE.refusedStream],
    ],
  );
  assert.equal(connection.streams.length, 2);
});

test('an error behind the last stream that is taken does not say that others were', () => {
  const connection = begun();
  connection.take(get(1));
  connection.codec.refuseNew();
  connection.take(get(3), frame(FRAME.ping, 0, 1, Buffer.alloc(8)));
  const goodbyes = connection.written().filter(({ type }) => type === FRAME.goAway);
  assert.deepEqual(
    goodbyes.map(({ payload }) => [payload.readUInt32BE(0), payload.readUInt32BE(4)]),
    [
      [1, CODE.none],
      [1, CODE.protocol],
    ],
  );
});

test('PING is answered, unknown frame types and late frames are ignored', () => {
  const connection = begun();
  connection.take(
    frame(FRAME.ping, 0, 0, Buffer.from('12345678')),
    frame(77, 255, 3, Buffer.alloc(100)),
    frame(FRAME.priority, 0, 9, Buffer.from([0, 0, 0, 1, 0])),
    frame(FRAME.goAway, 0, 0, Buffer.alloc(20)),
    get(1),
    frame(FRAME.reset, 0, 1, number(CODE.cancel)),
    frame(FRAME.reset, 0, 1, number(CODE.cancel)),
    frame(FRAME.windowUpdate, 0, 1, number(10)),
  );
  const frames = connection.said();
  assert.deepEqual(frames.map(summary), [[FRAME.ping, 0, 8]]);
  assert.equal(frames[0]?.payload.toString(), '12345678');
  assert.equal(connection.streams[0]?.closed, CODE.cancel);
  assert.equal(connection.error, undefined);
});
