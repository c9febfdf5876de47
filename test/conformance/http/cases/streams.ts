import {
  oddBytes,
  range,
  reads,
  smuggled,
  TARGET,
  type StreamCase,
  type Want,
  type Wanted,
} from '../case.ts';

type Fields = StreamCase['fields'];

const ch = (code: number): string => String.fromCharCode(code);
const pseudo = (overrides: Readonly<Record<string, string | undefined>> = {}): Fields =>
  Object.entries({
    ':method': 'POST',
    ':scheme': 'http',
    ':authority': 'app.test',
    ':path': TARGET,
    ...overrides,
  }).filter((field): field is [string, string] => field[1] !== undefined);

const stream = (
  id: string,
  fields: Fields,
  want: Want,
  rest: Partial<StreamCase> & { readonly wanted?: Partial<Wanted> } = {},
): StreamCase => {
  const { wanted = {}, ...others } = rest;
  const body = (rest.data ?? []).join('');
  return {
    id: `HTTP/2: ${id}`,
    rule: 'RFC 9113 §8',
    fields,
    want,
    readings: reads(body, wanted.method ?? 'POST', wanted.target ?? TARGET, wanted),
    ...others,
  };
};
const withField = (
  name: string,
  value: string,
  want: Want,
  rest: Parameters<typeof stream>[3] = {},
): StreamCase =>
  stream(`${JSON.stringify(name)}: ${JSON.stringify(value)}`, [...pseudo(), [name, value]], want, rest);

/** Text behind a line end would be a field, or a request, of its own in HTTP/1.1 (RFC 9113 §8.2.1). */
const injections: StreamCase[] = [
  ...['\r\n', '\n', '\r', '\0', '\r\n\r\n'].flatMap((end) => [
    withField('x-odd', `a${end}Transfer-Encoding: chunked`, 'refuse', { data: [`0\r\n\r\n${smuggled}`] }),
    withField('x-odd', `a${end}Content-Length: 0`, 'refuse', { data: ['hello'] }),
    withField(`x-odd: a${end}transfer-encoding`, 'chunked', 'refuse', { data: ['hello'] }),
    stream(
      `${JSON.stringify(end)} in the path`,
      pseudo({ ':path': `${TARGET} HTTP/1.1${end}X: y` }),
      'refuse',
    ),
    stream(
      `${JSON.stringify(end)} in the authority`,
      pseudo({ ':authority': `app.test${end}X: y` }),
      'refuse',
    ),
    stream(
      `${JSON.stringify(end)} in the method`,
      pseudo({ ':method': `GET ${TARGET} HTTP/1.1${end}X: y` }),
      'refuse',
    ),
    stream(`${JSON.stringify(end)} in the scheme`, pseudo({ ':scheme': `http${end}X: y` }), 'refuse'),
    withField('cookie', `a=b${end}X: y`, 'refuse'),
    withField('host', `app.test${end}X: y`, 'refuse'),
    withField('content-length', `5${end}X: y`, 'refuse', { data: ['hello'] }),
  ]),
  ...oddBytes.flatMap((code) => [
    withField(
      'x-odd',
      `a${ch(code)}b`,
      code === 9 || (code >= 32 && code !== 127)
        ? 'pass'
        : code === 0 || code === 10 || code === 13
          ? 'refuse'
          : 'either',
    ),
    withField(`x-o${ch(code)}dd`, 'a', 'refuse'),
  ]),
  ...[' a', 'a ', '\ta', 'a\t'].map((value) => withField('x-odd', value, 'either')),
];

