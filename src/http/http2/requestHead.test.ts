import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Head } from '../head.ts';
import { Field } from '../hpack/field.ts';
import { requestFields } from '../http2Message.ts';
import { COMPLETE, parseRequest } from '../parse.ts';
import { RequestHead, type RequestFlaw, type RequestText } from './requestHead.ts';
import { TrailerFields } from './trailers.ts';

const usual = [':method', 'GET', ':scheme', 'https', ':authority', 'a.test', ':path', '/x?y'];
const limits = { maxHeadBytes: 65_536, maxUriBytes: 1_000, maxMethodBytes: 32, maxHeaderNameBytes: 256 };

function requestText(fields: readonly string[], bodyless: boolean): RequestText | RequestFlaw {
  const head = new RequestHead();
  for (let i = 0; i + 1 < fields.length; i += 2)
    head.field(new Field(fields[i] as string, fields[i + 1] as string));
  return head.read(bodyless);
}

function textOf(fields: readonly string[], bodyless = true): string {
  const read = requestText(fields, bodyless);
  assert.ok('text' in read, 'problem' in read ? read.problem : '');
  return read.text;
}

test('a request becomes the text of the one it stands for', () => {
  assert.equal(
    textOf([...usual, 'x-a', '1', 'cookie', 'a=1', 'x-a', '2', 'cookie', 'b=2', 'te', 'trailers']),
    'GET /x?y HTTP/1.1\r\nhost: a.test\r\nx-a: 1\r\nx-a: 2\r\nte: trailers\r\ncookie: a=1; b=2\r\n\r\n',
  );
  assert.match(textOf(usual, false), /\r\ntransfer-encoding: chunked\r\n\r\n$/);
  assert.doesNotMatch(textOf([...usual, 'content-length', '3'], false), /transfer-encoding/);
  assert.match(
    textOf([':method', 'GET', ':scheme', 'http', ':path', '/', 'host', 'b.test']),
    /host: b\.test/,
  );
  assert.match(textOf([...usual, 'host', 'A.test']), /^GET \/x\?y HTTP\/1\.1\r\nhost: a\.test\r\n\r\n$/);
  assert.match(textOf([':method', 'CONNECT', ':authority', 'a.test:80']), /^CONNECT a\.test:80 HTTP/);
});

test('fields that HTTP/2 must not have are refused', () => {
  const refused: readonly (readonly string[])[] = [
    ['connection', 'close'],
    ['proxy-connection', 'close'],
    ['keep-alive', '5'],
    ['transfer-encoding', 'chunked'],
    ['upgrade', 'websocket'],
    ['http2-settings', 'x'],
    ['te', 'gzip'],
    ['X-Capital', '1'],
    ['host', 'b.test'],
    ['x-a', '1\r\nx-b: 2'],
    ['x-a', '1\n'],
    ['x-a', '\0'],
    [':path', '/again'],
    ['x-a', '1', ':late', 'x'],
    [':protocol', 'websocket'],
  ];
  for (const more of refused) assert.ok('problem' in requestText([...usual, ...more], true), more.join(' '));
  assert.ok('problem' in requestText([':method', 'GET', ':path', '/', ':scheme', 'http'], true));
  assert.ok(
    'problem' in requestText([':method', 'GET', ':path', '/', ':scheme', 'ftp', ':authority', 'a'], true),
  );
});

test('the key of a WebSocket is ours, whatever the client sends', () => {
  const connect = [
    ':method',
    'CONNECT',
    ':protocol',
    'websocket',
    ':scheme',
    'http',
    ':authority',
    'a',
    ':path',
    '/',
  ];
  const read = requestText(
    [...connect, 'sec-websocket-key', 'mine', 'x-a', '1', 'sec-websocket-key', ''],
    false,
  );
  assert.ok('text' in read);
  assert.equal(read.text.match(/sec-websocket-key:/g)?.length, 1);
  assert.doesNotMatch(read.text, /mine/);
  assert.match(read.text, /\r\nx-a: 1\r\n/);
});

