import { hex, oddBytes, punctuation, reads, request, smuggled, TARGET, type RequestCase } from '../case.ts';

const ch = (code: number): string => String.fromCharCode(code);
const RULE = 'RFC 9112 §6.3';
const BODY = 'hello';

const length = (
  id: string,
  lines: readonly string[],
  want: RequestCase['want'],
  body = BODY,
): RequestCase => ({
  id: `length: ${id}`,
  rule: RULE,
  text: request(lines, body),
  want,
  readings: reads(body),
});

/** White space that is allowed around a value (RFC 9110 §5.5). */
const optional = (code: number): boolean => code === 0x20 || code === 9;

/** Bytes around and in the digits, and in the name. */
const bytes: RequestCase[] = [...oddBytes, ...punctuation].flatMap((code) => [
  length(
    `${hex(code)} before the digits`,
    [`Content-Length:${ch(code)}5`],
    optional(code) ? 'pass' : code === 0x2c ? 'either' : code === 13 || code === 0 ? 'either' : 'refuse',
  ),
  length(
    `${hex(code)} behind the digits`,
    [`Content-Length: 5${ch(code)}`],
    optional(code) ? 'pass' : code === 0x2c || code === 13 || code === 10 || code === 0 ? 'either' : 'refuse',
  ),
  length(`${hex(code)} between the digits`, [`Content-Length: 0${ch(code)}5`], 'refuse'),
]);

export const lengths: readonly RequestCase[] = [
  length('five', ['Content-Length: 5'], 'pass'),
  length('in capitals', ['CONTENT-LENGTH: 5'], 'pass'),
  length('with leading zeros', ['Content-Length: 005'], 'pass'),
  length('zero, and a request behind', ['Content-Length: 0'], 'pass', ''),
  length('none, and a request behind', [], 'pass', ''),
  ...bytes,
  ...[
    '',
    '+5',
    '-5',
    '-0',
    '+0',
    '0x5',
    '0o5',
    '05h',
    '5e0',
    '5.0',
    '5.',
    '.5',
    '5 5',
    '5,6',
    '5, 6',
    '6, 5',
    '5;6',
    '5 bytes',
    '"5"',
    "'5'",
    '(5)',
    '1_000',
    'five',
    'NaN',
    'Infinity',
    'true',
    'null',
    '5\u00b2',
    '18446744073709551621',
    '18446744073709551616',
    '9223372036854775808',
    '4294967301',
    '99999999999999999999999999999999',
    '-18446744073709551611',
  ]
    .map((value) =>
      length(
        JSON.stringify(value),
        [`Content-Length: ${value}`],
        value === '4294967301' ? 'either' : 'refuse',
      ),
    )
    .map((item) => (item.id.includes('4294967301') ? { ...item, last: true, readings: [] } : item)),
  // RFC 9110 §8.6: a list of equal numbers may be taken for the number.
  length('a list of equal numbers', ['Content-Length: 5, 5'], 'either'),
  length('a list with empty elements', ['Content-Length: ,5,'], 'either'),
  length('two equal lines', ['Content-Length: 5', 'Content-Length: 5'], 'either'),
  length('two lines of one number in two ways', ['Content-Length: 5', 'Content-Length: 05'], 'refuse'),
  length('two lines that differ', ['Content-Length: 5', 'Content-Length: 0'], 'refuse'),
  length('two lines that differ, the first is zero', ['Content-Length: 0', 'Content-Length: 5'], 'refuse'),
  length('a second line that is empty', ['Content-Length: 5', 'Content-Length:'], 'refuse'),
  length(
    'a second line with white space before the colon',
    ['Content-Length: 5', 'Content-Length : 0'],
    'refuse',
  ),
  length('a second line that is folded', ['Content-Length: 5', ' Content-Length: 0'], 'refuse'),
  length('a folded number', ['Content-Length:', ' 5'], 'either'),
  length('with an underscore', ['Content-Length: 5', 'Content_Length: 0'], 'either'),
  length('with an underscore, first', ['Content_Length: 0', 'Content-Length: 5'], 'either'),
  ...[' ', '\t', '\x0b', '\x0c', '\0', '\r', '\xa0', '\x85', '\x08', '\x7f']
    .flatMap((byte) => [
      length(`${hex(byte.charCodeAt(0))} before the colon`, [`Content-Length${byte}: 5`], 'refuse'),
      length(
        `${hex(byte.charCodeAt(0))} before the name`,
        ['X: y', `${byte}Content-Length: 5`],
        'refuse',
        '',
      ),
      length(`${hex(byte.charCodeAt(0))} in the name`, [`Content${byte}-Length: 5`], 'refuse'),
    ])
    .map((item) => (item.id.endsWith('before the name') ? { ...item, want: 'either' as const } : item)),
  // CL.0: a backend that reads no body for some methods would take the body for the next request.
  ...['GET', 'HEAD', 'DELETE', 'OPTIONS', 'PUT', 'PATCH', 'TRACE', 'PROPFIND', 'X'].map((method) => ({
    id: `length: a request in the body of ${method}`,
    rule: 'RFC 9110 §9.3',
    text: request([`Content-Length: ${smuggled.length}`], smuggled, `${method} ${TARGET} HTTP/1.1`),
    want: method === 'TRACE' ? ('either' as const) : ('pass' as const),
    readings: reads(smuggled, method),
  })),
  ...['GET', 'HEAD', 'DELETE', 'OPTIONS'].map((method) => ({
    id: `length: a chunked request in the body of ${method}`,
    rule: 'RFC 9110 §9.3',
    text: request(
      ['Transfer-Encoding: chunked'],
      `${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`,
      `${method} ${TARGET} HTTP/1.1`,
    ),
    want: 'pass' as const,
    readings: reads(smuggled, method),
  })),
  // 0.CL: what follows a length of zero is a request, whatever the backend would like to read.
  ...['Content-Length: 0', 'Content-Length: 00'].map((line) => ({
    id: `length: two requests with ${line}`,
    rule: RULE,
    text: request([line]) + request([line], '', 'POST /second HTTP/1.1'),
    want: 'pass' as const,
    readings: [
      [
        { method: 'POST', target: TARGET, body: '' },
        { method: 'POST', target: '/second', body: '' },
      ],
    ],
  })),
  {
    id: 'length: longer than what comes',
    rule: RULE,
    text: request(['Content-Length: 50'], BODY),
    want: 'refuse',
    last: true,
  },
  {
    id: 'length: shorter than what comes',
    rule: RULE,
    text: request(['Content-Length: 3'], 'heyrest of it\r\n'),
    want: 'refuse',
    readings: reads('hey'),
  },
];
