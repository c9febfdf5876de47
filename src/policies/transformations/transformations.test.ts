import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../errors.ts';
import type { HeaderLine } from '../../http/index.ts';
import { FakeExchange, type FakeRequest } from '../exchange.testing.ts';
import type { Identity } from '../policy.ts';
import { prepared } from '../tools.testing.ts';
import { transformations } from './index.ts';

const ada: Identity = {
  issuer: 'https://issuer.test',
  subject: 'ada',
  claims: {
    sub: 'ada',
    name: 'Ada Łovelace',
    level: 3,
    share: 0.5,
    admin: true,
    groups: ['a', 'ł'],
    none: null,
  },
};

/** The headers that the backend gets of a request with these ones. */
function sent(
  request: object,
  fake: FakeRequest = {},
  before?: (exchange: FakeExchange) => void,
): HeaderLine[] {
  const exchange = new FakeExchange(fake);
  before?.(exchange);
  assert.equal(prepared(transformations, { request }).onRequest?.(exchange), undefined);
  return exchange.requestHeaders.apply(exchange.request.headerLines());
}

const set = (values: Readonly<Record<string, string>>, fake?: FakeRequest): HeaderLine[] =>
  sent({ set: values }, fake);

const problems = (settings: unknown): string[] =>
  (transformations.schema.safeParse(settings).error?.issues ?? []).map(
    ({ path, message }) => `${path.join('.')}: ${message}`,
  );

test('headers of a request are added, then set, then removed', () => {
  const request = {
    add: { 'X-More': '"b"', 'X-Both': '"2"' },
    set: { 'X-Set': 'request.method', 'X-Both': '"1"', 'X-Gone': '"2"' },
    remove: ['X-Gone', 'X-Client'],
  };
  const headers: HeaderLine[] = [
    ['x-more', 'a'],
    ['x-set', 'old'],
    ['x-set', 'older'],
    ['x-client', '1'],
    ['x-kept', '1'],
  ];
  assert.deepEqual(sent(request, { headers }), [
    ['x-more', 'a'],
    ['x-kept', '1'],
    ['x-more', 'b'],
    ['x-set', 'GET'],
    ['x-both', '1'],
  ]);
});

test('a header whose expression fails or has no value is removed, also where the client sent it', () => {
  const headers: HeaderLine[] = [['x-user', 'root']];
  for (const source of ['jwt.sub', 'jwt.none', 'request.headers["x-none"]', 'null'])
    assert.deepEqual(set({ 'X-User': source }, { headers }), [], source);
  assert.deepEqual(set({ 'x-user': 'jwt.none' }, { headers, identity: ada }), []);
  assert.deepEqual(set({ 'x-user': 'jwt.sub' }, { headers, identity: ada }), [['x-user', 'ada']]);
});

test('a value that cannot stand in a header is not sent, and its failure is reported', () => {
  const headers: HeaderLine[] = [['x-a', 'root']];
  const values = ['"a\\r\\nx-b: 1"', '"a\\nb"', '"a\\u0000b"', '"é"', '" a"', 'b"\\xff"', '"\\u007f"'];
  for (const source of values) {
    const failures: unknown[] = [];
    const lines = sent({ set: { 'x-a': source } }, { headers }, (exchange) =>
      Object.assign(exchange, { expressionFailed: (by: object) => failures.push(by) }),
    );
    assert.deepEqual(lines, [], source);
    assert.partialDeepStrictEqual(failures, [{ policy: 'transformations', place: '.request.set.x-a' }]);
  }
  const long = { headers: [['x-long', 'a'.repeat(9_000)]] as HeaderLine[] };
  assert.deepEqual(sent({ set: { 'x-a': 'request.headers["x-long"]' }, remove: ['x-long'] }, long), []);
});

test('a header to be added keeps the lines of the client where the expression fails', () => {
  assert.deepEqual(sent({ add: { 'x-a': 'jwt.sub' } }, { headers: [['x-a', '1']] }), [['x-a', '1']]);
});

test('strings and bytes stay as they are, scalars become text, lists and maps JSON', () => {
  const value = (source: string): string | undefined =>
    set({ 'x-a': source }, { identity: ada }).find(([name]) => name === 'x-a')?.[1];
  assert.deepEqual(
    [
      '"a b"',
      'b"abc"',
      'jwt.level',
      'jwt.share',
      'jwt.admin',
      '7u',
      'duration("1500ms")',
      'timestamp("2026-01-02T03:04:05Z")',
      'jwt.groups',
      '{"name": jwt.name, "at": timestamp("2026-01-02T03:04:05Z"), "n": 1}',
      '""',
    ].map(value),
    [
      'a b',
      'abc',
      '3',
      '0.5',
      'true',
      '7',
      '1.5s',
      '2026-01-02T03:04:05Z',
      '["a","\\u0142"]',
      '{"name":"Ada \\u0141ovelace","at":"2026-01-02T03:04:05Z","n":1}',
      '',
    ],
  );
});

