import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { GatewayError } from '../../errors.ts';
import { normalizePath } from '../../http/index.ts';
import {
  hostnameMatches,
  sortedRules,
  type HttpListener,
  type Match,
  type Route,
} from '../../model/index.ts';
import { beginningOf, beginSearch, compileMatch, type Matchable } from './match.ts';
import { Router } from './router.ts';

/** Looks for the rules that hold. Each look has work of its own, as each request has. */
function looked<T>(look: () => T): T {
  beginSearch();
  try {
    return look();
  } catch (error) {
    // A random listener may have expressions that no request may work through: it says nothing about the order.
    fc.pre(!(error instanceof GatewayError && error.code === 'route_work_limit'));
    throw error;
  }
}

/** The reference for the router: it tries every rule in the order of precedence. */
function linear(listener: Pick<HttpListener, 'hostname' | 'routes'>): {
  holding: (request: Matchable, host: string) => string[];
  forPath: (host: string, path: string) => string[];
  any: (host: string) => string[];
} {
  const rules = sortedRules(listener).map(({ hostname, match, route }) => ({
    reaches: (host: string) => hostnameMatches(hostname, host),
    match: compileMatch(match),
    name: `${route.name} ${match.path.value}`,
    route: route.name,
  }));
  return {
    holding: (request, host) =>
      rules
        .filter(
          ({ reaches, match }) =>
            reaches(host) && match.path(request.path) && match.rest?.(request) !== false,
        )
        .map(({ name }) => name),
    forPath: (host, path) =>
      rules.filter(({ reaches, match }) => reaches(host) && match.path(path)).map(({ route }) => route),
    any: (host) => rules.filter(({ reaches }) => reaches(host)).map(({ route }) => route),
  };
}

const place = { file: 'test', line: 1, column: 1, path: '' };
const segment = fc.constantFrom('a', 'b', 'ab', 'a-b', '%7e', '~', '', 'v1', 'A');
const path = fc.array(segment, { maxLength: 4 }).map((segments) => `/${segments.join('/')}`);
const pieces = [
  '/',
  'a',
  'b',
  '/a',
  '/a/',
  '(b|c)',
  '|',
  '.*',
  '[^/]+',
  '?',
  '*',
  '+',
  '{2}',
  '{0,1}',
  '^',
  '$',
  '(?:a|/b)',
];
const odd = [
  '[(]',
  '\\|',
  '\\Q(\\E',
  '[|)]',
  '[]|]',
  '[\\]|]',
  '\\(',
  '(?i)',
  '\\Q\\E',
  '/(a|b)/',
  '[[:alpha:]|]',
  '.',
  '-',
  '%7E',
];
const regex = fc
  .array(fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...pieces) }, fc.constantFrom(...odd)), {
    maxLength: 6,
  })
  .map((parts) => `/${parts.join('')}`)
  .filter(compiles);
const hostname = fc.constantFrom(
  'a.example.com',
  'x.a.example.com',
  '*.example.com',
  '*.a.example.com',
  '*.com',
  'example.com',
  'b.org',
);
const host = fc.oneof(
  hostname.map((name) => name.replace('*', 'y.z')),
  fc.constantFrom('', 'com', '[::1]', 'other'),
);

const match: fc.Arbitrary<Match> = fc
  .record({
    path: fc.oneof(
      { weight: 3, arbitrary: path.map((value) => ({ kind: 'prefix' as const, value })) },
      { weight: 2, arbitrary: path.map((value) => ({ kind: 'exact' as const, value })) },
      { weight: 2, arbitrary: regex.map((value) => ({ kind: 'regex' as const, value })) },
    ),
    method: fc.option(fc.constantFrom('GET', 'POST'), { nil: undefined }),
    headers: fc.array(
      fc.constantFrom('x-a', 'x-b').map((name) => ({ name, kind: 'exact' as const, value: '1' })),
      { maxLength: 2 },
    ),
    query: fc.array(fc.constant({ name: 'q', kind: 'exact' as const, value: '1' }), { maxLength: 1 }),
  })
  .map(({ method, ...rest }) => (method === undefined ? rest : { ...rest, method }));

