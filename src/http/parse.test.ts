import assert from 'node:assert/strict';
import test from 'node:test';
import { catalogue } from '../errors.ts';
import { fieldHash, KIND } from './fields.ts';
import { parseRequest, parseResponse } from './parse.ts';
import {
  limits,
  parse,
  refused,
  refusedResponse,
  request,
  response,
  summary,
  wire,
} from './parse.testing.ts';
import { Head } from './head.ts';

/** A request with these field lines besides Host. */
const withFields = (...lines: string[]): string =>
  `POST /a HTTP/1.1\r\nHost: a\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;

test('a plain request is read into its parts', () => {
  const head = request('GET /a/b?c=d HTTP/1.1\r\nHost: example.com:80\r\nAccept:  */* \t\r\nX:\r\n\r\nrest');
  assert.equal(head.method, 'GET');
  assert.equal(head.target, '/a/b?c=d');
  assert.equal(head.http10, false);
  assert.equal(head.contentLength, -1);
  assert.equal(head.value(head.host), 'example.com:80');
  assert.deepEqual(head.lines(), [
    ['host', 'example.com:80'],
    ['accept', '*/*'],
    ['x', ''],
  ]);
  assert.equal(head.text.length, head.length);
  assert.equal(head.text.endsWith('\r\n\r\n'), true);
});

test('methods are tokens in any case, and nothing else', () => {
  for (const method of ['GET', 'get', 'M-SEARCH', "X!#$%&'*+.^_`|~1"]) {
    assert.equal(request(`${method} / HTTP/1.1\r\nHost: a\r\n\r\n`).method, method);
  }
  for (const method of ['', ' GET', 'G(T', 'GE\tT', 'G\0T', 'G\xe9T', '"GET"', 'GET\r', '{}']) {
    assert.equal(refused(`${method} / HTTP/1.1\r\nHost: a\r\n\r\n`), 'bad_request', JSON.stringify(method));
  }
});

test('the request line has exactly two single spaces and one version', () => {
  for (const line of [
    'GET  / HTTP/1.1',
    'GET /  HTTP/1.1',
    'GET / HTTP/1.1 ',
    'GET\t/ HTTP/1.1',
    'GET / HTTP/1.1\t',
    'GET /a b HTTP/1.1',
    'GET /',
    'GET',
    'GET / ',
    'GET / http/1.1',
    'GET / HTTP/1,1',
    'GET / HTTP/1.10',
    'GET / HTTP/11',
    'GET / HTTP/ 1.1',
    'GET / HTTP/1. 1',
    'GET / XTTP/1.1',
    'GET / HTTP/1.1 HTTP/1.1',
    'GET / HTTP/1.\xb2',
  ]) {
    assert.equal(refused(`${line}\r\nHost: a\r\n\r\n`), 'bad_request', line);
  }
});

test('HTTP/0.9 requests are refused at once, not waited for', () => {
  assert.equal(refused('GET /\r\n'), 'bad_request');
  assert.equal(refused('GET / \r\n'), 'bad_request');
  assert.equal(refused('GET /\n'), 'bad_request');
});