test('expressions see no credential that a policy has taken out of the request, and no cookie of a login', () => {
  const fake: FakeRequest = {
    target: '/a?key=secret&b=1',
    headers: [
      ['authorization', 'Bearer secret'],
      ['cookie', 'theme=dark; __Host-portcullis-oidc=secret'],
    ],
  };
  const take = (exchange: FakeExchange): void => {
    exchange.requestHeaders.remove('authorization');
    exchange.forwardTarget = '/a?b=1';
  };
  const values = {
    'x-token': 'request.headers.authorization',
    'x-cookie': 'request.headers.cookie',
    'x-path': 'request.path',
    'x-target': 'request.pathAndQuery',
    'x-uri': 'request.uri',
  };
  const lines = sent({ set: values, remove: ['cookie'] }, fake, take);
  assert.deepEqual(lines, [
    ['x-cookie', 'theme=dark'],
    ['x-path', '/a'],
    ['x-target', '/a?b=1'],
    ['x-uri', 'http://gateway.test/a?b=1'],
  ]);
});

test('path and host of the request for the backend can be set', () => {
  const exchange = new FakeExchange({ target: '/a?b=1', headers: [['x-tenant', 'blue']] });
  const values = {
    ':path': '"/" + request.headers["x-tenant"] + request.pathAndQuery',
    ':authority': 'request.headers["x-tenant"] + ".App.test:8443"',
  };
  assert.equal(prepared(transformations, { request: { set: values } }).onRequest?.(exchange), undefined);
  assert.equal(exchange.forwardTarget, '/blue/a?b=1');
  assert.deepEqual(exchange.forwardHost, { kind: 'full', authority: 'blue.app.test:8443' });
  assert.ok(exchange.requestHeaders.empty);
});

test('a request whose path or host has no usable value is refused', () => {
  const refused = (name: string, source: string, tenant: string): void => {
    const exchange = new FakeExchange({ headers: [['x-tenant', tenant]] });
    const { onRequest } = prepared(transformations, { request: { set: { [name]: source } } });
    assert.throws(
      () => onRequest?.(exchange),
      (error) =>
        error instanceof GatewayError && error.code === 'policy_failed' && !error.detail?.includes(tenant),
      `${name} ${tenant}`,
    );
  };
  const below = '"/tenants/" + request.headers["x-tenant"]';
  for (const tenant of [
    '../admin',
    'x/../../admin',
    '..%2Fadmin',
    '%2e%2e/x',
    'a b',
    'a#b',
    'a\\b',
    '%zz',
    'é',
  ])
    refused(':path', below, tenant);
  refused(':path', 'request.headers["x-tenant"]', 'no-slash');
  refused(':path', 'request.headers["x-tenant"]', 'http://evil.test/');
  refused(':path', 'request.headers["x-none"]', 'none');
  for (const tenant of ['a/b', 'a b', 'user@a', 'a:99999', 'a,b'])
    refused('host', 'request.headers["x-tenant"]', tenant);
  refused(':authority', 'request.headers["x-none"]', 'none');
});

test('`OPTIONS *` keeps its target', () => {
  const exchange = new FakeExchange({ method: 'OPTIONS', target: '*' });
  const { onRequest } = prepared(transformations, { request: { set: { ':path': '"/a"' } } });
  assert.equal(onRequest?.(exchange), undefined);
  assert.equal(exchange.forwardTarget, '*');
});

test('headers of a response are set by its status, its headers and the request', () => {
  const { onRequest, onResponse } = prepared(transformations, {
    response: {
      set: {
        'x-code': 'response.code',
        'x-from': 'response.headers["x-app"] + " " + request.path',
        'x-user': 'jwt.sub',
        'x-none': 'response.headers["x-absent"]',
      },
      add: { vary: '"x-user"' },
      remove: ['server'],
    },
  });
  assert.equal(onRequest, undefined);
  const lines: HeaderLine[] = [
    ['x-app', 'shop'],
    ['server', 'app'],
    ['x-none', 'of the backend'],
  ];
  const head = { get: () => undefined, lines: () => lines };
  const exchange = new FakeExchange({ target: '/a', identity: ada });
  onResponse?.(exchange, 201, head);
  assert.deepEqual(exchange.responseHeaders.apply(lines), [
    ['x-app', 'shop'],
    ['vary', 'x-user'],
    ['x-code', '201'],
    ['x-from', 'shop /a'],
    ['x-user', 'ada'],
  ]);
});

