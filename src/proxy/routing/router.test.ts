import assert from 'node:assert/strict';
import test from 'node:test';
import { GatewayError } from '../../errors.ts';
import type { HttpListener, Match, Route } from '../../model/index.ts';
import { HostTable, Router } from './router.ts';

const place = { file: 'test', line: 1, column: 1, path: '' };
const at = (kind: Match['path']['kind'], value: string, more: Partial<Match> = {}): Match => ({
  path: { kind, value },
  headers: [],
  query: [],
  ...more,
});
const route = (name: string, hostnames: string[], ...matches: Match[]): Route => ({
  name,
  hostnames,
  matches,
  policies: [],
  backends: [],
  place,
});

function routerOf(
  routes: Route[],
  hostname?: string,
): (host: string, path: string, method?: string) => string | undefined {
  const listener: HttpListener = {
    name: 'l',
    protocol: 'HTTP',
    policies: [],
    routes,
    ...(hostname === undefined ? {} : { hostname }),
  };
  const router = new Router(listener, (index) => (routes[index] as Route).name);
  return (host, path, method = 'GET') =>
    router.find(
      { method, path, query: '', authority: host, scheme: 'http', header: () => undefined },
      host,
      path,
    )?.route;
}

test('the exact host wins, then the longest wildcard, then the catch-all', () => {
  const table = new HostTable([
    [undefined, 'all'],
    ['*.example.com', 'wild'],
    ['*.a.example.com', 'longer'],
    ['x.a.example.com', 'exact'],
    ['x.a.example.com', 'second'],
  ]);
  assert.equal(table.find('x.a.example.com'), 'exact');
  assert.equal(table.find('y.a.example.com'), 'longer');
  assert.equal(table.find('a.example.com'), 'wild');
  assert.equal(table.find('b.c.example.com'), 'wild');
  assert.equal(table.find('example.com'), 'all');
  assert.equal(table.find('notexample.com'), 'all');
  assert.equal(table.find(''), 'all');
  assert.equal(new HostTable([['a', 1]]).find('b'), undefined);
});

test('rules are tried in the order of the Gateway API', () => {
  const find = routerOf([
    route('root', [], at('prefix', '/')),
    route('short', [], at('prefix', '/a')),
    route('long', [], at('prefix', '/a/b')),
    route('post', [], at('prefix', '/a/b', { method: 'POST' })),
    route('exact', [], at('exact', '/a/b')),
  ]);
  assert.equal(find('h', '/'), 'root');
  assert.equal(find('h', '/a/x'), 'short');
  assert.equal(find('h', '/a/b/c'), 'long');
  assert.equal(find('h', '/a/b/c', 'POST'), 'post');
  assert.equal(find('h', '/a/b'), 'exact');
  assert.equal(find('h', '/ab'), 'root');
});

test('a request that fails the rules of its own host falls back on those of wider hosts', () => {
  const find = routerOf([
    route('any', [], at('prefix', '/any')),
    route('wild', ['*.example.com'], at('prefix', '/wild')),
    route('exact', ['a.example.com'], at('prefix', '/exact')),
  ]);
  assert.equal(find('a.example.com', '/exact'), 'exact');
  assert.equal(find('a.example.com', '/wild'), 'wild');
  assert.equal(find('a.example.com', '/any'), 'any');
  assert.equal(find('b.example.com', '/exact'), undefined);
  assert.equal(find('other', '/wild'), undefined);
  assert.equal(find('other', '/any'), 'any');
});

test('a host more exact wins over a path more exact', () => {
  const find = routerOf([
    route('path', [], at('exact', '/a')),
    route('host', ['a.example.com'], at('prefix', '/')),
  ]);
  assert.equal(find('a.example.com', '/a'), 'host');
  assert.equal(find('b', '/a'), 'path');
});

test('a route outside the host of its listener is never found', () => {
  const find = routerOf(
    [route('in', ['a.example.com'], at('prefix', '/')), route('out', ['a.other.com'], at('prefix', '/'))],
    '*.example.com',
  );
  assert.equal(find('a.example.com', '/'), 'in');
  assert.equal(find('a.other.com', '/'), undefined);
});

test('several matches of one route are alternatives', () => {
  const find = routerOf([route('r', [], at('exact', '/a'), at('exact', '/b', { method: 'PUT' }))]);
  assert.equal(find('h', '/a'), 'r');
  assert.equal(find('h', '/b', 'PUT'), 'r');
  assert.equal(find('h', '/b'), undefined);
});

test('a route can be looked for by its path alone, or by its host alone', () => {
  const routes = [
    route('a', [], at('prefix', '/a', { method: 'POST' })),
    route('b', ['x.example.com'], at('prefix', '/b')),
  ];
  const router = new Router({ routes }, (index) => routes[index]?.name);
  const every = (): boolean => true;
  assert.equal(router.findByPath('x.example.com', '/a/c', every), 'a');
  assert.equal(router.findByPath('x.example.com', '/c', every), undefined);
  assert.equal(
    router.findByPath('x.example.com', '/a/c', () => false),
    undefined,
  );
  assert.equal(router.findAny('x.example.com', every), 'b');
  assert.equal(router.findAny('other', every), 'a');
});

/** Letters that no few states describe. */
const noise = Array.from({ length: 6000 }, (_, i) => ((Math.imul(i, i) >>> 5) ^ (i % 7)) & 1).join('');

test('regular expressions that take too much work together end the search instead of the time of all others', () => {
  const slow = Array.from({ length: 20 }, (_, i) => at('regex', `/.*0.{200}x${i}`));
  const find = routerOf([
    route('slow', ['slow.test'], ...slow),
    route('rest', ['slow.test'], at('prefix', '/')),
  ]);
  assert.throws(
    () => find('slow.test', `/${noise}`),
    (error) => error instanceof GatewayError && error.code === 'route_work_limit',
  );
  // The next request has a budget of its own.
  assert.equal(find('slow.test', '/01'), 'rest');
});

test('thousands of ordinary expressions are within the limit of work', () => {
  const many = Array.from({ length: 5000 }, (_, i) => route(`r${i}`, [], at('regex', `.*\\.type${i}`)));
  const find = routerOf(many);
  assert.equal(find('a.test', '/some/path/to/a/file.type4999'), 'r4999');
  assert.equal(find('a.test', '/some/path/to/a/file.other'), undefined);
});

test('a path longer than 8 KiB matches no regular expression', () => {
  const find = routerOf([route('a', [], at('regex', '/.*'))]);
  assert.equal(find('a.test', `/${'a'.repeat(8191)}`), 'a');
  assert.equal(find('a.test', `/${'a'.repeat(8192)}`), undefined);
});
