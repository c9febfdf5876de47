import {
  chunked,
  reads,
  request,
  smuggled,
  TARGET,
  type RequestCase,
  type Want,
  type Wanted,
} from '../case.ts';

const START = `GET ${TARGET} HTTP/1.1`;
const field = (
  id: string,
  rule: string,
  lines: readonly string[],
  want: Want,
  rest: Partial<Wanted> = {},
): RequestCase => ({
  id: `connection: ${id}`,
  rule,
  text: request(lines, '', START),
  want,
  readings: reads('', 'GET', TARGET, rest),
});

/** RFC 9110 §7.6.1: what is for the next hop only goes no further. */
const hopByHop: RequestCase[] = [
  field('names a field', 'RFC 9110 §7.6.1', ['Connection: X-Private', 'X-Private: 1'], 'pass', {
    without: ['x-private'],
  }),
  field('names several fields', 'RFC 9110 §7.6.1', ['Connection: x-a, X-B', 'X-A: 1', 'x-b: 2'], 'pass', {
    without: ['x-a', 'x-b'],
  }),
  field(
    'on two lines',
    'RFC 9110 §7.6.1',
    ['Connection: X-A', 'Connection: X-B', 'X-A: 1', 'X-B: 2'],
    'pass',
    { without: ['x-a', 'x-b'] },
  ),
  field('behind the field it names', 'RFC 9110 §7.6.1', ['X-A: 1', 'Connection: X-A'], 'pass', {
    without: ['x-a'],
  }),
  field('Keep-Alive', 'RFC 9110 §7.6.1', ['Connection: keep-alive', 'Keep-Alive: timeout=5'], 'pass', {
    without: ['keep-alive'],
  }),
  field('Proxy-Connection', 'RFC 9110 §7.6.1', ['Proxy-Connection: keep-alive'], 'pass', {
    without: ['proxy-connection'],
  }),
  field('TE', 'RFC 9110 §10.1.4', ['TE: trailers, gzip', 'Connection: TE'], 'pass'),
  ...[
    'Host',
    'Content-Length',
    'Transfer-Encoding',
    'Authorization',
    'Cookie',
    'X-Forwarded-For',
    'Content-Type',
  ].map((name) => ({
    ...field(`names ${name}`, 'RFC 9110 §7.6.1', [], 'either'),
    text: request([`Connection: close, ${name}`, 'Content-Length: 5'], 'hello'),
    readings: reads('hello'),
    last: true,
  })),
  ...[
    'Connection: ',
    'Connection: ,',
    'Connection: ,,keep-alive,',
    'Connection: \t keep-alive',
    'connection:KEEP-ALIVE',
  ].map((line) => field(line, 'RFC 9110 §5.6.1', [line], 'pass')),
  ...[
    'Connection: "close"',
    'Connection: close;q=1',
    'Connection: a b',
    'Connection: \xa0close',
    'Connection: @',
  ].map((line) => field(line, 'RFC 9110 §7.6.1', [line], 'either')),
  ...[
    'Connection: close',
    'Connection: Close',
    'Connection: keep-alive, close',
    'Connection: close, X-A',
  ].map((line) => ({
    ...field(`${line}, the last`, 'RFC 9112 §9.6', [line], 'pass'),
    last: true,
  })),
  // Bytes after a close must not be served: they may have been meant as something else.
  {
    ...field('a request behind close', 'RFC 9112 §9.6', ['Connection: close'], 'refuse'),
  },
];

const old = (id: string, lines: readonly string[], want: Want, body = '', last = true): RequestCase => ({
  id: `HTTP/1.0: ${id}`,
  rule: 'RFC 9112 §9.3',
  text: request(lines, body, `POST ${TARGET} HTTP/1.0`),
  want,
  readings: reads(body),
  last,
});
const http10: RequestCase[] = [
  old('a request', ['Content-Length: 5'], 'pass', 'hello'),
  old('keep-alive', ['Connection: keep-alive', 'Content-Length: 5'], 'pass', 'hello', false),
  old('close', ['Connection: close', 'Content-Length: 5'], 'pass', 'hello'),
  { ...old('a request behind it', ['Content-Length: 5'], 'refuse', 'hello', false) },
  old('an expectation', ['Expect: 100-continue', 'Content-Length: 5'], 'pass', 'hello'),
  old('a request in the body', [`Content-Length: ${smuggled.length}`], 'pass', smuggled),
  old('no length', [], 'either'),
];

