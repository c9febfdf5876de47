import { chunked, hex, message, oddBytes, type AnswerCase } from '../case.ts';
import { answer, BODY, FIVE, OK, SECOND } from './answer.ts';

const ch = (code: number): string => String.fromCharCode(code);

/** Two lengths for one body: who believes the other one takes what is behind for an answer. */
const lengths: AnswerCase[] = [
  ...[
    '',
    '+5',
    '-5',
    '0x5',
    '5 5',
    '5;',
    '5.0',
    '"5"',
    'five',
    '5, 6',
    '6, 5',
    '18446744073709551621',
    '4294967301x',
    '5\0',
  ].map((value) =>
    answer(
      `length ${JSON.stringify(value)}`,
      'RFC 9112 §6.3',
      message(OK, [`Content-Length: ${value}`], BODY),
      value === '5\0' ? 'either' : 'refuse',
      { closes: true },
    ),
  ),
  ...[
    ['Content-Length: 5', 'Content-Length: 0'],
    ['Content-Length: 0', 'Content-Length: 5'],
    ['Content-Length: 5', 'Content-Length : 0'],
    ['Content-Length: 5', 'content-length: 6'],
    ['Content-Length: 5', 'X: y\nContent-Length: 0'],
  ].map((lines) =>
    answer(
      `lengths ${lines.join(' and ')}`,
      'RFC 9112 §6.3',
      message(OK, lines, BODY + SECOND),
      lines[1]?.includes(' :') === true ? 'either' : 'refuse',
      { closes: true },
    ),
  ),
  answer('two equal lengths', 'RFC 9110 §8.6', message(OK, [FIVE, FIVE], BODY), 'either'),
  answer('a list of equal lengths', 'RFC 9110 §8.6', message(OK, ['Content-Length: 5, 5'], BODY), 'either'),
  answer(
    'a length with an underscore',
    'RFC 9110 §5.1',
    message(OK, [FIVE, 'Content_Length: 0'], BODY),
    'either',
    { closes: true },
  ),
  answer('longer than its length', 'RFC 9112 §6.3', message(OK, [FIVE], BODY + SECOND), 'pass'),
  answer('longer than its length by a byte', 'RFC 9112 §6.3', message(OK, [FIVE], `${BODY}x`), 'pass'),
  answer('shorter than its length', 'RFC 9112 §8', message(OK, ['Content-Length: 50'], BODY), 'refuse', {
    closes: true,
  }),
  answer(
    'a length and a coding',
    'RFC 9112 §6.3',
    message(OK, [FIVE, 'Transfer-Encoding: chunked'], chunked(BODY)),
    'either',
    { closes: true },
  ),
  answer(
    'a coding and a length',
    'RFC 9112 §6.3',
    message(OK, ['Transfer-Encoding: chunked', 'Content-Length: 3'], `5\r\nhello\r\n0\r\n\r\n`),
    'either',
    { closes: true },
  ),
  answer(
    'a length and a coding, an answer in the body',
    'RFC 9112 §6.3',
    message(OK, [`Content-Length: ${5 + SECOND.length}`, 'Transfer-Encoding: chunked'], `0\r\n\r\n${SECOND}`),
    'either',
    { closes: true, body: '' },
  ),
];

