import {
  chunked,
  hex,
  isToken,
  oddBytes,
  punctuation,
  reads,
  request,
  smuggled,
  type RequestCase,
} from '../case.ts';

const ch = (code: number): string => String.fromCharCode(code);
const RULE = 'RFC 9112 §7.1';

const chunk = (id: string, body: string, want: RequestCase['want'], payload?: string): RequestCase => ({
  id: `chunk: ${id}`,
  rule: RULE,
  text: request(['Transfer-Encoding: chunked'], body),
  want,
  ...(payload !== undefined && { readings: reads(payload) }),
});
/** A chunk of `hello` under this line, and the end. */
const line = (text: string): string => `${text}\r\nhello\r\n0\r\n\r\n`;
const visible = (code: number): boolean => (code >= 0x20 && code !== 0x7f) || code === 9;

const bytes: RequestCase[] = [...oddBytes, ...punctuation].flatMap((code) => [
  chunk(`${hex(code)} before the size`, line(`${ch(code)}5`), 'refuse'),
  // BWS is allowed there only before a semicolon (RFC 9112 §7.1.1); some took it for more.
  chunk(
    `${hex(code)} behind the size`,
    line(`5${ch(code)}`),
    code === 0x20 || code === 9 || code === 10 || code === 13 ? 'either' : 'refuse',
    'hello',
  ),
  chunk(
    `${hex(code)} in the size`,
    `0${ch(code)}5\r\nhello\r\n0\r\n\r\n`,
    ch(code) === ';' ? 'either' : 'refuse',
    ch(code) === ';' ? '' : undefined,
  ),
  chunk(
    `${hex(code)} behind the data`,
    `5\r\nhello${ch(code)}\r\n0\r\n\r\n`,
    code === 13 ? 'refuse' : 'refuse',
  ),
  chunk(
    `${hex(code)} in the name of an extension`,
    line(`5;a${ch(code)}b`),
    isToken(code) || ch(code) === '=' || ch(code) === ';'
      ? 'pass'
      : code === 10 || visible(code)
        ? 'either'
        : 'refuse',
    'hello',
  ),
  chunk(
    `${hex(code)} in the value of an extension`,
    line(`5;a=b${ch(code)}c`),
    isToken(code) || ch(code) === ';' ? 'pass' : code === 10 || visible(code) ? 'either' : 'refuse',
    'hello',
  ),
  chunk(
    `${hex(code)} in a quoted extension`,
    line(`5;a="b${ch(code)}c"`),
    visible(code) && !'"\\'.includes(ch(code))
      ? 'pass'
      : code === 10 || '"\\'.includes(ch(code))
        ? 'either'
        : 'refuse',
    'hello',
  ),
]);

const oversized = [
  'fffffffffffffffb',
  '10000000000000005',
  'ffffffffffffffff5',
  '100000005',
  '8000000000000005',
  '-fffffffffffffffb',
];

