import assert from 'node:assert/strict';
import test from 'node:test';
import { hasNoBody, httpDate, statusLine } from './status.ts';

test('a status line has its reason, and its space where there is none', () => {
  assert.equal(statusLine(200), 'HTTP/1.1 200 OK\r\n');
  assert.equal(statusLine(404), 'HTTP/1.1 404 Not Found\r\n');
  assert.equal(statusLine(599), 'HTTP/1.1 599 \r\n');
});

test('1xx, 204 and 304 have no body', () => {
  assert.deepEqual([100, 103, 199, 200, 204, 205, 304, 404].filter(hasNoBody), [100, 103, 199, 204, 304]);
});

test('the date is in IMF-fixdate and moves with the second', () => {
  assert.equal(httpDate(784_111_777_123), 'Sun, 06 Nov 1994 08:49:37 GMT');
  assert.equal(httpDate(784_111_777_999), 'Sun, 06 Nov 1994 08:49:37 GMT');
  assert.equal(httpDate(784_111_778_000), 'Sun, 06 Nov 1994 08:49:38 GMT');
});
