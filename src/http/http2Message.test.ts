import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Head } from './head.ts';
import {
  lastChunk,
  requestFields,
  requestText,
  responseFields,
  switchText,
  trailerFields,
} from './http2Message.ts';
import { COMPLETE, parseRequest, parseResponse } from './parse.ts';

const usual = [':method', 'GET', ':scheme', 'https', ':authority', 'a.test', ':path', '/x?y'];
const limits = { maxHeadBytes: 65_536, maxUriBytes: 1_000 };

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

test('an answer loses what belongs to one connection, and keeps the order of the rest', () => {
  const text =
    'HTTP/1.1 200 OK\r\nSet-Cookie: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\nSet-Cookie: b\r\n\r\n';
  const head = new Head(10);
  const bytes = Buffer.from(text);
  assert.equal(parseResponse(bytes, 0, bytes.length, head, limits), COMPLETE);
  head.text = text;
  assert.deepEqual(responseFields(head), [':status', '200', 'set-cookie', 'a', 'set-cookie', 'b']);
});

test('trailers are lines and fields', () => {
  assert.deepEqual(trailerFields('Grpc-Status: 0\r\nx:\r\n'), [
    ['grpc-status', '0'],
    ['x', ''],
  ]);
  assert.equal(lastChunk([['grpc-status', '0']]), '0\r\ngrpc-status: 0\r\n\r\n');
  assert.equal(lastChunk([]), '0\r\n\r\n');
});

test('a request for a tunnel is extended CONNECT, and its grant the 101 that was asked for', () => {
  const text =
    'GET /chat HTTP/1.1\r\nHost: a.test\r\nConnection: upgrade\r\nUpgrade: websocket\r\n' +
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n';
  const head = new Head(10);
  const bytes = Buffer.from(text);
  assert.equal(parseRequest(bytes, 0, bytes.length, head, limits), COMPLETE);
  head.text = text;
  assert.deepEqual(requestFields(head, 'https', 'websocket'), [
    ...[':method', 'CONNECT', ':protocol', 'websocket', ':scheme', 'https', ':authority', 'a.test'],
    ...[':path', '/chat', 'sec-websocket-version', '13'],
  ]);
  const fields = [':status', '200', 'x', 'a\r\nb', 'sec-websocket-accept', 'forged', 'content-length', '5'];
  assert.equal(
    switchText(fields, 'websocket', 'dGhlIHNhbXBsZSBub25jZQ=='),
    'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n' +
      'sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nx: a??b\r\n\r\n',
  );
});
