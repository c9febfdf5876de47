import assert from 'node:assert/strict';
import test from 'node:test';
import type { Match, PathMatch, Route } from './model.ts';
import { hostnameMatches, reachableHostnames, sortedRules } from './precedence.ts';

const place = { file: 'test', line: 1, column: 1, path: '' };

function match(path: PathMatch, rest: Partial<Match> = {}): Match {
  return { path, headers: [], query: [], ...rest };
}

function route(name: string, matches: readonly Match[], hostnames: readonly string[] = []): Route {
  return { name, hostnames, matches, policies: [], backends: [], place };
}

const prefix = (value: string): PathMatch => ({ kind: 'prefix', value });
const exact = (value: string): PathMatch => ({ kind: 'exact', value });
const regex = (value: string): PathMatch => ({ kind: 'regex', value });
const order = (routes: readonly Route[], hostname?: string): string[] =>
  sortedRules({ routes, ...(hostname === undefined ? {} : { hostname }) }).map((rule) => rule.route.name);

test('an exact path goes before any prefix, a longer prefix before a shorter one', () => {
  const routes = [
    route('root', [match(prefix('/'))]),
    route('long', [match(prefix('/a/b'))]),
    route('exact', [match(exact('/a'))]),
  ];
  assert.deepEqual(order(routes), ['exact', 'long', 'root']);
});

test('a regular expression competes with prefixes by the length of its text and wins a tie', () => {
  const routes = [
    route('root', [match(prefix('/'))]),
    route('same', [match(prefix('/abcd'))]),
    route('regex', [match(regex('/a.*d'))]),
    route('longer', [match(prefix('/abcd/e'))]),
  ];
  assert.deepEqual(order(routes), ['longer', 'regex', 'same', 'root']);
});

test('the number of characters that count decides before the length of the text', () => {
  const routes = [
    route('root', [match(prefix('/'))]),
    route('few', [match({ ...regex('/[^/]+/abcdef'), counted: 1 })]),
    route('fewer', [match({ ...regex('/[^/]+/abc'), counted: 1 })]),
    route('short', [match(prefix('/a'))]),
  ];
  assert.deepEqual(order(routes), ['short', 'few', 'fewer', 'root']);
});

test('at the same path a method, then headers, then query parameters, then the list decide', () => {
  const header = { name: 'x', kind: 'exact', value: '1' } as const;
  const path = prefix('/a');
  const routes = [
    route('first', [match(path)]),
    route('second', [match(path)]),
    route('query', [match(path, { query: [header] })]),
    route('headers', [match(path, { headers: [header, header] })]),
    route('header', [match(path, { headers: [header], query: [header, header] })]),
    route('method', [match(path, { method: 'GET' })]),
  ];
  assert.deepEqual(order(routes), ['method', 'headers', 'header', 'query', 'first', 'second']);
});

test('the host name decides before the path', () => {
  const routes = [
    route('any', [match(exact('/a'))]),
    route('wild', [match(prefix('/'))], ['*.example.com']),
    route('deeper', [match(prefix('/'))], ['*.api.example.com']),
    route('exact', [match(prefix('/'))], ['a.io']),
  ];
  assert.deepEqual(order(routes), ['exact', 'deeper', 'wild', 'any']);
});

test('each match and each host name of a route is a rule of its own', () => {
  const both = route('both', [match(exact('/a')), match(prefix('/'))], ['a.io', 'b.io']);
  assert.deepEqual(
    sortedRules({ routes: [both] }).map((rule) => [rule.hostname, rule.match.path.value]),
    [
      ['a.io', '/a'],
      ['b.io', '/a'],
      ['a.io', '/'],
      ['b.io', '/'],
    ],
  );
});

test('a route is reached under the names it shares with the listener', () => {
  assert.deepEqual(reachableHostnames(undefined, []), [undefined]);
  assert.deepEqual(reachableHostnames('a.example.com', []), [undefined]);
  assert.deepEqual(reachableHostnames('a.example.com', ['*.example.com']), ['a.example.com']);
  assert.deepEqual(reachableHostnames('*.example.com', ['a.example.com', 'b.io']), ['a.example.com']);
  assert.deepEqual(reachableHostnames('*.example.com', ['*.a.example.com']), ['*.a.example.com']);
  assert.deepEqual(reachableHostnames('*.a.example.com', ['*.example.com']), ['*.a.example.com']);
  assert.deepEqual(reachableHostnames('*.example.com', ['example.com']), []);
  assert.deepEqual(reachableHostnames(undefined, ['a.io', '*']), ['a.io', undefined]);
  assert.deepEqual(reachableHostnames('*.example.com', ['*']), [undefined]);
  assert.deepEqual(order([route('out', [match(prefix('/'))], ['b.io'])], 'a.io'), []);
});

test('a wildcard stands for one or more labels and never for none', () => {
  assert.equal(hostnameMatches('*.example.com', 'a.example.com'), true);
  assert.equal(hostnameMatches('*.example.com', 'a.b.example.com'), true);
  assert.equal(hostnameMatches('*.example.com', 'example.com'), false);
  assert.equal(hostnameMatches('*.example.com', '.example.com'), false);
  assert.equal(hostnameMatches('*.example.com', 'aexample.com'), false);
  assert.equal(hostnameMatches('example.com', 'a.example.com'), false);
  assert.equal(hostnameMatches(undefined, ''), true);
});
