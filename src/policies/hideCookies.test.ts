import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeExchange } from './exchange.testing.ts';
import { hideCookies } from './hideCookies.ts';

/** The Cookie lines that a backend gets. */
function forwarded(...sent: readonly string[]): string[] {
  const exchange = new FakeExchange({ headers: sent.map((line) => ['cookie', line] as const) });
  void hideCookies.onRequest?.(exchange);
  return exchange.requestHeaders.apply(exchange.request.headerLines()).map(([, value]) => value);
}

test('backends get no cookie of a login, and all other cookies', () => {
  for (const [sent, expected] of [
    ['a=1; __Host-portcullis-login=x; b=2', ['a=1; b=2']],
    ['portcullis-login=x', []],
    ['portcullis-login =x; b=2', ['b=2']],
    ['__Host-portcullis-oidc-id-0=x; a=1', ['a=1']],
    ['portcullis-oidc-id-0=x', []],
    ['portcullis-logins=1; x-portcullis-login=2', ['portcullis-logins=1; x-portcullis-login=2']],
  ] as const)
    assert.deepEqual(forwarded(sent), expected, sent);
});

test('commas in the values of other cookies stay as they are', () => {
  assert.deepEqual(forwarded('portcullis-oidc-id-0=x; prefs={"a":1,"b":2}'), ['prefs={"a":1,"b":2}']);
  assert.deepEqual(forwarded('a=1,2', 'portcullis-login=x', 'b=3'), ['a=1,2; b=3']);
});