test('no value of a pseudo-header makes another request', () => {
  const evil = ['GET / HTTP/1.1\r\nx: y', '/ HTTP/1.1', '/a b', '', ' ', '/\t', '*x', 'GET /'];
  for (const method of ['GET', 'G ET', 'GET\t', '', 'GET / HTTP/1.1 '])
    for (const path of [...evil, '/ok'])
      for (const authority of ['a.test', 'a.test x', 'a@b']) {
        const read = requestText([':method', method, ':path', path, ':authority', authority], true);
        if ('problem' in read) continue;
        const head = new Head(10);
        const bytes = Buffer.from(read.text, 'latin1');
        if (parseRequest(bytes, 0, bytes.length, head, limits) !== COMPLETE) continue;
        head.text = read.text;
        assert.deepEqual([head.method, head.target, head.length], [method, path, bytes.length]);
      }
});

test('the text of a request contains exactly the fields of its stream', () => {
  const odd = fc.constantFrom(
    '\r',
    '\n',
    '\0',
    ' ',
    '\t',
    ':',
    ',',
    'a',
    'Z',
    '-',
    '_',
    '\x7f',
    '\xa0',
    '\xff',
    '/',
    'chunked',
    'HTTP/1.1',
  );
  const piece = fc.array(odd, { maxLength: 5 }).map((parts) => parts.join(''));
  const name = fc.oneof(
    fc.constantFrom('x-a', 'x-b', 'x_y', 'x-c', 'content-length', 'transfer-encoding', 'host', 'te', ''),
    piece,
  );
  const value = fc.oneof(fc.constantFrom('1', '0', 'a.test', 'trailers'), piece);
  const put = (base: readonly string[], changed: string, to: string): string[] =>
    base.map((text, i) => (base[i - 1] === changed ? to : text));
  let accepted = 0;
  fc.assert(
    fc.property(
      fc.array(fc.tuple(name, value), { maxLength: 3 }),
      fc.constantFrom(
        ':method',
        ':scheme',
        ':authority',
        ':path',
        ...Array.from({ length: 12 }, () => 'none'),
      ),
      piece,
      fc.boolean(),
      (more, changed, to, bodyless) => {
        const fields = [...put(usual, changed, to), ...more.flat()];
        const read = requestText(fields, bodyless);
        if ('problem' in read) return;
        const bytes = Buffer.from(read.text, 'latin1');
        const head = new Head(20);
        if (parseRequest(bytes, 0, bytes.length, head, limits) !== COMPLETE) return;
        head.text = read.text;
        accepted++;
        const again = requestFields(head, 'https');
        const kept = more.filter(([field]) => field !== 'host' && field !== 'te');
        // White space around a value is not part of it (RFC 9110 §5.5).
        const trimmed = kept.flatMap(([field, text]) => [field, text.replaceAll(/^[ \t]+|[ \t]+$/g, '')]);
        assert.equal(head.length, bytes.length);
        assert.deepEqual(again.slice(8), trimmed);
        assert.deepEqual([again[1], again[7]], [fields[1], fields[7]]);
      },
    ),
    { numRuns: 3_000 },
  );
  assert.ok(accepted > 300, `only ${accepted} were accepted`);
});

test('trailers have no pseudo-headers and no malformed fields', () => {
  const read = (...fields: readonly (readonly [string, string])[]): TrailerFields => {
    const trailers = new TrailerFields();
    for (const [name, value] of fields) trailers.field(new Field(name, value));
    return trailers;
  };
  assert.deepEqual(read(['x-sum', '1'], ['y', '']).lines, [
    ['x-sum', '1'],
    ['y', ''],
  ]);
  for (const [name, value] of [
    [':path', '/'],
    ['X', '1'],
    ['connection', 'close'],
    ['x', 'a\r\nb'],
    ['', 'a'],
  ] as const)
    assert.notEqual(read([name, value]).flaw, undefined, name);
});
