import { hex, oddBytes, punctuation, reads, request, TARGET, type RequestCase } from '../case.ts';

const ch = (code: number): string => String.fromCharCode(code);
const RULE = 'RFC 9112 §3.2';
const START = `GET ${TARGET} HTTP/1.1`;

const named = (host: string, want: RequestCase['want'], as?: string): RequestCase => ({
  id: `host: ${JSON.stringify(host)}`,
  rule: RULE,
  text: request([], '', START, host),
  want,
  readings: reads('', 'GET', TARGET, { host: as ?? host }),
});

const lines = (
  id: string,
  hosts: readonly string[],
  want: RequestCase['want'],
  start = START,
): RequestCase => ({
  id: `host: ${id}`,
  rule: RULE,
  text: request(hosts, '', start, null),
  want,
  readings: reads('', 'GET'),
});

/** Bytes that no host may hold (RFC 3986 §3.2.2). */
const bytes: RequestCase[] = [...oddBytes, ...punctuation]
  .filter((code) => !"-._~!$&'()*+,;=%:[]".includes(ch(code)))
  .map((code) => {
    const host = `app${ch(code)}.test`;
    return { ...named(host, 'refuse'), id: `host: with ${hex(code)}` };
  });

export const hosts: readonly RequestCase[] = [
  ...[
    'app.test',
    'app.test:80',
    'app.test:8080',
    '127.0.0.1',
    '127.0.0.1:80',
    '[::1]',
    '[::1]:80',
    'localhost',
  ].map((host) => named(host, 'pass')),
  ...bytes,
  ...[
    'a!b',
    'a$b',
    'a&b',
    "a'b",
    'a(b',
    'a)b',
    'a*b',
    'a+b',
    'a,b',
    'a;b',
    'a=b',
    'a~b',
    'a%41',
    'a_b',
    'app.test.',
  ].map((host) => named(host, 'either')),
  ...['app.test:', 'app.test:080', 'app.test:00000080'].map((host) => named(host, 'either')),
  ...[
    'app.test:99999',
    'app.test:-1',
    'app.test:+80',
    'app.test:80:80',
    'app.test:8 0',
    'app.test:http',
    'app.test:0x50',
    'user@app.test',
    'user:pass@app.test',
    'app.test, other.test',
    'app.test other.test',
    'app.test\tother.test',
    'app.test/path',
    'app.test?query',
    'app.test#fragment',
    'http://app.test',
    '//app.test',
    '[::1',
    '::1]',
    '[::1]x',
    '[::1]:x',
    '[app.test]',
    '[]',
    ':80',
    '.',
    '..',
    'app..test',
    '.app.test',
    'app.test%',
    'app.test%0d%0aX: y',
    'app.test\\@other.test',
    `${'a'.repeat(10_000)}.test`,
  ].map((host) =>
    named(host, host.includes('..') || host.startsWith('.') || host === '[app.test]' ? 'either' : 'refuse'),
  ),
  lines('none', [], 'refuse'),
  lines('none in HTTP/1.1 with an absolute target', [], 'refuse', `GET http://app.test${TARGET} HTTP/1.1`),
  lines('the same twice', ['Host: app.test', 'Host: app.test'], 'refuse'),
  lines('two that differ', ['Host: app.test', 'Host: other.test'], 'refuse'),
  lines('two that differ in case', ['Host: app.test', 'host: APP.test'], 'refuse'),
  lines('one with white space before the colon', ['Host : app.test'], 'refuse'),
  lines('a second one with white space before the colon', ['Host: app.test', 'Host : other.test'], 'refuse'),
  lines('a second one that is folded', ['Host: app.test', ' Host: other.test'], 'refuse'),
  lines('a second one behind a line feed', ['Host: app.test', 'X: y\nHost: other.test'], 'refuse'),
  lines('a second one behind a carriage return', ['Host: app.test', 'X: y\rHost: other.test'], 'either'),
  lines('a second one that is empty', ['Host: app.test', 'Host:'], 'refuse'),
  lines('a first one that is empty', ['Host:', 'Host: app.test'], 'refuse'),
  lines('a second one with an underscore', ['Host: app.test', 'Host_: other.test'], 'pass'),
  lines('with white space around', ['Host: \t app.test \t '], 'pass'),
  { ...lines('empty', ['Host:'], 'either'), readings: reads('', 'GET', TARGET, { host: '' }) },
  {
    ...lines(
      'absolute target for another',
      ['Host: app.test'],
      'either',
      `GET http://other.test${TARGET} HTTP/1.1`,
    ),
    readings: reads('', 'GET', TARGET, { host: 'other.test' }),
  },
];