const names: StreamCase[] = [
  ...[
    'X-Odd',
    'x-Odd',
    'Transfer-encoding',
    'CONTENT-LENGTH',
    '',
    ' ',
    'x odd',
    'x:odd',
    ':odd',
    'x-odd:',
    'transfer-encoding ',
    ' transfer-encoding',
    'transfer-encoding:',
    'content-length ',
  ].map((name) => withField(name, '5', 'refuse', { data: ['hello'] })),
  ...[
    ['transfer-encoding', 'chunked'],
    ['transfer-encoding', 'identity'],
    ['connection', 'close'],
    ['connection', 'x-odd'],
    ['keep-alive', 'timeout=5'],
    ['proxy-connection', 'close'],
    ['upgrade', 'websocket'],
    ['upgrade', 'h2c'],
    ['http2-settings', 'AAMAAABkAARAAAAAAAIAAAAA'],
    ['te', 'gzip'],
    ['te', 'trailers, deflate'],
  ].map(([name = '', value = '']) =>
    withField(name, value, name === 'http2-settings' ? 'either' : 'refuse', {
      data: [`0\r\n\r\n${smuggled}`],
    }),
  ),
  withField('te', 'trailers', 'pass'),
  withField('transfer_encoding', 'chunked', 'either', { data: [`0\r\n\r\n${smuggled}`] }),
  withField('content_length', '0', 'either', { data: ['hello'] }),
  withField('expect', '100-continue', 'pass', { data: ['hello'] }),
  withField('x-plain', 'value', 'pass'),
  withField('x-forwarded-for', '1.2.3.4', 'pass'),
  stream('crumbs of a cookie', [...pseudo(), ['cookie', 'a=b'], ['cookie', 'c=d']], 'pass'),
];

const pseudos: StreamCase[] = [
  ...['GET', 'DELETE', 'PROPFIND', 'get', 'M-SEARCH'].map((method) =>
    stream(`method ${method}`, pseudo({ ':method': method }), 'pass', { wanted: { method } }),
  ),
  ...['', ' ', 'G T', 'GET ', ' GET', 'GET /smuggled HTTP/1.1', 'GE\tT', 'GET:', 'G(T', 'G\xffT'].map(
    (method) => stream(`method ${JSON.stringify(method)}`, pseudo({ ':method': method }), 'refuse'),
  ),
  ...['/', '/a?b=c', '/a//b', '/%20'].map((path) =>
    stream(`path ${path}`, pseudo({ ':path': path }), 'pass', { wanted: { target: path } }),
  ),
  ...[
    '',
    ' ',
    'case',
    '/a b',
    '/ HTTP/1.1',
    '/case HTTP/1.1 ',
    '/\t',
    '/a\x7f',
    '/a\xff',
    '*',
    'http:',
    '@other.test',
    '?a',
    '#a',
  ].map((path) => stream(`path ${JSON.stringify(path)}`, pseudo({ ':path': path }), 'refuse')),
  ...['http://other.test/case', '//other.test/case', '/case#x', '/../x', '/a\\b', '/"', '/<']
    .map((path) => ({
      ...stream(`path ${JSON.stringify(path)}`, pseudo({ ':path': path }), 'either'),
      readings: reads('', 'POST', path),
    }))
    .map((item) =>
      item.id.includes('http:') || item.id.includes('..') ? { ...item, want: 'refuse' as const } : item,
    ),
  ...[
    '',
    ' ',
    'a b',
    'app.test/',
    'app.test/case',
    'user@app.test',
    'app.test:x',
    'app.test:99999',
    'app.test,other.test',
    'app.test#x',
    'app.test?x',
    'app.test\t',
    '[::1',
    'app\xff.test',
    'app.test\x01',
  ].map((authority) =>
    stream(
      `authority ${JSON.stringify(authority)}`,
      pseudo({ ':authority': authority }),
      /[,]|x01$/.test(authority) ? 'either' : 'refuse',
      { wanted: { host: authority } },
    ),
  ),
  ...['', ' ', 'ftp', 'http://other.test', 'http ', 'HTTP/1.1', '-'].map((scheme) =>
    stream(`scheme ${JSON.stringify(scheme)}`, pseudo({ ':scheme': scheme }), 'either'),
  ),
  ...[':method', ':scheme', ':path', ':authority'].map((name) =>
    stream(`without ${name}`, pseudo({ [name]: undefined }), 'refuse'),
  ),
  stream('host for the authority', [...pseudo({ ':authority': undefined }), ['host', 'app.test']], 'pass'),
  stream('host and authority', [...pseudo(), ['host', 'app.test']], 'pass'),
  stream('host is not the authority', [...pseudo(), ['host', 'other.test']], 'either'),
  stream(
    'host twice',
    [...pseudo({ ':authority': undefined }), ['host', 'app.test'], ['host', 'app.test']],
    'refuse',
  ),
  stream('an empty host', [...pseudo(), ['host', '']], 'either'),
  ...[':method', ':scheme', ':path', ':authority'].map((name) =>
    stream(
      `${name} twice`,
      [...pseudo(), [name, (pseudo().find(([known]) => known === name) as [string, string])[1]]],
      'refuse',
    ),
  ),
  stream(
    'a pseudo-header behind a field',
    [...pseudo({ ':path': undefined }), ['x-odd', 'a'], [':path', TARGET]],
    'refuse',
  ),
  stream('an unknown pseudo-header', [...pseudo(), [':odd', 'a']], 'refuse'),
  stream('a status', [...pseudo(), [':status', '200']], 'refuse'),
  stream('a protocol without CONNECT', [...pseudo(), [':protocol', 'websocket']], 'refuse'),
  stream(
    'CONNECT',
    [
      [':method', 'CONNECT'],
      [':authority', 'app.test:80'],
    ],
    'refuse',
  ),
  stream('CONNECT with a path', pseudo({ ':method': 'CONNECT' }), 'refuse'),
  stream('the asterisk', pseudo({ ':method': 'OPTIONS', ':path': '*' }), 'pass', {
    wanted: { method: 'OPTIONS', target: '*' },
  }),
];

