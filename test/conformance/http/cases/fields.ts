import {
  chunked,
  hex,
  isObsText,
  isToken,
  oddBytes,
  punctuation,
  reads,
  request,
  SMUGGLED,
  TARGET,
  type RequestCase,
} from '../case.ts';

const ch = (code: number): string => String.fromCharCode(code);
const START = `GET ${TARGET} HTTP/1.1`;
const got = reads('', 'GET');

const with_ = (
  id: string,
  rule: string,
  lines: readonly string[],
  want: RequestCase['want'],
): RequestCase => ({
  id: `field: ${id}`,
  rule,
  text: request(lines, '', START),
  want,
  readings: got,
});

/** RFC 9110 §5.1, RFC 9112 §5.1: a name is a token, and the colon stands right behind it. */
const names: RequestCase[] = [...oddBytes, ...punctuation]
  .filter((code) => ch(code) !== ':')
  .flatMap((code) => {
    const want = isToken(code) ? 'pass' : 'refuse';
    const rule = 'RFC 9112 §5.1';
    return [
      with_(`${hex(code)} in a name`, rule, [`X-O${ch(code)}dd: 1`], want),
      with_(`${hex(code)} at the end of a name`, rule, [`X-Odd${ch(code)}: 1`], want),
      with_(
        `${hex(code)} at the front of a name`,
        rule,
        [`${ch(code)}X-Odd: 1`],
        code === 32 || code === 9 ? 'either' : want,
      ),
    ];
  });

/** RFC 9110 §5.5: NUL, CR and LF are refused or become spaces, other controls may stay. */
const values: RequestCase[] = oddBytes.flatMap((code) => {
  const want = code === 9 || code === 32 || isObsText(code) ? 'pass' : 'either';
  const rule = 'RFC 9110 §5.5';
  return [
    with_(`${hex(code)} in a value`, rule, [`X-Odd: a${ch(code)}b`], want),
    with_(`${hex(code)} at the end of a value`, rule, [`X-Odd: ab${ch(code)}`], want),
  ];
});

const shapes: RequestCase[] = [
  with_('an empty value', 'RFC 9112 §5', ['X-Empty:'], 'pass'),
  with_('a value of white space', 'RFC 9112 §5', ['X-Empty: \t '], 'pass'),
  with_('no white space', 'RFC 9112 §5', ['X-Tight:value'], 'pass'),
  with_('much white space', 'RFC 9112 §5', ['X-Wide: \t  value \t '], 'pass'),
  with_('a colon in the value', 'RFC 9112 §5', ['X-Colon: a:b: c'], 'pass'),
  with_('the same name twice', 'RFC 9110 §5.3', ['X-Twice: 1', 'X-Twice: 2'], 'pass'),
  with_(
    'names of our own',
    'RFC 9110 §5.1',
    ['X-Forwarded-For: 1.2.3.4', 'X-Request-Id: abc', 'Forwarded: for=x'],
    'pass',
  ),
  with_(
    '80 fields',
    'RFC 9110 §5.4',
    Array.from({ length: 80 }, (_, i) => `X-${i}: ${i}`),
    'pass',
  ),
  with_(
    '5 000 fields',
    'RFC 9110 §5.4',
    Array.from({ length: 5_000 }, (_, i) => `X-${i}: ${i}`),
    'refuse',
  ),
  with_('a value of 7 000 bytes', 'RFC 9110 §5.4', [`X-Long: ${'a'.repeat(7_000)}`], 'pass'),
  with_('a value of 300 000 bytes', 'RFC 9110 §5.4', [`X-Long: ${'a'.repeat(300_000)}`], 'refuse'),
  with_('a name of 300 000 bytes', 'RFC 9110 §5.4', [`${'a'.repeat(300_000)}: 1`], 'refuse'),
  with_('no colon', 'RFC 9112 §5', ['X-Odd'], 'refuse'),
  with_('no name', 'RFC 9112 §5', [': value'], 'refuse'),
  with_('only a colon', 'RFC 9112 §5', [':'], 'refuse'),
  with_('a line of white space', 'RFC 9112 §5', [' '], 'refuse'),
  with_('a request line among the fields', 'RFC 9112 §5', [`GET ${SMUGGLED} HTTP/1.1`], 'refuse'),
  with_('a request line as a name', 'RFC 9112 §5', [`GET ${SMUGGLED} HTTP/1.1: x`], 'refuse'),
  with_('a pseudo-header', 'RFC 9112 §5', [':path: /smuggled'], 'refuse'),
  ...[' folded', '\tfolded', ' X-Folded: 1', `\tHost: other.test`, ' '].map((line) =>
    with_(`a folded line ${JSON.stringify(line)}`, 'RFC 9112 §5.2', ['X-Odd: 1', line], 'either'),
  ),
  with_('a folded line behind Host', 'RFC 9112 §5.2', [], 'either'),
].map((item) =>
  item.id === 'field: a folded line behind Host'
    ? { ...item, text: `${START}\r\nHost: app.test\r\n other.test\r\n\r\n`, want: 'refuse' as const }
    : item,
);