export const chunks: readonly RequestCase[] = [
  chunk('several', chunked('a', 'bc', 'd'.repeat(300)), 'pass', `abc${'d'.repeat(300)}`),
  chunk('none', '0\r\n\r\n', 'pass', ''),
  chunk('leading zeros', line('0005'), 'pass', 'hello'),
  chunk('capitals', `1A\r\n${'x'.repeat(26)}\r\n0\r\n\r\n`, 'pass', 'x'.repeat(26)),
  chunk('many zeros at the end', '5\r\nhello\r\n00000\r\n\r\n', 'pass', 'hello'),
  chunk('an extension', line('5;a'), 'pass', 'hello'),
  chunk('an extension with a value', line('5;a=b'), 'pass', 'hello'),
  chunk('a quoted extension', line('5;a="b c;\\"d"'), 'pass', 'hello'),
  chunk('several extensions', line('5;a=b;c;d="e"'), 'pass', 'hello'),
  chunk('an extension of the last chunk', '5\r\nhello\r\n0;a=b\r\n\r\n', 'pass', 'hello'),
  chunk('white space before an extension', line('5 ;a=b'), 'either', 'hello'),
  chunk('white space in an extension', line('5; a = b'), 'either', 'hello'),
  chunk('an extension without a name', line('5;'), 'either', 'hello'),
  chunk('an extension with only a value', line('5;=b'), 'either', 'hello'),
  chunk('an extension of 100 000 bytes', line(`5;a=${'b'.repeat(100_000)}`), 'either', 'hello'),
  chunk('an endless size', line('0'.repeat(100_000) + '5'), 'either', 'hello'),
  ...bytes,
  ...oversized.map((size) => ({ ...chunk(`size ${size}`, line(size), 'refuse'), last: true })),
  ...[
    '0x5',
    '0X5',
    '5h',
    '5g',
    '-5',
    '+5',
    '5,',
    '5.0',
    '5e',
    '',
    ' ',
    'five',
    '5_',
    '5_0',
    '5 5',
    '%35',
    '"5"',
    '\\5',
  ].map((size) =>
    size === '5e'
      ? { ...chunk(`size ${size}`, line(size), 'refuse'), last: true }
      : chunk(`size ${JSON.stringify(size)}`, line(size), 'refuse'),
  ),
  ...['0x0', '-0', '+0', '00x', '0 ', ' 0', '0;', '0\t', '0\0', '0.', '0,'].map((size) =>
    chunk(
      `last size ${JSON.stringify(size)}`,
      `5\r\nhello\r\n${size}\r\n\r\n`,
      /^0[ \t;]$/.test(size) ? 'either' : 'refuse',
      'hello',
    ),
  ),
  chunk('shorter than its size', '6\r\nhello\r\n0\r\n\r\n', 'refuse'),
  chunk('longer than its size', '4\r\nhello\r\n0\r\n\r\n', 'refuse'),
  chunk('no line end behind the data', '5\r\nhello0\r\n\r\n', 'refuse'),
  chunk('LF behind the data', '5\r\nhello\n0\r\n\r\n', 'either', 'hello'),
  chunk('CR behind the data', '5\r\nhello\r0\r\n\r\n', 'refuse'),
  chunk('two bytes behind the data', '5\r\nhelloxx0\r\n\r\n', 'refuse'),
  chunk('LF behind the size', '5\nhello\r\n0\r\n\r\n', 'either', 'hello'),
  chunk('CR behind the size', '5\rhello\r\n0\r\n\r\n', 'refuse'),
  chunk('LF behind the last size', '5\r\nhello\r\n0\n\r\n', 'either', 'hello'),
  chunk('LF at the end', '5\r\nhello\r\n0\r\n\n', 'either', 'hello'),
  chunk('LF LF at the end', '5\r\nhello\r\n0\n\n', 'either', 'hello'),
  chunk('a size that is an extension to some', `5;\nxx\r\nhello\r\n0\r\n\r\n`, 'refuse'),
  // A reader that ends the line at the line feed finds a request where another finds an extension.
  chunk(
    'a request in an extension',
    `2;\n${'x'.repeat(2)}\r\n0\r\n\r\n${smuggled}\r\nxx\r\n0\r\n\r\n`,
    'refuse',
  ),
  chunk(
    'a quoted extension over several lines',
    `0;a="\r\n\r\nGET /second HTTP/1.1\r\nHost: app.test\r\nX: "\r\n\r\n`,
    'refuse',
  ),
  chunk('a request behind a bare CR', `0;a=\r${smuggled}\r\n\r\n`, 'refuse'),
  chunk(
    'the end inside of a chunk',
    `${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`,
    'pass',
    smuggled,
  ),
  { ...chunk('no end', '5\r\nhello\r\n', 'refuse'), last: true },
  { ...chunk('no end of the last line', '5\r\nhello\r\n0\r\n', 'refuse'), last: true },
  { ...chunk('an end in the middle', '5\r\nhel', 'refuse'), last: true },
];