const codings: AnswerCase[] = [
  ...oddBytes.flatMap((code) =>
    [
      [`Transfer-Encoding:${ch(code)}chunked`, 'before the coding'],
      [`Transfer-Encoding: chunked${ch(code)}`, 'behind the coding'],
      [`Transfer-Encoding${ch(code)}: chunked`, 'behind the name of the coding'],
      [`X: X${ch(code)}Transfer-Encoding: chunked`, 'before a coding in a value'],
    ].map(([line = '', place = '']) =>
      answer(
        `${hex(code)} ${place}`,
        'RFC 9112 §6.1',
        message(OK, ['Content-Length: 5', line], `0\r\n\r\n${SECOND}`),
        'either',
        {
          closes: true,
          body: line.startsWith('X') || !/^Transfer-Encoding[\t ]*:/.test(line) ? '0\r\n\r\n' : '',
        },
      ),
    ),
  ),
  ...[
    'chunked, identity',
    'identity',
    'gzip',
    'chunked, gzip',
    'xchunked',
    'chunked;q=1',
    '"chunked"',
    '',
    'chunked, chunked',
    'cow',
  ].map((coding) =>
    answer(
      `coding ${JSON.stringify(coding)}`,
      'RFC 9112 §6.1',
      message(OK, [`Transfer-Encoding: ${coding}`], chunked(BODY)),
      'either',
      { closes: true, body: chunked(BODY) },
    ),
  ),
  answer(
    'coding "gzip, chunked"',
    'RFC 9112 §6.1',
    message(OK, ['Transfer-Encoding: gzip, chunked'], chunked(BODY)),
    'either',
    { closes: true },
  ),
  answer(
    'two codings on two lines',
    'RFC 9112 §6.1',
    message(OK, ['Transfer-Encoding: identity', 'Transfer-Encoding: chunked'], chunked(BODY)),
    'either',
    { closes: true },
  ),
  answer(
    'a coding in HTTP/1.0',
    'RFC 9112 §6.1',
    message('HTTP/1.0 200 OK', ['Transfer-Encoding: chunked'], chunked(BODY)),
    'either',
    { closes: true },
  ),
  answer(
    'a coding with an underscore',
    'RFC 9110 §5.1',
    message(OK, [FIVE, 'Transfer_Encoding: chunked'], BODY),
    'either',
    { closes: true },
  ),
  ...[
    '5 ',
    ' 5',
    '+5',
    '-5',
    '0x5',
    '5;',
    '5;a=\nb',
    '5\n',
    '5\r',
    '5,',
    '5 5',
    '',
    'g',
    '10000000000000005',
    'fffffffffffffffb',
    '5;a="\0"',
  ].map((size) =>
    answer(
      `chunk size ${JSON.stringify(size)}`,
      'RFC 9112 §7.1',
      message(OK, ['Transfer-Encoding: chunked'], `${size}\r\nhello\r\n0\r\n\r\n`),
      /^5[ ;]$|\n/.test(size) ? 'either' : 'refuse',
      { closes: true },
    ),
  ),
  ...[
    '6\r\nhello\r\n0\r\n\r\n',
    '4\r\nhello\r\n0\r\n\r\n',
    '5\r\nhello0\r\n\r\n',
    '5\r\nhello\r\n',
    '5\r\nhello\r\n0\r\n',
    '5\r\nhel',
    '',
  ].map((body) =>
    answer(
      `chunks ${JSON.stringify(body)}`,
      'RFC 9112 §7.1',
      message(OK, ['Transfer-Encoding: chunked'], body),
      'refuse',
      { closes: true },
    ),
  ),
  answer(
    'an extension of 1 000 000 bytes',
    'RFC 9112 §7.1.1',
    message(OK, ['Transfer-Encoding: chunked'], `5;a=${'b'.repeat(1_000_000)}\r\nhello\r\n0\r\n\r\n`),
    'either',
    { closes: true },
  ),
  ...[
    'Content-Length: 50',
    'Transfer-Encoding: chunked',
    'Set-Cookie: a=b',
    'Connection: close',
    'no colon',
    ' folded',
    'X\0: 1',
  ].map((line) =>
    answer(
      `trailer ${JSON.stringify(line)}`,
      'RFC 9112 §7.1.2',
      message(OK, ['Transfer-Encoding: chunked'], `5\r\nhello\r\n0\r\n${line}\r\n\r\n`),
      'either',
      { closes: true },
    ),
  ),
];