test('versions other than 1.0 and 1.1 are told apart from garbage', () => {
  for (const version of ['0.9', '1.2', '1.9', '2.0', '3.0', '9.9'])
    assert.equal(refused(`GET / HTTP/${version}\r\nHost: a\r\n\r\n`), 'version_unsupported');
  assert.equal(refused('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), 'version_unsupported');
  assert.equal(request('GET / HTTP/1.0\r\n\r\n').http10, true);
});

test('a line ends with CRLF and with nothing else', () => {
  for (const text of [
    'GET / HTTP/1.1\nHost: a\r\n\r\n',
    'GET / HTTP/1.1\rHost: a\r\n\r\n',
    'GET / HTTP/1.1\r\r\nHost: a\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a\n\r\n',
    'GET / HTTP/1.1\r\nHost: a\r\n\n',
    'GET / HTTP/1.1\r\nHost: a\n\n',
    'GET / HTTP/1.1\r\nHost: a\r\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a\r\n\rX: b\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a\r\n\r\r\n',
  ]) {
    assert.equal(refused(text), 'bad_request', JSON.stringify(text));
  }
});

test('folded lines are refused', () => {
  for (const fold of [' ', '\t', '  x', '\tchunked', ' : x']) {
    assert.equal(refused(withFields('X: a', `${fold}b`)), 'bad_request');
    assert.equal(refused(`GET / HTTP/1.1\r\n${fold}Host: a\r\n\r\n`), 'bad_request');
  }
});

test('a field name is a token with its colon right behind it', () => {
  for (const line of [
    'X : a',
    'X\t: a',
    ' X: a',
    ': a',
    'X',
    'X a',
    '',
    'X\0Y: a',
    'X\x0bY: a',
    'X(: a',
    'X\xe9: a',
    'X"Y": a',
    'X,Y: a',
    'X;Y: a',
    'X[Y]: a',
    'X@Y: a',
    'X{}: a',
    'X\x7f: a',
    'Content-Length : 5',
    'Content-Length\xa0: 5',
    'Transfer-Encoding\x0b: chunked',
  ]) {
    const text = `POST / HTTP/1.1\r\n${line}\r\nHost: a\r\n\r\n`;
    // The empty line ends the head instead, without a Host.
    assert.equal(refused(text), line === '' ? 'bad_host' : 'bad_request', JSON.stringify(line));
  }
});

test('values hold no control byte but the tab', () => {
  for (let code = 0; code < 256; code++) {
    const control = (code < 32 && code !== 9) || code === 127;
    const text = withFields(`X: a${String.fromCharCode(code)}b`);
    assert.equal(refused(text), control ? 'bad_request' : 'accepted', `byte ${code}`);
  }
});

test('bytes above ASCII in a value come through as they were sent', () => {
  const head = request(withFields('X: \xe9\xff\x80'));
  assert.equal(head.get('x'), '\xe9\xff\x80');
});

test('surrounding white space is no part of a value', () => {
  assert.equal(request(withFields('X:\t  a \t b\t ')).get('x'), 'a \t b');
  assert.equal(request(withFields('X:  \t ')).get('x'), '');
});

test('a field that the parser knows is found as any other, and is absent where the request has none', () => {
  const head = request(withFields('Traceparent: a', 'X: y', 'TRACEPARENT:  b '));
  assert.equal(head.get('traceparent'), 'a, b');
  assert.equal(head.get('host'), 'a');
  assert.equal(head.get('x-request-id'), undefined);
  assert.equal(head.get('x'), 'y');
});

test('several Cookie lines are joined as one line that parts cookies with semicolons', () => {
  assert.equal(request(withFields('Cookie: a=1,2', 'X: y', 'cookie: b=3')).get('cookie'), 'a=1,2; b=3');
});

test('the target is visible ASCII without the bytes that no URI may hold', () => {
  for (let code = 0; code < 256; code++) {
    const wrong = code <= 32 || code >= 127 || '"<>#'.includes(String.fromCharCode(code));
    const text = `GET /a${String.fromCharCode(code)}b HTTP/1.1\r\nHost: a\r\n\r\n`;
    assert.equal(refused(text), wrong ? 'bad_request' : 'accepted', `byte ${code}`);
  }
});

test('HTTP/1.1 demands one Host, HTTP/1.0 allows none', () => {
  assert.equal(refused('GET / HTTP/1.1\r\n\r\n'), 'bad_host');
  assert.equal(refused('GET / HTTP/1.1\r\nX: a\r\n\r\n'), 'bad_host');
  assert.equal(refused('GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n'), 'bad_host');
  assert.equal(refused('GET / HTTP/1.1\r\nHost: a\r\nhOST: b\r\n\r\n'), 'bad_host');
  assert.equal(refused('GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n'), 'bad_host');
  assert.equal(request('GET / HTTP/1.0\r\n\r\n').host, -1);
});

test('CONNECT is not implemented, whatever its target', () => {
  for (const target of ['example.com:443', '/', '*'])
    assert.equal(refused(`CONNECT ${target} HTTP/1.1\r\nHost: a\r\n\r\n`), 'not_implemented');
  assert.equal(refused('connect / HTTP/1.1\r\nHost: a\r\n\r\n'), 'accepted');
});

test('Content-Length is a row of digits, once', () => {
  assert.equal(request(withFields('Content-Length: 0')).contentLength, 0);
  assert.equal(request(withFields('Content-Length: 42')).contentLength, 42);
  assert.equal(request(withFields('content-LENGTH:\t007 ')).contentLength, 7);
  assert.equal(request(withFields(`Content-Length: ${'9'.repeat(15)}`)).contentLength, 999_999_999_999_999);
  for (const value of [
    '',
    '+5',
    '-5',
    '-0',
    '5,5',
    '5, 5',
    '5 5',
    '5;5',
    '0x5',
    '5.0',
    '5e1',
    'five',
    '\xd9\xa1',
    '1'.repeat(16),
    '9'.repeat(400),
    '5\t6',
    '5\xa0',
    '"5"',
  ]) {
    const text = `POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: ${value}\r\n\r\n`;
    assert.equal(refused(text), 'bad_framing', JSON.stringify(value));
  }
  assert.equal(refused(withFields('Content-Length: 5', 'Content-Length: 6')), 'bad_framing');
  assert.equal(refused(withFields('Content-Length: 5', 'X: y', 'Content-Length: 5')), 'bad_framing');
  assert.equal(refused(withFields('Content-Length: 5', 'CONTENT-length: 5')), 'bad_framing');
});

test('Transfer-Encoding is chunked and nothing else', () => {
  assert.equal(request(withFields('Transfer-Encoding: chunked')).chunked, true);
  assert.equal(request(withFields('TRANSFER-encoding:CHUNKED  ')).chunked, true);
  for (const value of ['gzip, chunked', 'gzip,chunked', 'x-custom , chunked', 'identity, chunked'])
    assert.equal(refused(withFields(`Transfer-Encoding: ${value}`)), 'not_implemented', value);
});

/** Transfer-Encoding as the published request-smuggling lists write it (RFC 9112 §11.2). */
const gadgets: readonly string[] = [
  'Transfer-Encoding:',
  'Transfer-Encoding: ',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: chunkedx',
  'Transfer-Encoding: x chunked',
  'Transfer-Encoding: chunked x',
  'Transfer-Encoding: chunked;q=1',
  'Transfer-Encoding: chunked;',
  'Transfer-Encoding: chunked,',
  'Transfer-Encoding: ,chunked',
  'Transfer-Encoding: , chunked',
  'Transfer-Encoding: chunked, chunked',
  'Transfer-Encoding: chunked,chunked',
  'Transfer-Encoding: chunked, identity',
  'Transfer-Encoding: chunked, gzip',
  'Transfer-Encoding: chunked, cow',
  'Transfer-Encoding: identity',
  'Transfer-Encoding: cow',
  'Transfer-Encoding: gzip',
  'Transfer-Encoding: "chunked"',
  "Transfer-Encoding: 'chunked'",
  'Transfer-Encoding: (chunked)',
  'Transfer-Encoding: chunk',
  'Transfer-Encoding: chunked\xa0',
  'Transfer-Encoding: \xa0chunked',
  'Transfer-Encoding: chunked\xff',
  'Transfer-Encoding: \xffchunked',
  'Transfer-Encoding: chun\xe7ked',
  'Transfer-Encoding: =?iso-8859-1?B?Y2h1bmtlZA==?=',
  'Transfer-Encoding: chunked HTTP/1.1',
  'Transfer-Encoding: 0',
  'Transfer-Encoding: true',
  'Transfer-Encoding: chunked / chunked',
  'Transfer-Encoding: gzip;q=0, chunked',
  'Transfer-Encoding: gzip, deflate, chunked',
  'Transfer-Encoding: gzip,, chunked',
  'Transfer-Encoding: chunked\t',
  'Transfer-Encoding: chunked \t ',
  'Transfer-Encoding:\tchunked',
  'Transfer-Encoding: \t chunked',
  'Transfer_Encoding: chunked',
  'transfer_encoding: chunked',
  'TRANSFER_ENCODING: CHUNKED',
  'Content_Length: 5',
  'content_length: 0',
];

/** The same with bytes that may stand nowhere: these break the grammar, not only the framing. */
const brokenGadgets: readonly string[] = [
  'Transfer-Encoding: \x0bchunked',
  'Transfer-Encoding: chunked\x0b',
  'Transfer-Encoding: \x0cchunked',
  'Transfer-Encoding: chunked\x00',
  'Transfer-Encoding: \x00chunked',
  'Transfer-Encoding: chun\x00ked',
  'Transfer-Encoding: chunked\x08',
  'Transfer-Encoding: \x7fchunked',
  'Transfer-Encoding: chunked\r',
  'Transfer-Encoding: \rchunked',
  'Transfer-Encoding: \nchunked',
  'Transfer-Encoding:\n chunked',
  'Transfer-Encoding: chunked\n',
  'Transfer-Encoding:\r\n chunked',
  'Transfer-Encoding:\r\n\tchunked',
  'Transfer-Encoding : chunked',
  'Transfer-Encoding\t: chunked',
  'Transfer-Encoding\x0b: chunked',
  'Transfer-Encoding\x00: chunked',
  'Transfer-Encoding\xa0: chunked',
  ' Transfer-Encoding: chunked',
  '\tTransfer-Encoding: chunked',
  '\x0bTransfer-Encoding: chunked',
  'X: y\nTransfer-Encoding: chunked',
  'X: y\rTransfer-Encoding: chunked',
  'X: y\r Transfer-Encoding: chunked',
  'Transfer-Encoding chunked',
  'Transfer\\-Encoding: chunked',
  'Transfer-Encoding\r: chunked',
  'Transfer-Encoding\n: chunked',
  'Transfer Encoding: chunked',
  'Transfer-Encoding\\: chunked',
  '"Transfer-Encoding": chunked',
  'Transfer-\xc9ncoding: chunked',
];

test('every way to write Transfer-Encoding that two readers could read in two ways is refused', () => {
  for (const gadget of gadgets) {
    assert.equal(refused(withFields(gadget)), 'bad_framing', JSON.stringify(gadget));
    assert.equal(refused(withFields('Content-Length: 5', gadget)), 'bad_framing', JSON.stringify(gadget));
    assert.equal(refused(withFields(gadget, 'Content-Length: 5')), 'bad_framing', JSON.stringify(gadget));
  }
  for (const gadget of brokenGadgets) {
    // Gadgets that begin with an empty value fail by their framing first.
    const code = gadget.startsWith('Transfer-Encoding:\r\n') ? 'bad_framing' : 'bad_request';
    assert.equal(refused(withFields(gadget)), code, JSON.stringify(gadget));
    assert.equal(refused(withFields('Content-Length: 5', gadget)), code, JSON.stringify(gadget));
  }
});

test('a second Transfer-Encoding line is refused, equal or not', () => {
  for (const [first, second] of [
    ['chunked', 'chunked'],
    ['chunked', 'identity'],
    ['identity', 'chunked'],
    ['chunked', ''],
    ['gzip, chunked', 'chunked'],
  ]) {
    const verdict = refused(withFields(`Transfer-Encoding: ${first}`, `Transfer-Encoding: ${second}`));
    assert.notEqual(verdict, 'accepted', `${first} + ${second}`);
  }
});

test('Transfer-Encoding and Content-Length do not stand together, in any order', () => {
  assert.equal(refused(withFields('Transfer-Encoding: chunked', 'Content-Length: 5')), 'bad_framing');
  assert.equal(refused(withFields('Content-Length: 0', 'Transfer-Encoding: chunked')), 'bad_framing');
});

test('Transfer-Encoding has no place in HTTP/1.0', () => {
  assert.equal(refused('POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n'), 'bad_framing');
  assert.equal(
    refused('POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n'),
    'bad_framing',
  );
});

test('the only expectation is 100-continue, and HTTP/1.0 has none', () => {
  assert.equal(request(withFields('Expect: 100-Continue')).expectContinue, true);
  assert.equal(request('POST / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n').expectContinue, false);
  for (const value of ['', '100', '100-continue, x', '100-continue;a', '200-ok', '100-continue\xa0'])
    assert.equal(refused(withFields(`Expect: ${value}`)), 'expectation_failed', value);
  assert.equal(refused(withFields('Expect: 100-continue', 'Expect: 100-continue')), 'expectation_failed');
});

test('Connection is read as a list over all its lines', () => {
  const head = request(withFields('Connection: keep-alive, X-One ,,\t', 'connection: x-two,CLOSE'));
  assert.equal(head.close, true);
  assert.equal(head.keepAlive, true);
  assert.deepEqual(head.connectionNames, ['x-one', 'x-two']);
  assert.equal(request(withFields('Connection: Upgrade')).upgrade, true);
  assert.equal(request(withFields('Connection: close')).close, true);
  assert.equal(request(withFields('Connection: keep-alive')).keepAlive, true);
  const noBreakSpace = request(withFields('Connection: \xa0close'));
  assert.equal(noBreakSpace.close, false);
});

test('Connection must not name end-to-end fields that the gateway needs', () => {
  for (const name of [
    'Host',
    'Content-Length',
    'Transfer-Encoding',
    'Trailer',
    'Authorization',
    'Cookie',
    'Set-Cookie',
    'X-Forwarded-For',
    'X-Forwarded-Proto',
    'X-Forwarded-Host',
    'Forwarded',
  ]) {
    assert.equal(refused(withFields(`Connection: close, ${name}`)), 'bad_request', name);
  }
  const many = Array.from({ length: 33 }, (_, i) => `x-${i}`).join(',');
  assert.equal(refused(withFields(`Connection: ${many}`)), 'bad_request');
});

test('a head that grows beyond its limits gets the status that says so', () => {
  const use = { ...limits, maxHeadBytes: 200, maxUriBytes: 50 };
  assert.equal(refused(`GET /${'a'.repeat(49)} HTTP/1.1\r\nHost: a\r\n\r\n`, use), 'accepted');
  assert.equal(refused(`GET /${'a'.repeat(50)} HTTP/1.1\r\nHost: a\r\n\r\n`, use), 'uri_too_long');
  assert.equal(refused(`GET /${'a'.repeat(51)}`, use), 'uri_too_long');
  const line = (size: number): string => `GET / HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(size)}\r\n\r\n`;
  const room = 200 - line(0).length;
  assert.equal(refused(line(room), use), 'accepted');
  assert.equal(refused(line(room + 1), use), 'head_too_large');
  assert.equal(refused(`GET / HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(500)}`, use), 'head_too_large');
  assert.equal(refused(`GET / HTTP/1.1\r\nHost: a\r\n${'x'.repeat(500)}`, use), 'head_too_large');
  assert.equal(refused('G'.repeat(500), use), 'not_implemented');
  assert.equal(catalogue.uri_too_long.status, 414);
  assert.equal(catalogue.head_too_large.status, 431);
});

test('a method longer than any known one gets 501, and one header name has a limit far below that of the head', () => {
  const use = { ...limits, maxMethodBytes: 8, maxHeaderNameBytes: 16 };
  const method = (size: number): string => `${'M'.repeat(size)} / HTTP/1.1\r\nHost: a\r\n\r\n`;
  assert.equal(refused(method(8), use), 'accepted');
  assert.equal(refused(method(9), use), 'not_implemented');
  assert.equal(refused('M'.repeat(9), use), 'not_implemented', 'before its end has come');
  const named = (size: number): string => withFields(`${'x'.repeat(size)}: y`);
  assert.equal(refused(named(16), use), 'accepted');
  assert.equal(refused(named(17), use), 'head_too_large');
  assert.equal(refused(`GET / HTTP/1.1\r\nHost: a\r\n${'x'.repeat(17)}`, use), 'head_too_large');
  assert.equal(catalogue.not_implemented.status, 501);
});

test('methods of RTSP and WebDAV with a version of HTTP are unknown methods like any other', () => {
  for (const method of ['ANNOUNCE', 'DESCRIBE', 'SETUP', 'PLAY', 'TEARDOWN', 'PROPFIND', 'M-SEARCH', 'BREW'])
    assert.equal(refused(`${method} / HTTP/1.1\r\nHost: a\r\n\r\n`), 'accepted', method);
  assert.equal(refused('ANNOUNCE / RTSP/1.0\r\nHost: a\r\n\r\n'), 'bad_request');
});

test('more fields than the limit are refused, exactly as many are not', () => {
  const fields = (count: number): string =>
    withFields(...Array.from({ length: count - 1 }, (_, i) => `X-${i}: y`));
  assert.equal(refused(fields(100)), 'accepted');
  assert.equal(refused(fields(101)), 'head_too_large');
  assert.equal(refused(fields(3), undefined, 2), 'head_too_large');
});

test('a head cut at any byte gives the same result as the whole', () => {
  const heads = [
    'GET /a?b HTTP/1.1\r\nHost: example.com\r\nConnection: keep-alive, x-a\r\nX-A: b\r\n\r\n',
    'POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n',
    'POST /a HTTP/1.0\r\nContent-Length: 12\r\n\r\n',
    ...[...gadgets, ...brokenGadgets].slice(0, 60).map((gadget) => withFields(gadget)),
    'GET /\r\n\r\n',
    'GET / HTTP/1.1\nHost: a\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a\r\n\n',
    'GET / HTTP/1.1\r\nHost: a\r\n\r\r',
    'GET / HTTP/2.0\r\n\r\n',
    'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n',
  ];
  const shape = (text: string): unknown => {
    const result = parse(parseRequest, text);
    return typeof result === 'string' ? result : summary(result);
  };
  for (const text of heads) {
    const whole = shape(text);
    assert.notEqual(whole, 'more');
    for (let cut = 0; cut < text.length; cut++) {
      const part = shape(text.slice(0, cut));
      // Early verdicts are welcome, as long as they are the final ones.
      if (part !== 'more') assert.deepEqual(part, whole, `${JSON.stringify(text)} cut at ${cut}`);
    }
  }
});

test('a head is found at any offset of the buffer', () => {
  const text = 'GET /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n';
  const bytes = wire(`noise${text}abcGET / HTTP/1.1\r\n`);
  const head = new Head(100);
  assert.equal(parseRequest(bytes, 5, bytes.length, head, limits), 1);
  head.text = bytes.toString('latin1', 5, 5 + head.length);
  assert.equal(head.target, '/x');
  assert.equal(head.contentLength, 3);
  assert.equal(head.length, text.length);
});

test('a reused head remembers nothing of the message before', () => {
  const head = new Head(100);
  const use = limits;
  const first = wire(
    'POST / HTTP/1.0\r\nHost: a\r\nConnection: close, keep-alive, upgrade, x-a\r\nContent-Length: 9\r\n\r\n',
  );
  assert.equal(parseRequest(first, 0, first.length, head, use), 1);
  const second = wire('GET /b HTTP/1.1\r\nHost: b\r\n\r\n');
  assert.equal(parseRequest(second, 0, second.length, head, use), 1);
  head.text = second.toString('latin1');
  assert.deepEqual(summary(head), summary(request('GET /b HTTP/1.1\r\nHost: b\r\n\r\n')));
});

/**
 * Another token with the hash of `name`: the hash is sum(33^k · byte), so two more at a place are paid for by 66 less
 * at the place behind it.
 */
function collision(name: string): string | undefined {
  const token = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
  for (let i = 0; i + 1 < name.length; i++) {
    for (const step of [2, -2]) {
      const first = name.charCodeAt(i) + step;
      const second = name.charCodeAt(i + 1) - 33 * step;
      if (second < 33 || second > 126) continue;
      const other = name.slice(0, i) + String.fromCharCode(first, second) + name.slice(i + 2);
      if (token.test(other)) return other;
    }
  }
  return undefined;
}

test('a name with the hash of a framing field is not taken for it', () => {
  let tried = 0;
  for (const name of ['content-length', 'transfer-encoding', 'connection', 'host', 'expect']) {
    const other = collision(name);
    if (other === undefined) continue;
    tried++;
    assert.equal(fieldHash(other), fieldHash(name));
    assert.notEqual(other, name);
    const head = request(withFields(`${other}: chunked`, 'X: y'));
    assert.equal(head.kinds[1], KIND.other, other);
    assert.equal(head.contentLength, -1);
    assert.equal(head.chunked, false);
    assert.equal(head.get(other), 'chunked');
    assert.equal(head.get(name), name === 'host' ? 'a' : undefined);
    assert.deepEqual(head.lines()[1], [other, 'chunked']);
  }
  assert.equal(tried >= 3, true, 'the construction found too few names');
});

test('an answer is read into its parts', () => {
  const head = response('HTTP/1.1 404 Not  Here\xff\r\nContent-Length: 3\r\nServer: x\r\n\r\nabc');
  assert.equal(head.status, 404);
  assert.equal(head.contentLength, 3);
  assert.equal(response('HTTP/1.0 200 OK\r\n\r\n').http10, true);
  assert.equal(response('HTTP/1.1 200 \r\n\r\n').status, 200);
  assert.equal(response('HTTP/1.1 200\r\n\r\n').status, 200);
  assert.equal(response('HTTP/1.1 599 x\r\n\r\n').status, 599);
});

test('an answer that is no HTTP/1 is refused', () => {
  for (const text of [
    'HTTP/1.1 99 x\r\n\r\n',
    'HTTP/1.1 099 x\r\n\r\n',
    'HTTP/1.1 600 x\r\n\r\n',
    'HTTP/1.1 2000 x\r\n\r\n',
    'HTTP/1.1 20x x\r\n\r\n',
    'HTTP/1.1  200 x\r\n\r\n',
    'HTTP/1.1\t200 x\r\n\r\n',
    'HTTP/1.2 200 OK\r\n\r\n',
    'HTTP/2.0 200 OK\r\n\r\n',
    'HTTP/1.1 200 O\0K\r\n\r\n',
    'HTTP/1.1 200 O\nK\r\n\r\n',
    'HTTP/1.1 200 OK\n\r\n',
    'HTTP/1.1 200OK\r\n\r\n',
    'ICY 200 OK\r\n\r\n',
    'SSH-2.0-OpenSSH_9.6\r\n',
    'HTTQ',
    'x',
    '\r\nHTTP/1.1 200 OK\r\n\r\n',
    'HTTP/1.1 200 OK\r\nX : a\r\n\r\n',
    'HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n',
  ]) {
    assert.equal(refusedResponse(text), 'bad_request', JSON.stringify(text));
  }
  for (const text of [
    'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n',
    'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, identity\r\n\r\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\t\r\n\r\n',
    'HTTP/1.0 103 Early Hints\r\n\r\n',
    'HTTP/1.1 100 Continue\r\nConnection: close\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n',
  ]) {
    assert.equal(refusedResponse(text), 'bad_framing', JSON.stringify(text));
  }
});

test('an answer cut at any byte is waited for', () => {
  const text = 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\n';
  for (let cut = 0; cut < text.length; cut++)
    assert.equal(parse(parseResponse, text.slice(0, cut)), 'more', `cut at ${cut}`);
});