/** RFC 9110 §7.8: a backend that does not switch goes on speaking HTTP, and so must what is between. */
const upgrades: RequestCase[] = [
  ...['websocket', 'WebSocket', 'h2c', 'HTTP/2.0', 'TLS/1.0', 'websocket, h2c', 'foo/1', 'x'].map(
    (protocol) =>
      field(`Upgrade: ${protocol}`, 'RFC 9110 §7.8', ['Connection: Upgrade', `Upgrade: ${protocol}`], 'pass'),
  ),
  field(
    'Upgrade: h2c with settings',
    'RFC 9113 §3.1',
    ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA'],
    'pass',
    { without: ['upgrade', 'http2-settings'] },
  ),
  field(
    'Upgrade: h2c, settings not named',
    'RFC 9113 §3.1',
    ['Connection: Upgrade', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA'],
    'pass',
    { without: ['http2-settings'] },
  ),
  field('Upgrade without Connection', 'RFC 9110 §7.8', ['Upgrade: websocket'], 'pass', {
    without: ['upgrade'],
  }),
  field('Connection: upgrade without Upgrade', 'RFC 9110 §7.8', ['Connection: upgrade'], 'pass'),
  field(
    'a handshake of WebSocket that is not taken',
    'RFC 6455 §4',
    [
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ],
    'pass',
  ),
  field(
    'a handshake of a version that is not there',
    'RFC 6455 §4',
    ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 777'],
    'pass',
  ),
  ...['Content-Length: 5', 'Transfer-Encoding: chunked'].map((framing) => ({
    ...field(`Upgrade with a body by ${framing}`, 'RFC 9110 §7.8', [], 'either'),
    text: request(
      ['Connection: Upgrade', 'Upgrade: websocket', framing],
      framing.startsWith('C') ? 'hello' : chunked('hello'),
    ),
    readings: reads('hello'),
  })),
];

const expectation = (id: string, lines: readonly string[], want: Want, body = 'hello'): RequestCase => ({
  id: `expectation: ${id}`,
  rule: 'RFC 9110 §10.1.1',
  text: request([...lines, ...(body === '' ? [] : [`Content-Length: ${body.length}`])], body),
  want,
  readings: reads(body),
});
const expectations: RequestCase[] = [
  expectation('100-continue', ['Expect: 100-continue'], 'pass'),
  expectation('100-Continue', ['Expect: 100-Continue'], 'pass'),
  expectation('without a body', ['Expect: 100-continue'], 'pass', ''),
  expectation('with a request in the body', ['Expect: 100-continue'], 'pass', smuggled),
  {
    ...expectation('with a chunked body', [], 'pass'),
    text: request(['Expect: 100-continue', 'Transfer-Encoding: chunked'], chunked('hello')),
  },
  ...[
    '',
    '100',
    '100-continue, 100-continue',
    '100-continue;a=b',
    '200-ok',
    'y 100-continue',
    '100-continue y',
    '"100-continue"',
    '\xa0100-continue',
    '100-continue\xa0',
    'x',
    'a=b',
  ].map((value) => expectation(JSON.stringify(value), [`Expect: ${value}`], 'either')),
  expectation('twice', ['Expect: 100-continue', 'Expect: 100-continue'], 'either'),
  expectation('twice, and not the same', ['Expect: 100-continue', 'Expect: x'], 'either'),
  expectation('folded', ['Expect:', ' 100-continue'], 'either'),
  expectation('behind a NUL', ['Expect: \x00100-continue'], 'either'),
  expectation('with a length that is not one', ['Expect: 100-continue', 'Content-Length: +5'], 'refuse', ''),
  {
    ...expectation('with a length and a coding', [], 'refuse'),
    text: request(
      ['Expect: 100-continue', 'Content-Length: 5', 'Transfer-Encoding: chunked'],
      chunked('hello'),
    ),
  },
];

const second = (body = ''): Wanted => ({ method: 'POST', target: '/second', body });
const first = (body = '', method = 'POST'): Wanted => ({ method, target: TARGET, body });
const pipeline = (
  id: string,
  text: string,
  readings: RequestCase['readings'],
  want: Want = 'pass',
): RequestCase => ({
  id: `pipeline: ${id}`,
  rule: 'RFC 9112 §9.3.2',
  text,
  want,
  ...(readings !== undefined && { readings }),
});
const SECOND = 'POST /second HTTP/1.1';
const pipelines: RequestCase[] = [
  pipeline(
    'two bodies by length',
    request(['Content-Length: 5'], 'hello') + request(['Content-Length: 5'], 'world', SECOND),
    [[first('hello'), second('world')]],
  ),
  pipeline(
    'chunks, then a length',
    request(['Transfer-Encoding: chunked'], chunked('hello')) +
      request(['Content-Length: 5'], 'world', SECOND),
    [[first('hello'), second('world')]],
  ),
  pipeline(
    'a length, then chunks',
    request(['Content-Length: 5'], 'hello') +
      request(['Transfer-Encoding: chunked'], chunked('world'), SECOND),
    [[first('hello'), second('world')]],
  ),
  pipeline(
    'an empty line between',
    `${request(['Content-Length: 5'], 'hello')}\r\n${request(['Content-Length: 5'], 'world', SECOND)}`,
    [[first('hello'), second('world')]],
  ),
  pipeline(
    'HEAD, then a request',
    request([], '', `HEAD ${TARGET} HTTP/1.1`) + request(['Content-Length: 5'], 'world', SECOND),
    [[first('', 'HEAD'), second('world')]],
  ),
  pipeline('twenty', Array.from({ length: 20 }, (_, i) => request([], '', `GET /${i} HTTP/1.1`)).join(''), [
    Array.from({ length: 20 }, (_, i) => ({ method: 'GET', target: `/${i}`, body: '' })),
  ]),
  pipeline(
    'a broken request behind a good one',
    `${request(['Content-Length: 5'], 'hello')}BROKEN\r\n\r\n`,
    [[first('hello')]],
    'refuse',
  ),
  pipeline(
    'half a request behind a good one',
    `${request(['Content-Length: 5'], 'hello')}GET ${TARGET} HT\r\n\r\n`,
    [[first('hello')]],
    'refuse',
  ),
];

export const connections: readonly RequestCase[] = [
  ...hopByHop,
  ...http10,
  ...upgrades,
  ...expectations,
  ...pipelines,
];