test('an answer of the gateway itself has a status and no headers of a backend', () => {
  const settings = { response: { set: { 'x-code': 'response.code', 'x-app': 'response.headers["x-app"]' } } };
  const exchange = new FakeExchange();
  prepared(transformations, settings).onResponse?.(exchange, 404);
  assert.deepEqual(exchange.responseHeaders.apply([]), [['x-code', '404']]);
});

test('expressions about a response see no header that a policy wrote for the backend', () => {
  const exchange = new FakeExchange({ headers: [['authorization', 'Bearer of the client']] });
  exchange.requestHeaders.set('authorization', 'Bearer of the gateway');
  const settings = { response: { set: { 'x-a': 'request.headers.authorization' } } };
  prepared(transformations, settings).onResponse?.(exchange, 200);
  assert.deepEqual(exchange.responseHeaders.apply([]), []);
});

test('expressions about a response see no key that a policy has taken out of the query', () => {
  const exchange = new FakeExchange({ target: '/a?key=secret&b=1' });
  exchange.clientTarget = '/a?b=1';
  const settings = { response: { set: { 'x-a': 'request.pathAndQuery', 'x-b': 'request.uri' } } };
  prepared(transformations, settings).onResponse?.(exchange, 200);
  assert.deepEqual(exchange.responseHeaders.apply([]), [
    ['x-a', '/a?b=1'],
    ['x-b', 'http://gateway.test/a?b=1'],
  ]);
});

test('expressions draw from the work of the request, and fail where none is left', () => {
  const exchange = new FakeExchange({ headers: [['x-a', 'root']] });
  const steps = prepared(transformations, { request: { set: { 'x-a': 'request.method' } } });
  const before = exchange.workLeft;
  assert.equal(steps.onRequest?.(exchange), undefined);
  assert.ok(exchange.workLeft < before);
  const poor = new FakeExchange({ headers: [['x-a', 'root']] });
  poor.workLeft = 0;
  assert.equal(steps.onRequest?.(poor), undefined);
  assert.deepEqual(poor.requestHeaders.apply(poor.request.headerLines()), []);
});

test('headers of the gateway and names that are none are refused', () => {
  for (const name of [
    'Content-Length',
    'transfer-encoding',
    'Connection',
    'TE',
    'Upgrade',
    'Trailer',
    'a b',
    '',
  ])
    for (const side of ['request', 'response'])
      for (const [field, written] of [
        ['set', { [name]: '"1"' }],
        ['add', { [name]: '"1"' }],
        ['remove', [name]],
      ] as const)
        assert.equal(problems({ [side]: { [field]: written } }).length, 1, `${side} ${field} ${name}`);
  for (const name of ['host', ':authority', ':path']) {
    assert.equal(problems({ request: { add: { [name]: '"a"' } } }).length, 1, name);
    assert.equal(problems({ request: { remove: [name] } }).length, 1, name);
  }
  for (const name of [':authority', ':path'])
    assert.equal(problems({ response: { set: { [name]: '"a"' } } }).length, 1, name);
});

test('fields and pseudo-headers that are not built are refused as known', () => {
  for (const settings of [
    { request: { set: { ':method': '"PUT"' } } },
    { request: { set: { ':scheme': '"https"' } } },
    { response: { set: { ':status': '404' } } },
    { request: { body: '"a"' } },
    { response: { replace: '{}' } },
    { request: { metadata: { a: '"b"' } } },
    { conditional: [] },
  ])
    assert.match(problems(settings).join('\n'), /known, but not built yet/, JSON.stringify(settings));
});

test('expressions and values that can never work are refused', () => {
  for (const settings of [
    { request: { set: { a: 'request.' } } },
    { request: { set: { a: 'response.code' } } },
    { request: { set: { a: 'request.body' } } },
    { response: { set: { a: 'backend.name' } } },
    { response: { set: { a: 'response.body' } } },
    { request: { set: { ':path': '1' } } },
    { request: { set: { host: 'true' } } },
    { request: { set: { a: '"1"', A: '"2"' } } },
    { request: { set: { host: '"a"', ':authority': '"b"' } } },
    { request: { set: { a: 1 } } },
    { request: { sets: {} } },
  ])
    assert.equal(problems(settings).length, 1, `${JSON.stringify(settings)} ${problems(settings).join()}`);
});
