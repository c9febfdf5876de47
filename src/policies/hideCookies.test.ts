import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HeaderLine } from '../http/index.ts';
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

/** The Set-Cookie fields that the browser gets for an answer of a backend. */
function setByBackend(exchange: FakeExchange, ...values: readonly string[]): string[] {
  const lines = values.map((value): HeaderLine => ['set-cookie', value]);
  const get = (name: string): string | undefined => (name === 'set-cookie' ? values.join(', ') : undefined);
  hideCookies.onResponse?.(exchange, 200, { get, lines: () => [['x-other', 'portcullis-oidc'], ...lines] });
  return exchange.responseHeaders.apply(lines).map(([, value]) => value);
}

test('backends set no cookie of a login, and all other cookies', () => {
  for (const [value, passes] of [
    ['portcullis-oidc-id-0=x; Path=/', false],
    ['__Host-portcullis-oidc-id-0=x; Path=/; Secure', false],
    ['portcullis-login =x', false],
    ['=portcullis-oidc-id-0=x', false],
    ['portcullis-oidc-id-0', false],
    ['portcullis-oidc', false],
    ['portcullis-oidcs=1', true],
    ['a=portcullis-oidc-id-0=x', true],
    ['a=1; Path=/portcullis-oidc', true],
    ['', true],
  ] as const)
    assert.deepEqual(
      setByBackend(new FakeExchange(), 'a=1', value, 'b=2'),
      passes ? ['a=1', value, 'b=2'] : ['a=1', 'b=2'],
      value,
    );
});

test('cookies that policies set stay, and so do the removals of policies', () => {
  const renewed = new FakeExchange();
  renewed.responseHeaders.add('set-cookie', 'portcullis-oidc-id-0=renewed');
  assert.deepEqual(setByBackend(renewed, 'a=1', 'portcullis-oidc-id-0=planted'), [
    'a=1',
    'portcullis-oidc-id-0=renewed',
  ]);
  const stripped = new FakeExchange();
  stripped.responseHeaders.remove('set-cookie');
  assert.deepEqual(setByBackend(stripped, 'a=1', 'portcullis-oidc-id-0=planted'), []);
});