const interim = (status: string, ...lines: string[]): string => message(`HTTP/1.1 ${status}`, lines, '');
const special: AnswerCase[] = [
  answer(
    'behind five interim ones',
    'RFC 9110 §15.2',
    interim('103 Early Hints').repeat(5) + message(OK, [FIVE], BODY),
    'pass',
  ),
  answer(
    'behind 5 000 interim ones',
    'RFC 9110 §15.2',
    interim('103 Early Hints').repeat(5_000) + message(OK, [FIVE], BODY),
    'either',
    { closes: true },
  ),
  answer('interim ones only', 'RFC 9110 §15.2', interim('103 Early Hints').repeat(5), 'refuse', {
    closes: true,
  }),
  answer(
    'a switch nobody asked for',
    'RFC 9110 §15.2.2',
    interim('101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: websocket') + SECOND,
    'refuse',
    { closes: true },
  ),
  answer(
    'a switch nobody asked for, to nothing',
    'RFC 9110 §15.2.2',
    interim('101 Switching Protocols') + SECOND,
    'refuse',
    { closes: true },
  ),
  ...['Content-Length: 5', 'Transfer-Encoding: chunked', 'Connection: close', 'Content-Length: 0'].map(
    (line) =>
      answer(
        `an interim one with ${line}`,
        'RFC 9110 §8.6',
        interim('103 Early Hints', line) + message(OK, [FIVE], BODY),
        'either',
        { closes: true },
      ),
  ),
  answer(
    'an interim one of HTTP/1.0',
    'RFC 9110 §15.2',
    message('HTTP/1.0 103 Early Hints', [], '') + message(OK, [FIVE], BODY),
    'either',
    { closes: true },
  ),
  answer(
    'an interim one that is unknown',
    'RFC 9110 §15.2',
    interim('199 Odd') + message(OK, [FIVE], BODY),
    'either',
  ),
  ...['204 No Content', '304 Not Modified'].flatMap((status) =>
    (
      [
        ['a length', FIVE],
        ['a coding', 'Transfer-Encoding: chunked'],
        ['nothing said', 'X: 1'],
      ] as const
    ).map(([what, line]) =>
      answer(
        `${status} with a body and ${what}`,
        'RFC 9110 §6.4.1',
        message(`HTTP/1.1 ${status}`, [line], line.startsWith('T') ? chunked(BODY) : BODY),
        'either',
        { status: Number(status.slice(0, 3)), body: '' },
      ),
    ),
  ),
  answer(
    '204 and an answer behind',
    'RFC 9110 §6.4.1',
    message('HTTP/1.1 204 No Content', [], SECOND),
    'either',
    { status: 204, body: '' },
  ),
  answer(
    '304 and an answer behind',
    'RFC 9110 §6.4.1',
    message('HTTP/1.1 304 Not Modified', [`Content-Length: ${SECOND.length}`], SECOND),
    'either',
    { status: 304, body: '' },
  ),
  answer(
    '205 with a body',
    'RFC 9110 §15.3.6',
    message('HTTP/1.1 205 Reset Content', [FIVE], BODY),
    'either',
    { status: 205 },
  ),
  answer('to HEAD with a body', 'RFC 9110 §9.3.2', message(OK, [FIVE], BODY), 'either', {
    method: 'HEAD',
    body: '',
  }),
  answer('to HEAD with an answer behind', 'RFC 9110 §9.3.2', message(OK, [FIVE], SECOND), 'either', {
    method: 'HEAD',
    body: '',
  }),
  answer(
    'to HEAD with chunks',
    'RFC 9110 §9.3.2',
    message(OK, ['Transfer-Encoding: chunked'], chunked(BODY)),
    'either',
    { method: 'HEAD', body: '' },
  ),
  answer(
    'two answers',
    'RFC 9112 §9.2',
    message(OK, [FIVE], BODY) + message(OK, ['X-Smuggled: 1', 'x-echo: GET%20%2Fmarker', FIVE], BODY),
    'pass',
  ),
  answer(
    'two answers in chunks',
    'RFC 9112 §9.2',
    message(OK, ['Transfer-Encoding: chunked'], chunked(BODY)) + SECOND,
    'pass',
  ),
  answer(
    'an interim one behind',
    'RFC 9112 §9.2',
    message(OK, [FIVE], BODY) + interim('103 Early Hints'),
    'pass',
  ),
  answer('garbage behind', 'RFC 9112 §9.2', `${message(OK, [FIVE], BODY)}\0\0\0\0`, 'pass'),
  answer(
    'that says close and does not',
    'RFC 9112 §9.6',
    message(OK, [FIVE, 'Connection: close'], BODY) + SECOND,
    'pass',
  ),
];

/** Cases about where an answer ends, and what stands before and behind it. */
export const answerBodies: readonly AnswerCase[] = [...lengths, ...codings, ...special];
