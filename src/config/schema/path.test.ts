import assert from 'node:assert/strict';
import { test } from 'node:test';
import { path } from './path.ts';

const problemOf = (text: string): string | undefined => path.safeParse(text).error?.issues[0]?.message;

test('a path is matched as requests have it: percent-encoded', () => {
  assert.equal(path.parse('/ü/€/😀'), '/%C3%BC/%E2%82%AC/%F0%9F%98%80');
  for (const text of ['/', '/a/b', '/%C3%BC', '/a%20b', '/a%2Fb', '/|', '/a;b', '/a/../b'])
    assert.equal(path.parse(text), text);
});

test('a path that no request can have is refused, and the message names the reason', () => {
  for (const [text, problem] of [
    ['', /begins with \//],
    ['a', /begins with \//],
    ['/a?b', /"\?", which begins the query/],
    ['/a#b', /write %23/],
    ['/m n', /write %20/],
    ['/a\u0001', /control character/],
    ['/x%zz', /two hexadecimal digits/],
    ['/w%', /two hexadecimal digits/],
    ['/y\\z', /backslash/],
    ['/y%5cz', /backslash/],
    ['/a%0A', /control character/],
    ['/\ud800', /./],
  ] as const)
    assert.match(problemOf(text) ?? '', problem, text);
});
