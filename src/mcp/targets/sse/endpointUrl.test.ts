import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Destination } from '../../../upstream/index.ts';
import type { Reach } from '../../contract.ts';
import { endpointPath, messagePath } from './endpointUrl.ts';

const reachTo = (target: object, more: Partial<Reach> = {}): Reach => ({
  destination: { target } as unknown as Destination,
  path: '/mcp/sse?key=1',
  headers: [],
  callTimeoutMs: undefined,
  ...more,
});
const plain = reachTo({ host: 'old.example', port: 8080 });
const secure = reachTo({ host: 'old.example', port: 443, tls: {} });

test('an endpoint is a path, a reference relative to the stream, or a URL of the same origin', () => {
  for (const [written, path] of [
    ['/message?sessionId=a', '/message?sessionId=a'],
    ['message?sessionId=a', '/mcp/message?sessionId=a'],
    ['?sessionId=a', '/mcp/sse?sessionId=a'],
    ['http://old.example:8080/message', '/message'],
    ['//old.example:8080/message', '/message'],
    ['/a/../message#top', '/message'],
    ['/méssage x', '/m%C3%A9ssage%20x'],
  ] as const)
    assert.equal(endpointPath(written, plain), path, written);
  assert.equal(endpointPath('https://old.example/message', secure), '/message');
});

test('an endpoint of another origin is refused, however it is written', () => {
  for (const written of [
    'http://other.example:8080/message',
    'http://old.example/message',
    'https://old.example:8080/message',
    '//169.254.169.254/latest',
    '\\\\169.254.169.254\\latest',
    'http://old.example:8080@169.254.169.254/message',
    'http://me:secret@old.example:8080/message',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'http://[',
    `/${'a'.repeat(5_000)}`,
  ])
    assert.equal(endpointPath(written, plain), undefined, written);
  assert.equal(endpointPath('http://old.example/message', secure), undefined);
});

test('a server that knows itself by the Host that a policy sets may name that', () => {
  const renamed = reachTo({ host: '10.0.0.1', port: 80 }, { authority: 'old.example' });
  assert.equal(endpointPath('http://old.example/message', renamed), '/message');
  assert.equal(endpointPath('http://10.0.0.1/message', renamed), '/message');
  assert.equal(endpointPath('http://10.0.0.2/message', renamed), undefined);
});

test('a message gets the query that policies have added to the path of the stream, and nothing else of it', () => {
  assert.equal(messagePath('/message?s=1', '/sse?a=1', '/sse?a=1'), '/message?s=1');
  assert.equal(messagePath('/message?s=1', '/sse?a=1', '/sse?a=1&key=x'), '/message?s=1&key=x');
  assert.equal(messagePath('/message', '/sse', '/sse?key=x&b=2'), '/message?key=x&b=2');
});
