import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rewrittenHost } from './rewrittenHost.ts';

const plain = { name: 'backend.test:80', tls: undefined };
const other = { name: '[::1]:8080', tls: undefined };

test('the host for a backend is rewritten as a whole, by host or by port', () => {
  assert.equal(rewrittenHost({ kind: 'full', authority: 'a:1' }, 'c:2', plain), 'a:1');
  assert.equal(rewrittenHost({ kind: 'host', host: 'a' }, 'c:2', plain), 'a:2');
  assert.equal(rewrittenHost({ kind: 'host', host: 'a' }, 'c', plain), 'a');
  assert.equal(rewrittenHost({ kind: 'host', host: 'a' }, '', plain), 'a');
  assert.equal(rewrittenHost({ kind: 'port', port: 1 }, 'c:2', plain), 'c:1');
  assert.equal(rewrittenHost({ kind: 'port', port: 1 }, '[::2]', plain), '[::2]:1');
  assert.equal(rewrittenHost({ kind: 'port', port: 1 }, '', other), '[::1]:8080');
});

test('the own name of a backend comes without the usual port', () => {
  assert.equal(rewrittenHost({ kind: 'auto' }, 'c:2', plain), 'backend.test');
  assert.equal(rewrittenHost({ kind: 'auto' }, 'c:2', other), '[::1]:8080');
  assert.equal(rewrittenHost({ kind: 'auto' }, 'c:2', { name: 'a:443', tls: undefined }), 'a:443');
});
