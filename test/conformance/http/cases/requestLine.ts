import {
  hex,
  isToken,
  oddBytes,
  punctuation,
  range,
  reads,
  request,
  TARGET,
  type RequestCase,
} from '../case.ts';

const RULE = 'RFC 9112 §3';
const ch = (code: number): string => String.fromCharCode(code);
const line = (
  id: string,
  start: string,
  want: RequestCase['want'],
  rest: Partial<RequestCase> = {},
): RequestCase => ({
  id: `request line: ${id}`,
  rule: RULE,
  text: request([], '', start),
  want,
  ...rest,
});
const got = (method = 'GET', target = TARGET) => reads('', method, target);

/** Methods, and the bytes that may not be in one. */
const methods: RequestCase[] = [
  ...['GET', 'DELETE', 'OPTIONS', 'PROPFIND', 'M-SEARCH', 'get', "X!#$%&'*+-.^_`|~1"].map((method) =>
    line(`method ${method}`, `${method} ${TARGET} HTTP/1.1`, 'pass', { readings: got(method) }),
  ),
  ...[...oddBytes, ...punctuation]
    .filter((code) => !isToken(code) && code !== 0x20)
    .map((code) => line(`method with ${hex(code)}`, `GE${ch(code)}T ${TARGET} HTTP/1.1`, 'refuse')),
  line('no method', ` ${TARGET} HTTP/1.1`, 'refuse'),
  line('method only', 'GET', 'refuse'),
  line('CONNECT', 'CONNECT app.test:80 HTTP/1.1', 'refuse'),
];

/** RFC 9112 §3: white space other than one space may be taken, or be refused. */
const spaces: RequestCase[] = [
  ...oddBytes
    .filter((code) => code < 0x21 || code === 0xa0 || code === 0x85)
    .filter((code) => code !== 0x20)
    .flatMap((code) => [
      line(`${hex(code)} before the target`, `GET${ch(code)}${TARGET} HTTP/1.1`, 'either', {
        readings: got(),
      }),
      line(`${hex(code)} before the version`, `GET ${TARGET}${ch(code)}HTTP/1.1`, 'either', {
        readings: got(),
      }),
    ]),
  line('two spaces before the target', `GET  ${TARGET} HTTP/1.1`, 'either', { readings: got() }),
  line('two spaces before the version', `GET ${TARGET}  HTTP/1.1`, 'either', { readings: got() }),
  line('a space at the end', `GET ${TARGET} HTTP/1.1 `, 'either', { readings: got() }),
  line('a space at the front', ` GET ${TARGET} HTTP/1.1`, 'either', { readings: got() }),
  line('a tab at the front', `\tGET ${TARGET} HTTP/1.1`, 'either', { readings: got() }),
  line('a space in the target', `GET ${TARGET} /smuggled HTTP/1.1`, 'refuse'),
  line('a version in the target', `GET ${TARGET} HTTP/1.1 HTTP/1.1`, 'refuse'),
];

const versions: RequestCase[] = [
  ...['HTTP/1.2', 'HTTP/1.9'].map((version) =>
    line(`version ${version}`, `GET ${TARGET} ${version}`, 'either', { readings: got() }),
  ),
  ...[
    'HTTP/0.9',
    'HTTP/2.0',
    'HTTP/3.0',
    'HTTP/9.9',
    'http/1.1',
    'Http/1.1',
    'HTTP/1',
    'HTTP/1.',
    'HTTP/.1',
    'HTTP/11',
    'HTTP/1.10',
    'HTTP/01.1',
    'HTTP/1.01',
    'HTTP/1,1',
    'HTTP/1.1x',
    'HTTP/-1.1',
    'HTTP/+1.1',
    'HTTP/ 1.1',
    'HTTP /1.1',
    'HTTPS/1.1',
    'HTTP\\1.1',
    'HTTP/1.x',
    'HTTP/A.1',
    'ICY/1.1',
    'RTSP/1.0',
    'HTTP/1.1/1.1',
    'HTTP/1.1;x',
    'XHTTP/1.1',
    'HTTP/１.1',
  ].map((version) =>
    line(`version ${version}`, `GET ${TARGET} ${Buffer.from(version).toString('latin1')}`, 'refuse'),
  ),
  ...oddBytes
    .filter((code) => code !== 0x20 && code < 0x90)
    .map((code) =>
      line(
        `${hex(code)} behind the version`,
        `GET ${TARGET} HTTP/1.1${ch(code)}`,
        code === 13 || code < 33 ? 'either' : 'refuse',
        { readings: got() },
      ),
    ),
  line('HTTP/0.9, which has no version', `GET ${TARGET}`, 'refuse'),
  line('HTTP/0.9 with a space', `GET ${TARGET} `, 'refuse'),
];

const plain = (target: string): boolean => /^[\x21-\x7e]+$/.test(target);

