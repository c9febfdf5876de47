import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectionError, statusError, withoutSecrets } from './failures.ts';

test('the client hears in which way the server failed, and only the log hears the detail', () => {
  const reset = connectionError('far', 'upstream_reset', '10.0.0.1:80: ECONNRESET');
  assert.equal(reset.message, 'target "far" closed the connection before its answer was complete');
  assert.equal(reset.detail, 'upstream_reset: 10.0.0.1:80: ECONNRESET');
  assert.equal(connectionError('far', 'upstream_tls_failed', '').code, 'mcp_target_unreachable');
  assert.equal(connectionError('far', 'upstream_timeout', '').code, 'mcp_target_timeout');
  assert.equal(connectionError('far', 'internal_error', 'x').message, 'target "far" could not be asked');
});

test('a status says who is to blame, and an unknown one is named', () => {
  assert.equal(statusError('far', 401, '').code, 'mcp_target_refused');
  assert.equal(statusError('far', 429, 'slow').code, 'mcp_target_busy');
  const teapot = statusError('far', 418, 'short and stout');
  assert.equal(teapot.message, 'target "far" answered with status 418');
  assert.equal(teapot.detail, 'status 418: short and stout');
  assert.equal(statusError('far', 500, '').detail, 'status 500');
});

test('Retry-After is a number of seconds or a date, and anything else is passed over', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-01-01T00:00:00Z') });
  const secondsOf = (value: string): number | undefined => statusError('far', 429, '', value).retryAfter;
  assert.deepEqual(
    ['17', 'Thu, 01 Jan 2026 00:01:00 GMT', 'Thu, 01 Jan 2025 00:00:00 GMT', 'soon', '-5x', ''].map(
      secondsOf,
    ),
    [17, 60, 0, undefined, undefined, undefined],
  );
});

test('credentials that a server repeats are taken out of the text, in whole and in parts', () => {
  const reach = {
    headers: [
      ['authorization', 'Bearer top-secret-token'],
      ['cookie', 'a=cookie-one; b=cookie-two'],
      ['x-short', 'abc'],
    ] as const,
    path: '/mcp?key=query-secret&x=1',
  };
  const said = withoutSecrets(
    'sent Bearer top-secret-token, top-secret-token, cookie-two, key=query-secret&x=1, query-secret, abc, /mcp',
    reach,
  );
  assert.doesNotMatch(said, /secret|cookie-/);
  assert.match(said, /abc, \/mcp$/, 'short values are no credentials');
  assert.equal(withoutSecrets('nothing', { headers: [], path: '/mcp' }), 'nothing');
});
