import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HeaderLine } from '../../http/index.ts';
import { FakeExchange } from '../exchange.testing.ts';
import { prepared } from '../tools.testing.ts';
import { requestHeaderModifier, responseHeaderModifier } from './index.ts';

const settings = {
  add: { 'X-More': 'b', 'X-Both': '2', 'X-Nowhere': '1' },
  set: { 'X-Set': 'new', 'X-Both': '1', 'X-Gone': '2' },
  remove: ['X-Gone', 'X-Nowhere'],
};
const before: HeaderLine[] = [
  ['x-more', 'a'],
  ['x-set', 'old'],
  ['x-set', 'older'],
  ['x-gone', '1'],
  ['x-kept', '1'],
];
const changed: HeaderLine[] = [
  ['x-more', 'a'],
  ['x-kept', '1'],
  ['x-more', 'b'],
  ['x-set', 'new'],
  ['x-both', '1'],
];

test('request headers are added, then set, then removed', () => {
  const exchange = new FakeExchange();
  assert.equal(prepared(requestHeaderModifier, settings).onRequest?.(exchange), undefined);
  assert.deepEqual(exchange.requestHeaders.apply(before), changed);
  assert.ok(exchange.responseHeaders.empty);
});

test('response headers are changed when the answer is known', () => {
  const exchange = new FakeExchange();
  const steps = prepared(responseHeaderModifier, settings);
  assert.equal(steps.onRequest, undefined);
  steps.onResponse?.(exchange, 500);
  assert.deepEqual(exchange.responseHeaders.apply(before), changed);
  assert.ok(exchange.requestHeaders.empty);
});

test('fields that frame the message or belong to a connection cannot be touched', () => {
  const refused = [
    'Content-Length',
    'transfer-encoding',
    'Connection',
    'Keep-Alive',
    'TE',
    'Trailer',
    'Upgrade',
    'Expect',
  ];
  for (const name of refused)
    for (const written of [{ set: { [name]: '1' } }, { add: { [name]: '1' } }, { remove: [name] }])
      for (const policy of [requestHeaderModifier, responseHeaderModifier])
        assert.equal(policy.schema.safeParse(written).success, false, JSON.stringify(written));
  for (const name of ['host', 'Host', ':authority'])
    for (const written of [{ add: { [name]: 'a' } }, { remove: [name] }])
      assert.equal(requestHeaderModifier.schema.safeParse(written).success, false, JSON.stringify(written));
  for (const name of [':method', ':path', ':scheme', ':status', ':'])
    assert.equal(requestHeaderModifier.schema.safeParse({ set: { [name]: 'a' } }).success, false, name);
  assert.equal(responseHeaderModifier.schema.safeParse({ set: { ':authority': 'a' } }).success, false);
});

test('the host can be set, by either of its names, and to nothing else than a host', () => {
  for (const [name, value, authority] of [
    ['host', 'app.test', 'app.test'],
    ['Host', 'App.Test:8443', 'app.test:8443'],
    [':authority', '[::1]:80', '[::1]:80'],
  ] as const) {
    const exchange = new FakeExchange();
    const steps = prepared(requestHeaderModifier, { set: { [name]: value, 'x-a': '1' } });
    assert.equal(steps.onRequest?.(exchange), undefined);
    assert.deepEqual(exchange.forwardHost, { kind: 'full', authority });
    assert.deepEqual(exchange.requestHeaders.lines, [['x-a', '1']]);
  }
  for (const value of ['', 'a b', 'user@a', 'a:b', 'a/b', 'a,b', 'a:99999'])
    assert.equal(requestHeaderModifier.schema.safeParse({ set: { host: value } }).success, false, value);
  const twice = { set: { host: 'a', ':authority': 'b' } };
  assert.equal(requestHeaderModifier.schema.safeParse(twice).success, false);
});

test('names and values that could start another header or message are rejected', () => {
  for (const value of ['a\r\nb: c', 'a\nb', 'a\rb', 'a\u0000b', ' a', 'a ', '\ta', 'é'])
    assert.equal(
      requestHeaderModifier.schema.safeParse({ set: { a: value } }).success,
      false,
      JSON.stringify(value),
    );
  for (const name of ['a b', 'a:', '', 'a\r\n', 'é', 'a(b)'])
    assert.equal(
      requestHeaderModifier.schema.safeParse({ remove: [name] }).success,
      false,
      JSON.stringify(name),
    );
  assert.equal(requestHeaderModifier.schema.safeParse({ set: { a: '', b: 'x y\tz' } }).success, true);
  assert.equal(requestHeaderModifier.schema.safeParse({ set: { a: '1', A: '2' } }).success, false);
});
