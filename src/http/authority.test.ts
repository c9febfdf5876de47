import assert from 'node:assert/strict';
import test from 'node:test';
import { parseAuthority } from './authority.ts';

test('host and port are read from the forms that RFC 3986 and real clients use', () => {
  for (const [text, host, authority] of [
    ['example.com', 'example.com', 'example.com'],
    ['Example.COM:8080', 'example.com', 'example.com:8080'],
    ['example.com.', 'example.com', 'example.com.'],
    ['example.com.:80', 'example.com', 'example.com.:80'],
    ['localhost:0', 'localhost', 'localhost:0'],
    ['a_b-c', 'a_b-c', 'a_b-c'],
    ['127.0.0.1:65535', '127.0.0.1', '127.0.0.1:65535'],
    ['[::1]', '[::1]', '[::1]'],
    ['[2001:DB8::1]:443', '[2001:db8::1]', '[2001:db8::1]:443'],
    ['example.com:', 'example.com', 'example.com:'],
  ] as const) {
    assert.deepEqual(parseAuthority(text), { host, authority }, text);
    // From the table of known ones, too.
    assert.deepEqual(parseAuthority(text), { host, authority }, text);
  }
});

test('an ambiguous host is rejected', () => {
  for (const text of [
    '',
    ' ',
    '.',
    '.a',
    'a..b',
    'a b',
    'a,b',
    'a, b',
    'user@a',
    'user:pass@a',
    'a/b',
    'a?b',
    'a#b',
    'a\\b',
    'a%2eb',
    'a:b',
    'a:80:80',
    'a:-1',
    'a:+80',
    'a:65536',
    'a:100000',
    ':80',
    '::1',
    '[::1',
    '::1]',
    '[::1]x',
    '[::1%25eth0]',
    '[a.b]g',
    '[]',
    'b\xfccher.example',
    'a\tb',
    '"a"',
    'a;b',
    'http://a',
    'a'.repeat(261),
  ]) {
    assert.equal(parseAuthority(text), undefined, text);
  }
});
