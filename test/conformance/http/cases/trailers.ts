import { hex, oddBytes, reads, request, smuggled, type RequestCase } from '../case.ts';

const ch = (code: number): string => String.fromCharCode(code);
const trailer = (id: string, lines: string, want: RequestCase['want']): RequestCase => ({
  id: `trailer: ${id}`,
  rule: 'RFC 9112 §7.1.2',
  text: request(['Transfer-Encoding: chunked', 'TE: trailers'], `5\r\nhello\r\n0\r\n${lines}\r\n`),
  want,
  readings: reads('hello'),
});

export const trailers: readonly RequestCase[] = [
  trailer('one', 'X-Sum: 1\r\n', 'pass'),
  trailer('several', 'X-Sum: 1\r\nX-Other:2\r\nX-Empty:\r\n', 'pass'),
  ...[
    'Content-Length: 50',
    'Content-Length: 0',
    'Transfer-Encoding: chunked',
    'Transfer_Encoding: chunked',
    'Host: other.test',
    'Connection: close',
    'Authorization: Bearer x',
    'Cookie: a=b',
    'Expect: 100-continue',
    'Trailer: X',
    'Upgrade: websocket',
    'Content-Type: text/html',
    'Content-Encoding: gzip',
    'Max-Forwards: 0',
    'X-Forwarded-For: 1.2.3.4',
    ':path: /smuggled',
  ].map((line) => trailer(line, `${line}\r\n`, line.startsWith(':') ? 'refuse' : 'either')),
  ...[
    'no colon',
    ': no name',
    ' X: folded',
    'X : 1',
    'X\t: 1',
    'X\0: 1',
    'X: 1\n',
    'X: 1\r',
    'GET /smuggled HTTP/1.1',
  ].map((line) =>
    trailer(
      JSON.stringify(line),
      `X-Sum: 1\r\n${line}\r\n`,
      line === ' X: folded' || /[\r\n]$/.test(line) ? 'either' : 'refuse',
    ),
  ),
  ...oddBytes
    .filter((code) => code < 0x20 && code !== 9)
    .map((code) => trailer(`${hex(code)} in a value`, `X: a${ch(code)}b\r\n`, 'either')),
  trailer('LF for a line end', 'X-Sum: 1\n', 'either'),
  trailer('a folded one', 'X-Sum: 1\r\n 2\r\n', 'either'),
  trailer('100 000 bytes', `X-Sum: ${'1'.repeat(100_000)}\r\n`, 'either'),
  trailer('5 000 of them', 'X: 1\r\n'.repeat(5_000), 'either'),
  { ...trailer('an end to some', `X: 1\n\n${smuggled}`, 'refuse') },
  { ...trailer('an end to others', `X: 1\r\r${smuggled}`, 'refuse') },
];
