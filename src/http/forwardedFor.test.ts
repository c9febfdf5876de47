import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  forwardedClient,
  forwardedHost,
  forwardedScheme,
  lastHop,
  type ForwardedClient,
} from './forwardedFor.ts';
import { networks } from './networks.ts';

const trusted = networks(['10.0.0.0/8', '2001:db8:ffff::/48']);
const read = (value: string): ForwardedClient => forwardedClient(value, '10.0.0.1', trusted);

test('the client is the first address from the end that is no trusted proxy', () => {
  assert.deepEqual(read('192.0.2.7'), { address: '192.0.2.7', port: 0, chain: '192.0.2.7, 10.0.0.1' });
  assert.deepEqual(read('192.0.2.7, 10.0.0.9'), {
    address: '192.0.2.7',
    port: 0,
    chain: '192.0.2.7, 10.0.0.9, 10.0.0.1',
  });
  assert.equal(read('').address, '10.0.0.1');
  assert.equal(read('10.0.0.3,10.0.0.2').address, '10.0.0.3', 'where all are trusted, the first of them');
});

test('entries that the client wrote itself are dropped', () => {
  assert.deepEqual(read('127.0.0.1, 192.0.2.7, 10.0.0.9').chain, '192.0.2.7, 10.0.0.9, 10.0.0.1');
  assert.equal(read('10.0.0.5, 192.0.2.7').address, '192.0.2.7');
});

test('ports and brackets are read, and one address has one form', () => {
  assert.deepEqual(read('192.0.2.7:40000').port, 40_000);
  assert.equal(read('192.0.2.7:40000').address, '192.0.2.7');
  assert.deepEqual(read('[2001:DB8::7]:443'), {
    address: '2001:db8::7',
    port: 443,
    chain: '2001:db8::7, 10.0.0.1',
  });
  assert.equal(read('2001:db8::7').address, '2001:db8::7');
  assert.equal(read('::ffff:192.0.2.7').address, '192.0.2.7');
});

test('an entry that is not an address ends the walk, and the proxy that sent it is the client', () => {
  for (const value of [
    'unknown',
    '_hidden',
    '192.0.2',
    '192.0.2.7:99999',
    '[192.0.2.7]',
    'fe80::1%eth0',
    ',',
    ' , ',
  ])
    assert.equal(read(`192.0.2.1, ${value}`).address, '10.0.0.1', value);
});

test('a list without an end is not followed', () => {
  assert.equal(read(`192.0.2.7${', 10.0.0.2'.repeat(10_000)}`).address, '10.0.0.2');
});

test('the last proxy says the scheme', () => {
  assert.equal(forwardedScheme('https'), 'https');
  assert.equal(forwardedScheme('http, HTTPS'), 'https');
  assert.equal(forwardedScheme('https, http'), 'http');
  for (const value of [undefined, '', 'ws', 'https,', 'javascript'])
    assert.equal(forwardedScheme(value), undefined);
});

test('the host is the one that the last proxy tells, if it is one', () => {
  assert.equal(forwardedHost('a.test'), 'a.test');
  assert.equal(forwardedHost('evil.test, Gw.Example.com:8443'), 'gw.example.com:8443');
  assert.equal(forwardedHost('[2001:db8::7]:443'), '[2001:db8::7]:443');
  for (const value of [
    undefined,
    '',
    'a.test,',
    'a b',
    'a/b',
    'a@b',
    '"a"',
    'a:x',
    'a:123456',
    `${'a'.repeat(300)}`,
  ])
    assert.equal(forwardedHost(value), undefined, value ?? '-');
});

test('the last element of Forwarded tells its scheme and host', () => {
  assert.deepEqual(lastHop('for=a;host=x, For="[::1]:80" ; Host="gw.test:1";PROTO=https'), {
    host: 'gw.test:1',
    proto: 'https',
  });
  assert.deepEqual(lastHop('proto=http'), { proto: 'http' });
  for (const value of [
    undefined,
    '',
    'host',
    'host=',
    'host="a',
    'host=a b;proto=https',
    ';;',
    'for="a\\"";host=b',
  ])
    assert.deepEqual(lastHop(value), {}, value ?? '-');
});
