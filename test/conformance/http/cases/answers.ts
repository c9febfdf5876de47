import {
  chunked,
  hex,
  isToken,
  message,
  oddBytes,
  punctuation,
  type AnswerCase,
  type Want,
} from '../case.ts';
import { answer, BODY, FIVE, OK } from './answer.ts';
import { answerBodies } from './answerBodies.ts';

const ch = (code: number): string => String.fromCharCode(code);

const headed = (
  id: string,
  lines: readonly string[],
  want: Want,
  rest: Partial<AnswerCase> = {},
): AnswerCase => answer(id, 'RFC 9112 §5', message(OK, [FIVE, ...lines], BODY), want, rest);

const sound: AnswerCase[] = [
  answer('with a length', 'RFC 9112 §6.3', message(OK, [FIVE], BODY), 'pass'),
  answer(
    'in chunks',
    'RFC 9112 §6.3',
    message(OK, ['Transfer-Encoding: chunked'], chunked('he', 'llo')),
    'pass',
  ),
  answer('until the connection ends', 'RFC 9112 §6.3', message(OK, [], BODY), 'pass', { closes: true }),
  answer('of HTTP/1.0 with a length', 'RFC 9112 §6.3', message('HTTP/1.0 200 OK', [FIVE], BODY), 'pass'),
  answer(
    'of HTTP/1.0 until the connection ends',
    'RFC 9112 §6.3',
    message('HTTP/1.0 200 OK', [], BODY),
    'pass',
    { closes: true },
  ),
  answer('without a reason', 'RFC 9112 §4', message('HTTP/1.1 200 ', [FIVE], BODY), 'pass'),
  answer('without a reason and its space', 'RFC 9112 §4', message('HTTP/1.1 200', [FIVE], BODY), 'either'),
  answer('to HEAD', 'RFC 9112 §6.3', message(OK, [FIVE], ''), 'pass', { method: 'HEAD', body: '' }),
  answer('to HEAD in chunks', 'RFC 9112 §6.3', message(OK, ['Transfer-Encoding: chunked'], ''), 'pass', {
    method: 'HEAD',
    body: '',
  }),
  answer('without content', 'RFC 9110 §15.3.5', message('HTTP/1.1 204 No Content', [], ''), 'pass', {
    status: 204,
    body: '',
  }),
  answer('not modified', 'RFC 9110 §15.4.5', message('HTTP/1.1 304 Not Modified', [FIVE], ''), 'pass', {
    status: 304,
    body: '',
  }),
  answer(
    'behind an early hint',
    'RFC 9110 §15.2',
    message('HTTP/1.1 103 Early Hints', ['Link: </a>'], '') + message(OK, [FIVE], BODY),
    'pass',
  ),
  answer(
    'behind a 100 nobody asked for',
    'RFC 9110 §15.2',
    message('HTTP/1.1 100 Continue', [], '') + message(OK, [FIVE], BODY),
    'pass',
  ),
  answer(
    'with trailers',
    'RFC 9112 §7.1.2',
    message(OK, ['Transfer-Encoding: chunked'], '5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n'),
    'pass',
  ),
  answer('with an unknown status', 'RFC 9110 §15', message('HTTP/1.1 299 Odd', [FIVE], BODY), 'pass', {
    status: 299,
  }),
];