/** RFC 9112 §3.2, and what RFC 3986 lets a target hold. */
const targets: RequestCase[] = [
  ...oddBytes
    .filter((code) => code !== 0x20)
    .map((code) => line(`target with ${hex(code)}`, `GET ${TARGET}${ch(code)}x HTTP/1.1`, 'refuse')),
  ...punctuation.map((code) => {
    const target = `${TARGET}${ch(code)}x`;
    const clean = "!$&'()*+,-.;=_~:@/?%".includes(ch(code)) && ch(code) !== '%';
    return line(`target with ${ch(code)}`, `GET ${target} HTTP/1.1`, clean ? 'pass' : 'either', {
      ...(plain(target) && clean && { readings: got('GET', target) }),
    });
  }),
  ...['/', '//', '/a//b', '/a;b=c', '/?', '/?a=b&c', '/%20', '/a%2Fb', '/?q=/../x'].map((target) =>
    line(`target ${target}`, `GET ${target} HTTP/1.1`, 'pass', { readings: got('GET', target) }),
  ),
  ...[
    '/%',
    '/%4',
    '/%zz',
    '/%00',
    '/a%0d%0aX:%20y',
    '/..',
    '/../x',
    '/a/../../x',
    '/a\\..\\b',
    '/%2e%2e/x',
  ].map((target) => line(`target ${target}`, `GET ${target} HTTP/1.1`, 'either')),
  ...[
    'case',
    'app.test',
    'app.test:80',
    '?a',
    '#a',
    'app.test/case',
    '@app.test',
    'javascript:1',
    'http:',
    'http:/case',
    'http://',
    'http:///case',
    'ftp://app.test/case',
    'http://us er@app.test/',
    'http://app.test:99999/',
    'http://app.test:x/',
    'http://[::1/',
    '*/',
  ].map((target) => line(`target ${target}`, `GET ${target} HTTP/1.1`, 'refuse')),
  line('the asterisk', 'OPTIONS * HTTP/1.1', 'pass', { readings: got('OPTIONS', '*') }),
  line('the asterisk with GET', 'GET * HTTP/1.1', 'refuse'),
  ...['http://app.test/case', 'HTTP://app.test/case', 'http://APP.test/case'].map((target) =>
    line(`absolute form ${target}`, `GET ${target} HTTP/1.1`, 'pass', { readings: got() }),
  ),
  line('absolute form with another Host', `GET http://app.test${TARGET} HTTP/1.1`, 'either', {
    text: request([], '', `GET http://app.test${TARGET} HTTP/1.1`, 'other.test'),
    readings: got(),
  }),
  line('absolute form with a user', `GET http://user@app.test${TARGET} HTTP/1.1`, 'either', {
    readings: got(),
  }),
  line('absolute form with a query alone', 'GET http://app.test?a HTTP/1.1', 'either', {
    readings: got('GET', '/?a'),
  }),
  line('absolute form with a second authority', 'GET http://app.test@other.test/case HTTP/1.1', 'refuse'),
  line('absolute form with a backslash', 'GET http://app.test\\@other.test/case HTTP/1.1', 'refuse'),
  line('a long target', `GET /${'a'.repeat(4_000)} HTTP/1.1`, 'pass', {
    readings: got('GET', `/${'a'.repeat(4_000)}`),
  }),
  ...[70_000, 300_000].map((length) =>
    line(`a target of ${length} bytes`, `GET /${'a'.repeat(length)} HTTP/1.1`, 'refuse'),
  ),
];

/** RFC 9112 §2.2 and RFC 9113 §3.4: what stands before and between. */
const around: RequestCase[] = [
  ...range(1, 2).map((count) => ({
    id: `request line: ${count} empty lines before it`,
    rule: 'RFC 9112 §2.2',
    text: '\r\n'.repeat(count) + request([], '', `GET ${TARGET} HTTP/1.1`),
    want: 'pass' as const,
    readings: got(),
  })),
  ...['\n', '\r', ' \r\n', '\r\n ', '\0', '\xef\xbb\xbf', '0\r\n\r\n', 'x\r\n'].map((before) => ({
    id: `request line: ${JSON.stringify(before)} before it`,
    rule: 'RFC 9112 §2.2',
    text: before + request([], '', `GET ${TARGET} HTTP/1.1`),
    want: 'either' as const,
    readings: got(),
  })),
  ...['\r\n ', '\r\n\t', '\r\n \r\n'].map((between) => ({
    id: `request line: ${JSON.stringify(between)} before the first field`,
    rule: 'RFC 9112 §2.2',
    text: `GET ${TARGET} HTTP/1.1${between}Host: app.test\r\n\r\n`,
    want: 'refuse' as const,
  })),
  {
    id: 'request line: the preface of HTTP/2 behind a request',
    rule: 'RFC 9113 §3.4',
    text: `${request([], '', `GET ${TARGET} HTTP/1.1`)}PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`,
    want: 'refuse',
    readings: got(),
  },
];

export const requestLines: readonly RequestCase[] = [
  ...methods,
  ...spaces,
  ...versions,
  ...targets,
  ...around,
];
