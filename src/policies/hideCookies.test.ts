import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeExchange } from './exchange.testing.ts';
import { hideCookies } from './hideCookies.ts';

test('backends get no cookie of a login, and all other cookies', () => {
  for (const [sent, expected] of [
    ['a=1; __Host-portcullis-login=x; b=2', 'a=1; b=2'],
    ['portcullis-login=x', undefined],
    ['__Host-portcullis-oidc-id-0=x; a=1', 'a=1'],
    ['portcullis-oidc-id-0=x', undefined],
  ] as const) {
    const exchange = new FakeExchange({ headers: [['cookie', sent]] });
    void hideCookies.onRequest?.(exchange);
    assert.ok(exchange.requestHeaders.dropsName('cookie') || expected !== undefined, sent);
    assert.deepEqual(
      exchange.requestHeaders.lines,
      expected === undefined ? [] : [['cookie', expected]],
      sent,
    );
  }
  const other = new FakeExchange({ headers: [['cookie', 'portcullis-logins=1; x-portcullis-login=2']] });
  void hideCookies.onRequest?.(other);
  assert.deepEqual(
    other.requestHeaders.lines.map(([, value]) => value),
    ['portcullis-logins=1; x-portcullis-login=2'],
  );
});
