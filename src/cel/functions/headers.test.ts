import { test } from 'node:test';
import { allFail, allRefused, allTrue } from '../expressions.testing.ts';

test('each view of the header fields shows its own form', () => {
  allTrue(
    'request.headers["x-two"] == ["a,b", "c"]',
    'request.headers.raw()["X-Two"] == ["a,b", "c"] && request.headers.raw()["x-one"] == ["1"]',
    'request.headers.split()["X-Two"] == ["a", "b", "c"]',
    'request.headers.join()["x-two"] == "a,b,c"',
  );
});

test('the last value of several views counts', () => {
  allTrue(
    'request.headers.join().raw()["x-two"] == ["a,b", "c"]',
    'request.headers.split().redacted().join()["x-two"] == "a,b,c"',
    'request.headers.join().redacted().raw()["x-two"] == ["a,b", "c"]',
    'request.headers.raw().split()["x-two"] == ["a", "b", "c"]',
  );
});

test('credentials can be removed from logged values', () => {
  allTrue(
    'request.headers.redacted().authorization == "<redacted>"',
    'request.headers.redacted().Cookie == "<redacted>"',
    'request.headers.redacted()["x-one"] == "1"',
    'request.headers.redacted().split()["authorization"] == ["<redacted>"]',
    'request.headers.raw().redacted().authorization == "<redacted>"',
  );
});

test('a cookie is found by its name, and missing is not empty', () => {
  allTrue('request.headers.cookie("sid") == "s1"', 'default(request.headers.cookie("no"), "-") == "-"');
  allFail('request.headers.cookie("no") == ""');
});

test('queries are read and changed without touching the rest', () => {
  allTrue(
    'request.path.query("x") == ["1", "2"]',
    'default(request.path.query("no"), []) == []',
    '"/p?a=%20b".query("a") == [" b"]',
    '"/a?foo=bar&foo=baz".addQuery("foo", "qux") == "/a?foo=bar&foo=baz&foo=qux"',
    '"/a".addQuery("k", "v &") == "/a?k=v%20%26"',
    '"http://e/a?foo=bar&z=%7e&foo=baz".setQuery("foo", "qux") == "http://e/a?foo=qux&z=%7e"',
    '"/a?z=1".setQuery("foo", "qux") == "/a?z=1&foo=qux"',
    '"/a?f%6fo=1#x".setQuery("foo", "2") == "/a?foo=2#x"',
  );
  allFail('request.path.query("no") == []');
  allRefused(/no function query takes/, 'request.path.query(1)');
});
