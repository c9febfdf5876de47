import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../errors.ts';
import { FakeExchange, type FakeRequest } from '../exchange.testing.ts';
import { prepared } from '../tools.testing.ts';
import { requestRedirect } from './index.ts';

function redirect(
  settings: object,
  request: FakeRequest = {},
): { status: number; location: string | undefined } {
  const reply = prepared(requestRedirect, settings).onRequest?.(new FakeExchange(request));
  assert.ok(reply !== undefined && !(reply instanceof Promise));
  return { status: reply.status, location: Object.fromEntries(reply.headers ?? [])['location'] };
}
const to = (settings: object, request: FakeRequest = {}) => redirect(settings, request).location;

test('the answer is 302 unless another redirect is asked for', () => {
  assert.deepEqual(redirect({ scheme: 'https' }), { status: 302, location: 'https://gateway.test/' });
  for (const status of [301, 303, 307, 308]) assert.equal(redirect({ status }).status, status);
});

test('path and query stay where nothing is said about them', () => {
  assert.equal(to({ scheme: 'https' }, { target: '/a/b?c=d&e' }), 'https://gateway.test/a/b?c=d&e');
  assert.equal(to({ path: { full: '/x' } }, { target: '/a?b=1' }), 'http://gateway.test/x?b=1');
});

test('host and port are replaced together or one by one', () => {
  const at = { host: 'a.test:8080' };
  assert.equal(to({ authority: { full: 'b.test:9090' } }, at), 'http://b.test:9090/');
  assert.equal(to({ authority: { full: 'b.test' } }, at), 'http://b.test/');
  assert.equal(to({ authority: { host: 'b.test' } }, at), 'http://b.test:8080/');
  assert.equal(to({ authority: { port: 9090 } }, at), 'http://a.test:9090/');
  assert.equal(to({ authority: { port: 80 } }, at), 'http://a.test/');
  assert.equal(to({ authority: 'none' }, at), 'http://a.test:8080/');
  assert.equal(to({ authority: { host: '[::1]' } }, { host: '[::2]:1' }), 'http://[::1]:1/');
});

test('behind a trusted proxy the address has the host that clients see', () => {
  const behind = { host: 'gateway.internal:8080', shownAuthority: 'shop.test:8443' };
  assert.equal(to({ path: { full: '/x' } }, behind), 'http://shop.test:8443/x');
  assert.equal(to({ scheme: 'https' }, behind), 'https://shop.test/');
  assert.equal(to({ authority: { host: 'b.test' } }, behind), 'http://b.test:8443/');
});

test('the redirect of OPTIONS * has no path of its own', () => {
  const all = { method: 'OPTIONS', target: '*', matchedPrefix: '' };
  assert.equal(to({ scheme: 'https' }, all), 'https://gateway.test');
  assert.equal(to({ path: { prefix: '/x' } }, all), 'http://gateway.test');
  assert.equal(to({ path: { full: '/x' } }, all), 'http://gateway.test/x');
  assert.equal(to({ status: 301 }, { ...all, host: '' }), '/');
});

test('with another scheme the port of the old one is left out', () => {
  assert.equal(to({ scheme: 'https' }, { host: 'a.test:8080' }), 'https://a.test/');
  assert.equal(
    to({ scheme: 'https', authority: { host: 'b.test' } }, { host: 'a.test:80' }),
    'https://b.test/',
  );
  assert.equal(
    to({ scheme: 'https', authority: { port: 8443 } }, { host: 'a.test:80' }),
    'https://a.test:8443/',
  );
  assert.equal(to({ scheme: 'https', authority: { full: 'b.test:443' } }), 'https://b.test/');
  assert.equal(to({ scheme: 'http' }, { host: 'a.test:8080' }), 'http://a.test:8080/');
});

test('a prefix is replaced by whole segments', () => {
  const rows: [matched: string, replacement: string, path: string, expected: string][] = [
    ['/foo', '/xyz', '/foo/bar', '/xyz/bar'],
    ['/foo', '/xyz/', '/foo/bar', '/xyz/bar'],
    ['/foo', '/xyz', '/foo', '/xyz'],
    ['/foo', '/xyz', '/foo/', '/xyz/'],
    ['/foo', '/', '/foo', '/'],
    ['/foo', '/', '/foo/bar', '/bar'],
    ['', '/xyz', '/foo', '/xyz/foo'],
    ['', '/', '/foo', '/foo'],
  ];
  for (const [matchedPrefix, prefix, target, expected] of rows)
    assert.equal(to({ path: { prefix } }, { target, matchedPrefix }), `http://gateway.test${expected}`);
});

test('a prefix can only be replaced where one was matched', () => {
  assert.throws(
    () => to({ path: { prefix: '/x' } }),
    (error) => error instanceof GatewayError && error.code === 'policy_failed',
  );
});

test('without a host the address is relative, and never one of another host', () => {
  assert.equal(to({ status: 301 }, { host: '', target: '/a' }), '/a');
  assert.equal(to({ status: 301 }, { host: '', target: '//evil.test/a' }), '/evil.test/a');
  assert.equal(to({ status: 301 }, { target: '//evil.test/a' }), 'http://gateway.test//evil.test/a');
});

test('an invalid address or a status that is not a redirect is rejected at load', () => {
  const refused = [
    { status: 200 },
    { status: 304 },
    { scheme: 'ftp' },
    { scheme: 'https:' },
    { authority: 'auto' },
    { authority: {} },
    { authority: { host: 'a', port: 1 } },
    { authority: { host: 'a:1' } },
    { authority: { full: 'u@a' } },
    { authority: { full: 'a\r\nx: y' } },
    { authority: { port: 0 } },
    { path: {} },
    { path: { full: '/a', prefix: '/b' } },
    { path: { full: 'a' } },
    { path: { full: '/a?b' } },
    { path: { full: '/a#b' } },
    { path: { full: '/a b' } },
    { path: { full: '/a\r\nx: y' } },
    { path: { full: '/%zz' } },
    { path: { full: '/a/../b' } },
    { path: { prefix: '/%61' } },
    { hostname: 'a' },
  ];
  for (const settings of refused)
    assert.equal(requestRedirect.schema.safeParse(settings).success, false, JSON.stringify(settings));
});

test('a key that a policy took out of the query goes to no other host, and not over plain HTTP', () => {
  const at = (settings: object, request: FakeRequest = {}): string | undefined => {
    const exchange = new FakeExchange({ host: 'a.test:8080', target: '/x?key=k&z=1', ...request });
    exchange.forwardTarget = '/x?z=1';
    const reply = prepared(requestRedirect, settings).onRequest?.(exchange);
    assert.ok(reply !== undefined && !(reply instanceof Promise));
    return Object.fromEntries(reply.headers ?? [])['location'];
  };
  assert.equal(at({ authority: { full: 'b.test' } }), 'http://b.test/x?z=1');
  assert.equal(at({ authority: { host: 'b.test' }, path: { full: '/y' } }), 'http://b.test:8080/y?z=1');
  assert.equal(at({ scheme: 'http' }, { scheme: 'https' }), 'http://a.test/x?z=1');
  assert.equal(at({ scheme: 'https' }), 'https://a.test/x?key=k&z=1');
  assert.equal(at({ authority: { full: 'A.test:9090' } }), 'http://a.test:9090/x?key=k&z=1');
  assert.equal(at({ path: { full: '/y' } }), 'http://a.test:8080/y?key=k&z=1');
});