const statusLines: AnswerCase[] = [
  ...[
    '200 OK',
    'HTTP 200 OK',
    'HTTP/1 200 OK',
    'HTTP/1.1',
    'HTTP/1.1 ',
    'HTTP/1.1 OK',
    'HTTP/1.1 20',
    'HTTP/1.1 2000 OK',
    'HTTP/1.1 099 OK',
    'HTTP/1.1 000 OK',
    'HTTP/1.1 -20 OK',
    'HTTP/1.1 +20 OK',
    'HTTP/1.1 2 0 OK',
    'HTTP/1.1 0x2 OK',
    'HTTP/1.1 2OO OK',
    'HTTP/1.1 200OK',
    'HTTP/0.9 200 OK',
    'HTTP/2.0 200 OK',
    'HTTP/2 200 OK',
    'HTTP/9.9 200 OK',
    'HTTP/1.10 200 OK',
    'HTTP/11 200 OK',
    'HTTPS/1.1 200 OK',
    'http/1.1 200 OK',
    'ICY 200 OK',
    'RTSP/1.0 200 OK',
    ' HTTP/1.1 200 OK',
    'XHTTP/1.1 200 OK',
  ].map((line) =>
    answer(`status line ${JSON.stringify(line)}`, 'RFC 9112 §4', message(line, [FIVE], BODY), 'refuse', {
      closes: true,
    }),
  ),
  ...[
    'HTTP/1.1  200 OK',
    'HTTP/1.1\t200 OK',
    'HTTP/1.1 200\tOK',
    'HTTP/1.2 200 OK',
    'HTTP/1.1 600 OK',
    'HTTP/1.1 999 OK',
  ].map((line) =>
    answer(`status line ${JSON.stringify(line)}`, 'RFC 9112 §4', message(line, [FIVE], BODY), 'either', {
      closes: true,
      status: Number(/[269]\d\d/.exec(line)?.[0]),
    }),
  ),
  ...oddBytes.map((code) =>
    answer(
      `${hex(code)} in the reason`,
      'RFC 9112 §4',
      message(`HTTP/1.1 200 O${ch(code)}K`, [FIVE], BODY),
      code === 9 || (code >= 32 && code !== 127) ? 'pass' : 'either',
      { closes: true },
    ),
  ),
  answer(
    'a reason of 300 000 bytes',
    'RFC 9112 §4',
    message(`HTTP/1.1 200 ${'O'.repeat(300_000)}`, [FIVE], BODY),
    'refuse',
    { closes: true },
  ),
  answer('nothing', 'RFC 9112 §8', '', 'refuse', { closes: true }),
  answer('HTTP/0.9', 'RFC 9112 §A.1', '<html>hello</html>', 'refuse', { closes: true }),
  answer('half a status line', 'RFC 9112 §8', 'HTTP/1.1 20', 'refuse', { closes: true }),
  answer('half a head', 'RFC 9112 §8', `${OK}\r\nContent-Le`, 'refuse', { closes: true }),
  ...['\r\n', '\n', '\0', ' ', 'x', 'hello\r\n', '\xef\xbb\xbf'].map((before) =>
    answer(
      `${JSON.stringify(before)} before it`,
      'RFC 9112 §2.2',
      before + message(OK, [FIVE], BODY),
      'either',
      { closes: true },
    ),
  ),
];

const fields: AnswerCase[] = [
  ...[...oddBytes, ...punctuation]
    .filter((code) => ch(code) !== ':')
    .flatMap((code) => [
      headed(`${hex(code)} in a name`, [`X-O${ch(code)}dd: 1`], isToken(code) ? 'pass' : 'refuse', {
        closes: !isToken(code),
      }),
      // White space before the colon is to be taken out (RFC 9112 §5.1), or the answer is refused.
      headed(
        `${hex(code)} behind a name`,
        [`X-Odd${ch(code)}: 1`],
        isToken(code) ? 'pass' : code === 9 || code === 32 ? 'either' : 'refuse',
        { closes: !isToken(code) },
      ),
    ]),
  ...oddBytes.map((code) =>
    headed(
      `${hex(code)} in a value`,
      [`X-Odd: a${ch(code)}b`],
      code === 9 || (code >= 32 && code !== 127) ? 'pass' : 'either',
      { closes: true },
    ),
  ),
  ...[
    'no colon',
    ': no name',
    ' folded',
    '\tfolded',
    'Set-Cookie: a=b\rSet-Cookie: c=d',
    'Set-Cookie: a=b\nSet-Cookie: c=d',
    'HTTP/1.1 200 OK',
  ].map((line) =>
    headed(JSON.stringify(line), ['X-Before: 1', line], /^[n:H]/.test(line) ? 'refuse' : 'either', {
      closes: true,
    }),
  ),
  headed(
    '10 000 fields',
    Array.from({ length: 10_000 }, (_, i) => `X-${i}: ${i}`),
    'either',
    { closes: true },
  ),
  headed('a value of 1 000 000 bytes', [`X: ${'a'.repeat(1_000_000)}`], 'either', { closes: true }),
  headed(
    'hop-by-hop fields',
    ['Connection: X-Private', 'X-Private: 1', 'Keep-Alive: timeout=5', 'Proxy-Connection: close'],
    'pass',
  ),
  headed('Connection names Content-Length', ['Connection: Content-Length'], 'either', { closes: true }),
  headed('Connection names Transfer-Encoding', ['Connection: Transfer-Encoding'], 'either', { closes: true }),
  headed('a request in a value', ['X: GET /smuggled HTTP/1.1'], 'pass'),
  ...['\n', '\r', '\r\r\n', '\n\r', '\r\0\n', '\x85'].flatMap((end) =>
    [OK, FIVE, 'X: 1', ''].map((part, place) =>
      answer(
        `${JSON.stringify(end)} behind ${part === '' ? 'the head' : part}`,
        'RFC 9112 §2.2',
        `${[OK, FIVE, 'X: 1', ''].map((text, i) => text + (i === place ? end : '\r\n')).join('')}${BODY}`,
        'either',
        { closes: true },
      ),
    ),
  ),
];

export const answerCases: readonly AnswerCase[] = [...sound, ...statusLines, ...fields, ...answerBodies];
