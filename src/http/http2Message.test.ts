import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Head } from './head.ts';
import { lastChunk, requestFields, requestTrailers, switchText, trailerFields } from './http2Message.ts';
import { COMPLETE, parseRequest } from './parse.ts';

const limits = { maxHeadBytes: 65_536, maxUriBytes: 1_000, maxMethodBytes: 32, maxHeaderNameBytes: 256 };

test('trailers are lines and fields', () => {
  assert.deepEqual(trailerFields('Grpc-Status: 0\r\nx:\r\n'), [
    ['grpc-status', '0'],
    ['x', ''],
  ]);
  assert.equal(lastChunk([['grpc-status', '0']]), '0\r\ngrpc-status: 0\r\n\r\n');
  assert.equal(lastChunk([]), '0\r\n\r\n');
});

test('the trailers of a request are grouped by name, whatever the names are', () => {
  const trailers = requestTrailers('constructor: a\r\n__proto__: b\r\nX: 1\r\nx: 2\r\nHTTP2-Settings: c\r\n');
  assert.deepEqual(Object.entries(trailers), [
    ['constructor', ['a']],
    ['__proto__', ['b']],
    ['x', ['1', '2']],
  ]);
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