const bodies: StreamCase[] = [
  stream('a body', pseudo(), 'pass', { data: ['hello'] }),
  stream('a body in pieces', pseudo(), 'pass', { data: ['he', '', 'llo', ''] }),
  stream('no body', pseudo(), 'pass'),
  stream('an empty body', pseudo(), 'pass', { data: [''] }),
  stream('a body that looks like chunks', pseudo(), 'pass', { data: [`0\r\n\r\n${smuggled}`] }),
  stream('a body that looks like chunks, in pieces', pseudo(), 'pass', { data: ['0\r\n', '\r\n', smuggled] }),
  stream(
    'a body that looks like a request',
    [...pseudo(), ['content-length', String(smuggled.length)]],
    'pass',
    { data: [smuggled] },
  ),
  stream('a body with GET', pseudo({ ':method': 'GET' }), 'pass', {
    data: [smuggled],
    wanted: { method: 'GET' },
  }),
  stream('a length', [...pseudo(), ['content-length', '5']], 'pass', { data: ['hello'] }),
  ...['0', '4', '6', '50', '', '+5', '-5', '5 ', '0x5', '5,5', '5, 5', '18446744073709551621', 'five']
    .map((length) =>
      stream(
        `length ${JSON.stringify(length)} of five bytes`,
        [...pseudo(), ['content-length', length]],
        'refuse',
        { data: ['hello'] },
      ),
    )
    .map((item) => (/"5, ?5"|"5 "/.test(item.id) ? { ...item, want: 'either' as const } : item)),
  ...range(1, 3).map((length) =>
    stream(`length ${length} of no bytes`, [...pseudo(), ['content-length', String(length)]], 'refuse'),
  ),
  stream('two lengths', [...pseudo(), ['content-length', '5'], ['content-length', '5']], 'either', {
    data: ['hello'],
  }),
  stream(
    'two lengths that differ',
    [...pseudo(), ['content-length', '5'], ['content-length', '0']],
    'refuse',
    { data: ['hello'] },
  ),
  stream('a length in the trailers', pseudo(), 'either', {
    data: ['hello'],
    trailers: [['content-length', '0']],
  }),
  stream('trailers', pseudo(), 'pass', { data: ['hello'], trailers: [['x-sum', '1']] }),
  ...[
    ['transfer-encoding', 'chunked'],
    ['connection', 'close'],
    ['host', 'other.test'],
    [':path', '/smuggled'],
    ['x-odd', 'a\r\nX: y'],
    ['x-odd', 'a\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: app.test\r\n\r\n'],
    ['x\r\n\r\nGET /smuggled HTTP/1.1\r\nx', 'a'],
    ['X-Odd', 'a'],
    ['authorization', 'Bearer x'],
  ].map(([name = '', value = '']) =>
    stream(
      `trailer ${JSON.stringify(`${name}: ${value}`)}`,
      pseudo(),
      /^(host|auth)/.test(name) ? 'either' : 'refuse',
      { data: ['hello'], trailers: [[name, value]] },
    ),
  ),
  stream('many fields', [...pseudo(), ...range(0, 79).map((i): [string, string] => [`x-${i}`, 'a'])], 'pass'),
  stream(
    '5 000 fields',
    [...pseudo(), ...range(0, 4_999).map((i): [string, string] => [`x-${i}`, 'a'])],
    'refuse',
  ),
];

export const streamCases: readonly StreamCase[] = [...injections, ...names, ...pseudos, ...bodies];