/**
 * RFC 9112 §2.2: line ends are CRLF. A line feed alone may be taken for one, a carriage return alone may not. Each way
 * to spoil a line end, at each place that has one.
 */
const lineEnds: RequestCase[] = (() => {
  const parts = [
    `POST ${TARGET} HTTP/1.1`,
    'Host: app.test',
    'X-One: 1',
    'Transfer-Encoding: chunked',
    '',
    '5',
    'hello',
    '0',
    '',
  ];
  const names_ = [
    'request line',
    'Host',
    'field',
    'last field',
    'head',
    'chunk size',
    'chunk',
    'last chunk',
    'message',
  ];
  const ends: readonly string[] = [
    '\n',
    '\r',
    '\r\r\n',
    '\n\r',
    '\r\0\n',
    '\0\r\n',
    '\r \n',
    '\x0b\r\n',
    '\x85',
    '\u0085\r\n',
    '\n\n',
    '\r\n\r',
    '\x1e',
  ];
  return names_.flatMap((name, place) =>
    ends.map((end) => ({
      id: `line end: ${JSON.stringify(end)} behind the ${name}`,
      rule: 'RFC 9112 §2.2',
      text: parts.map((part, i) => part + (i === place ? end : '\r\n')).join(''),
      want: 'either' as const,
    })),
  );
})();

/** Every control byte at every boundary of a small request with a body: refused, or one request to all. */
const insertions: RequestCase[] = (() => {
  const whole = (framing: string, body: string): string =>
    `POST ${TARGET} HTTP/1.1\r\nHost: app.test\r\n${framing}\r\nX-Last: 1\r\n\r\n${body}`;
  const messages = {
    length: whole('Content-Length: 5', 'hello'),
    chunked: whole('Transfer-Encoding: chunked', chunked('hello')),
  };
  return Object.entries(messages).flatMap(([kind, text]) => {
    // Within a body of known length a byte more is nothing odd.
    const most = kind === 'length' ? text.indexOf('hello') - 1 : text.length;
    const places = [...text.matchAll(/(?<=[\r\n :/;])|(?=[\r\n :/;])/g)]
      .map(({ index }) => index)
      .filter((at, i, all) => all.indexOf(at) === i && at > 0 && at < most);
    return ['\0', '\n', '\r', ' '].flatMap((byte) =>
      places.map((at) => ({
        id: `byte ${hex(byte.charCodeAt(0))} at ${at} of a ${kind} message`,
        rule: 'RFC 9112 §2.2',
        text: text.slice(0, at) + byte + text.slice(at),
        want: 'either' as const,
      })),
    );
  });
})();

export const fields: readonly RequestCase[] = [...names, ...values, ...shapes, ...lineEnds, ...insertions];