const routes: fc.Arbitrary<Route[]> = fc
  .array(
    fc.record({
      hostnames: fc.array(hostname, { maxLength: 3 }),
      matches: fc.array(match, { minLength: 1, maxLength: 4 }),
    }),
    { maxLength: 12 },
  )
  .map((list) =>
    list.map((route, index) => ({ ...route, name: `r${index}`, policies: [], backends: [], place })),
  );

const request = fc.record({
  // Requests come with their paths normalised.
  path: fc.oneof({ weight: 9, arbitrary: path.map((text) => normalizePath(text) ?? '/') }, fc.constant('*')),
  method: fc.constantFrom('GET', 'POST', 'PUT'),
  query: fc.constantFrom('', 'q=1'),
  headers: fc.subarray(['x-a', 'x-b']),
});

const listener = fc
  .record({ routes, hostname: fc.option(hostname, { nil: undefined }) })
  .map(({ routes: list, hostname: own }) =>
    own === undefined ? { routes: list } : { routes: list, hostname: own },
  );

function compiles(text: string): boolean {
  try {
    compileMatch({ path: { kind: 'regex', value: text }, headers: [], query: [] });
    return true;
  } catch {
    return false;
  }
}

const runs = { numRuns: Number(process.env.FUZZ_RUNS ?? 1_500) };

test('the router finds the rule that a scan of all rules in their order finds', () => {
  fc.assert(
    fc.property(
      listener,
      fc.array(fc.tuple(request, host), { minLength: 5, maxLength: 20 }),
      (at, requests) => {
        const scan = linear(at);
        const router = new Router(at, (index) => at.routes[index]?.name);
        for (const [{ headers, ...rest }, name] of requests) {
          const asked = {
            ...rest,
            authority: name,
            scheme: 'http',
            header: (field: string) => (headers.includes(field) ? '1' : undefined),
          };
          const found = looked(() => router.find(asked, name, asked.path));
          const [first] = looked(() => scan.holding(asked, name));
          assert.equal(found && `${found.route} ${found.rule.written}`, first);
        }
      },
    ),
    runs,
  );
});

test('rules are looked through for a path, and for a host, in the same order', () => {
  fc.assert(
    fc.property(listener, path, host, (at, asked, name) => {
      const scan = linear(at);
      const router = new Router(at, (index) => at.routes[index]?.name);
      const seen: (string | undefined)[] = [];
      const note = (route: string | undefined): false => {
        seen.push(route);
        return false;
      };
      assert.equal(
        looked(() => router.findByPath(name, asked, note)),
        undefined,
      );
      assert.deepEqual(
        seen,
        looked(() => scan.forPath(name, asked)),
      );
      seen.length = 0;
      assert.equal(router.findAny(name, note), undefined);
      assert.deepEqual(seen, scan.any(name));
    }),
    runs,
  );
});

test('the beginning of a regular expression is found where it is sure, and only there', () => {
  for (const [text, expected] of [
    ['/users/[0-9]+', '/users'],
    ['^/users/[0-9]+$', '/users'],
    ['/users/.*', '/users'],
    ['/users.*', ''],
    ['/a/b/c', '/a/b'],
    ['/a/b/?', '/a'],
    ['/a/b/*', '/a'],
    ['/a/b/+', '/a/b'],
    ['/a/b/{0,1}', '/a'],
    ['/a/(b|c)/d', '/a'],
    ['/a/(b|c)/[0-9]+', '/a'],
    ['/a/(?i){0,1}b', ''],
    ['/a/b(?i){0,1}', '/a'],
    ['/a/\\Q\\E?b', ''],
    ['/a/b/(?:c|d)', '/a/b'],
    ['/a/x|/b', ''],
    ['/a/[|]b', '/a'],
    ['/a/[(]|/b', ''],
    ['/a/\\(|/b', ''],
    ['/a/\\Q(\\E|/b', ''],
    ['/a/[]|(]|/b', ''],
    ['(?i)/a/b', ''],
    ['(/a)?/b', ''],
    ['.*', ''],
  ] as const)
    assert.equal(beginningOf(text), expected, text);
});
