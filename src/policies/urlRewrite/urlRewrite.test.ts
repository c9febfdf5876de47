import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeExchange, type FakeRequest } from '../exchange.testing.ts';
import { prepared } from '../tools.testing.ts';
import { urlRewrite } from './index.ts';

function rewritten(settings: object, request: FakeRequest = {}): FakeExchange {
  const exchange = new FakeExchange(request);
  assert.equal(prepared(urlRewrite, settings).onRequest?.(exchange), undefined);
  return exchange;
}

test('the path is replaced as a whole or by its prefix, and the query stays', () => {
  assert.equal(rewritten({ path: { full: '/x' } }, { target: '/a/b?c=d' }).forwardTarget, '/x?c=d');
  const prefix = { path: { prefix: '/v2' } };
  assert.equal(rewritten(prefix, { target: '/v1/a?b', matchedPrefix: '/v1' }).forwardTarget, '/v2/a?b');
  assert.equal(rewritten({ authority: 'auto' }, { target: '/a?b' }).forwardTarget, '/a?b');
});

test('a query that an earlier policy changed stays changed', () => {
  const exchange = new FakeExchange({ target: '/a?key=secret&b=1' });
  exchange.forwardTarget = '/a?b=1';
  void prepared(urlRewrite, { path: { full: '/x' } }).onRequest?.(exchange);
  assert.equal(exchange.forwardTarget, '/x?b=1');
});

test('the question about the server itself has no path to rewrite', () => {
  assert.equal(rewritten({ path: { full: '/x' } }, { target: '*' }).forwardTarget, '*');
});

test('the host is noted for the time when the backend is known', () => {
  const noted = (authority: unknown) => rewritten({ authority }).forwardHost;
  assert.deepEqual(noted({ full: 'A.test:81' }), { kind: 'full', authority: 'a.test:81' });
  assert.deepEqual(noted({ host: 'a.test' }), { kind: 'host', host: 'a.test' });
  assert.deepEqual(noted({ port: 81 }), { kind: 'port', port: 81 });
  assert.deepEqual(noted('auto'), { kind: 'auto' });
  assert.deepEqual(noted('none'), { kind: 'none' });
});

test('an invalid host or path is rejected at load', () => {
  for (const settings of [
    { authority: 'self' },
    { authority: { full: 'http://a' } },
    { authority: { host: '' } },
    { path: '/x' },
    { path: { full: 'x' } },
    { host: 'a' },
  ])
    assert.equal(urlRewrite.schema.safeParse(settings).success, false, JSON.stringify(settings));
});
