import assert from 'node:assert/strict';
import test from 'node:test';
import type { Match, PathMatch, ValueMatch } from '../../model/index.ts';
import { compileMatch, type Matchable } from './match.ts';

const requestOf = (
  method: string,
  target: string,
  headers: Readonly<Record<string, string>> = {},
): Matchable => {
  const [path = '', query = ''] = target.split('?');
  return {
    method,
    path,
    query,
    authority: headers['host'] ?? '',
    scheme: 'http',
    header: (name) => (Object.hasOwn(headers, name) ? headers[name] : undefined),
  };
};

function matches(match: Partial<Match>, request: Matchable): boolean {
  const compiled = compileMatch({ path: { kind: 'prefix', value: '/' }, headers: [], query: [], ...match });
  return compiled.path(request.path) && compiled.rest?.(request) !== false;
}

const byPath = (kind: PathMatch['kind'], value: string, path: string): boolean =>
  matches({ path: { kind, value } }, requestOf('GET', path));

const exact = (name: string, value: string): ValueMatch => ({ name, kind: 'exact', value });
const regex = (name: string, value: string): ValueMatch => ({ name, kind: 'regex', value });

test('an exact path is that path alone', () => {
  assert.equal(byPath('exact', '/a', '/a'), true);
  for (const path of ['/a/', '/A', '/ab', '/', '/a/b'])
    assert.equal(byPath('exact', '/a', path), false, path);
});

test('a prefix holds for whole segments, with or without a slash at its end', () => {
  for (const prefix of ['/a', '/a/']) {
    for (const path of ['/a', '/a/', '/a/b']) assert.equal(byPath('prefix', prefix, path), true, path);
    for (const path of ['/ab', '/', '/b/a', '/A']) assert.equal(byPath('prefix', prefix, path), false, path);
  }
  for (const path of ['/', '/a', '//', '*']) assert.equal(byPath('prefix', '/', path), true, path);
});

test('a regex must hold for the whole path, and cannot hang', () => {
  assert.equal(byPath('regex', '/a|/b', '/b'), true);
  assert.equal(byPath('regex', '/a', '/a/b'), false);
  assert.equal(byPath('regex', '/a.*', '/a/b'), true);
  assert.equal(byPath('regex', '/(a+)+b', `/${'a'.repeat(5_000)}`), false);
});

test('the path of a rule is normalised like that of a request', () => {
  assert.equal(byPath('exact', '/%7euser', '/~user'), true);
  assert.equal(byPath('prefix', '/a%2fb', '/a%2Fb/c'), true);
});

test('a method is compared as sent', () => {
  assert.equal(matches({ method: 'GET' }, requestOf('GET', '/')), true);
  assert.equal(matches({ method: 'GET' }, requestOf('get', '/')), false);
  assert.equal(matches({ method: 'GET' }, requestOf('HEAD', '/')), false);
});

test('header rules hold for a name in any case and the whole value', () => {
  const request = requestOf('GET', '/', { 'x-a': 'one', 'x-b': '' });
  assert.equal(matches({ headers: [exact('X-A', 'one')] }, request), true);
  assert.equal(matches({ headers: [exact('x-a', 'on')] }, request), false);
  assert.equal(matches({ headers: [regex('x-a', 'o.e')] }, request), true);
  assert.equal(matches({ headers: [regex('x-a', 'o')] }, request), false);
  assert.equal(matches({ headers: [exact('x-b', '')] }, request), true);
  assert.equal(matches({ headers: [regex('x-c', '.*')] }, request), false);
  assert.equal(matches({ headers: [exact('x-a', 'one'), exact('x-b', 'x')] }, request), false);
});

test('pseudo headers stand for the parts of the request line', () => {
  const request = requestOf('PUT', '/a?b=c', { host: 'h:80' });
  assert.equal(matches({ headers: [exact(':method', 'PUT')] }, request), true);
  assert.equal(matches({ headers: [exact(':path', '/a?b=c')] }, request), true);
  assert.equal(matches({ headers: [exact(':path', '/%61?b=c')] }, request), true);
  assert.equal(matches({ headers: [exact(':path', '/a')] }, request), false);
  assert.equal(matches({ headers: [exact(':authority', 'H:80')] }, request), true);
  assert.equal(matches({ headers: [regex(':authority', 'h:[0-9]+')] }, request), true);
  assert.equal(matches({ headers: [exact(':scheme', 'HTTP')] }, request), true);
  assert.equal(matches({ headers: [exact(':scheme', 'https')] }, request), false);
  assert.equal(matches({ headers: [regex('constructor', '.*')] }, request), false);
});

test('query rules see decoded values, and the first of a repeated parameter', () => {
  const request = requestOf('GET', '/?a=1&a=2&b=x%20y+z&c');
  assert.equal(matches({ query: [exact('a', '1')] }, request), true);
  assert.equal(matches({ query: [exact('a', '2')] }, request), false);
  assert.equal(matches({ query: [exact('b', 'x y z')] }, request), true);
  assert.equal(matches({ query: [exact('c', '')] }, request), true);
  assert.equal(matches({ query: [regex('d', '.*')] }, request), false);
  assert.equal(matches({ query: [regex('a', '[0-9]'), exact('c', '')] }, request), true);
});

test('a match without conditions besides the path asks for nothing else', () => {
  assert.equal(compileMatch({ path: { kind: 'exact', value: '/' }, headers: [], query: [] }).rest, undefined);
});
