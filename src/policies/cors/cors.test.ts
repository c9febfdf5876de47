import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HeaderLine, Reply } from '../../http/index.ts';
import { FakeExchange } from '../exchange.testing.ts';
import { prepared } from '../tools.testing.ts';
import { cors } from './index.ts';

function ask(
  settings: object,
  method: string,
  headers: HeaderLine[],
): { reply: Reply | undefined; exchange: FakeExchange } {
  const exchange = new FakeExchange({ method, headers });
  const reply = prepared(cors, settings).onRequest?.(exchange);
  assert.ok(!(reply instanceof Promise));
  return { reply, exchange };
}

const preflight = (settings: object, origin: string, ...more: HeaderLine[]) => {
  const { reply } = ask(settings, 'OPTIONS', [
    ['Origin', origin],
    ['Access-Control-Request-Method', 'POST'],
    ...more,
  ]);
  assert.equal(reply?.status, 200);
  return Object.fromEntries(reply.headers ?? []);
};

const simple = (settings: object, origin: string) =>
  Object.fromEntries(ask(settings, 'GET', [['Origin', origin]]).exchange.responseHeaders.lines);

const full = {
  allowOrigins: ['https://app.test'],
  allowMethods: ['GET', 'POST'],
  allowHeaders: ['authorization', 'content-type'],
  exposeHeaders: ['mcp-session-id'],
  allowCredentials: true,
  maxAge: '10m',
};

test('a preflight of an allowed origin is answered with 200 and never forwarded', () => {
  assert.deepEqual(preflight(full, 'https://app.test'), {
    'access-control-allow-origin': 'https://app.test',
    vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
    'access-control-allow-methods': 'GET, POST',
    'access-control-allow-headers': 'authorization, content-type',
    'access-control-expose-headers': 'mcp-session-id',
    'access-control-allow-credentials': 'true',
    'access-control-max-age': '600',
  });
});

test('a preflight of another origin is answered with 200 and no word about it', () => {
  for (const origin of [
    'https://evil.test',
    'http://app.test',
    'https://app.test:8443',
    'https://app.test.evil.test',
    'null',
  ])
    assert.deepEqual(Object.keys(preflight(full, origin)), ['vary']);
});

test('OPTIONS of an allowed origin is answered, also where it asks for no method', () => {
  const { reply } = ask(full, 'OPTIONS', [['Origin', 'https://app.test']]);
  assert.equal(reply?.status, 200);
  assert.deepEqual(Object.fromEntries(reply.headers ?? []), preflight(full, 'https://app.test'));
  const any = ask({ allowOrigins: ['*'], allowMethods: ['*'], allowHeaders: ['*'] }, 'OPTIONS', [
    ['Origin', 'https://app.test'],
  ]);
  assert.deepEqual(
    (any.reply?.headers ?? []).map(([name]) => name),
    ['access-control-allow-origin', 'vary'],
  );
});

test('OPTIONS that is no preflight goes on', () => {
  assert.equal(ask(full, 'OPTIONS', [['Origin', 'https://evil.test']]).reply, undefined);
  assert.equal(ask(full, 'OPTIONS', [['Access-Control-Request-Method', 'GET']]).reply, undefined);
  assert.equal(
    ask(full, 'GET', [
      ['Origin', 'https://app.test'],
      ['Access-Control-Request-Method', 'GET'],
    ]).reply,
    undefined,
  );
});

test('an answer to an allowed origin is marked, one to another is not, and both depend on the origin', () => {
  assert.deepEqual(simple(full, 'https://app.test'), {
    vary: 'Origin',
    'access-control-allow-origin': 'https://app.test',
    'access-control-allow-credentials': 'true',
    'access-control-expose-headers': 'mcp-session-id',
  });
  assert.deepEqual(simple(full, 'https://evil.test'), { vary: 'Origin' });
});

test('the policy, not the backend, says what an origin may read', () => {
  const { exchange } = ask(full, 'GET', [['Origin', 'https://evil.test']]);
  const backend: HeaderLine[] = [
    ['access-control-allow-origin', '*'],
    ['access-control-allow-credentials', 'true'],
    ['vary', 'accept'],
  ];
  assert.deepEqual(exchange.responseHeaders.apply(backend), [
    ['vary', 'accept'],
    ['vary', 'Origin'],
  ]);
});

test('* allows any origin by echoing it, and * for methods and headers echoes the request', () => {
  const open = { allowOrigins: ['*'], allowMethods: ['*'], allowHeaders: ['*'] };
  const headers = preflight(open, 'https://any.test', [
    'Access-Control-Request-Headers',
    'X-A,x-b , bad header,',
  ]);
  assert.equal(headers['access-control-allow-origin'], 'https://any.test');
  assert.equal(headers['access-control-allow-methods'], 'POST');
  assert.equal(headers['access-control-allow-headers'], 'X-A, x-b');
  assert.equal(simple(open, 'https://any.test')['access-control-allow-origin'], 'https://any.test');
});

test('wildcards stand for names below a domain and for ports, and not for its neighbours', () => {
  const wild = { allowOrigins: ['https://*.app.test', 'http://localhost:*'] };
  const allowed = (origin: string): boolean => 'access-control-allow-origin' in simple(wild, origin);
  for (const origin of [
    'https://a.app.test',
    'https://a.b.app.test',
    'HTTPS://A.APP.TEST',
    'http://localhost:6274',
  ])
    assert.equal(allowed(origin), true, origin);
  for (const origin of [
    'https://app.test',
    'https://evilapp.test',
    'http://a.app.test',
    'https://a.app.test:444',
  ])
    assert.equal(allowed(origin), false, origin);
  for (const origin of [
    'https://a.app.test.evil.test',
    'http://localhost.evil.test:1',
    'http://localhost:1@evil.test',
  ])
    assert.equal(allowed(origin), false, origin);
});

test('a scheme with * allows any host of that scheme, with the port that is written', () => {
  const settings = { allowOrigins: ['https://*', 'http://*:8080'] };
  const allowed = (origin: string): boolean => 'access-control-allow-origin' in simple(settings, origin);
  for (const origin of ['https://a.test', 'https://a.b.test', 'http://a.test:8080'])
    assert.equal(allowed(origin), true, origin);
  for (const origin of ['http://a.test', 'https://a.test:444', 'http://a.test:80801', 'null'])
    assert.equal(allowed(origin), false, origin);
});

test('the usual port of a scheme may stand in an origin of the settings, though browsers leave it out', () => {
  const usual = { allowOrigins: ['https://app.test:443', 'http://*.app.test:80'] };
  const allowed = (origin: string): boolean => 'access-control-allow-origin' in simple(usual, origin);
  for (const origin of ['https://app.test', 'https://app.test:443', 'http://a.app.test'])
    assert.equal(allowed(origin), true, origin);
  for (const origin of ['https://app.test:80', 'http://a.app.test:443', 'http://a.app.test:8080'])
    assert.equal(allowed(origin), false, origin);
});

test('settings that would open credentials to every site, or that are no origins, are refused', () => {
  const problems = (settings: object): string[] =>
    (cors.schema.safeParse(settings).error?.issues ?? []).map((issue) => issue.path.join('.'));
  assert.deepEqual(problems({ allowOrigins: ['*'], allowCredentials: true }), ['allowOrigins.0']);
  assert.deepEqual(
    problems({ allowOrigins: ['https://a.test'], allowCredentials: true, exposeHeaders: ['*'] }),
    ['exposeHeaders'],
  );
  assert.deepEqual(problems({ allowOrigins: ['https://a.test/'] }), ['allowOrigins.0']);
  assert.deepEqual(problems({ allowOrigins: ['a.test'] }), ['allowOrigins.0']);
  assert.deepEqual(problems({ allowHeaders: ['a b'] }), ['allowHeaders.0']);
  assert.deepEqual(problems({ maxAge: 'soon' }), ['maxAge']);
  assert.deepEqual(problems({ allowOrigin: [] }), ['']);
});

test('with credentials no pattern is taken that a page of any site can fulfil', () => {
  const patterns = ['*', 'null', 'NULL'];
  for (const scheme of ['https', 'http', 'HTTPS', 'app+x'])
    for (const host of ['*', '*.app.test', 'app.test', '[::1]'])
      for (const port of ['', ':443', ':8080', ':*']) patterns.push(`${scheme}://${host}${port}`);
  const taken = patterns.filter(
    (pattern) => cors.schema.safeParse({ allowOrigins: [pattern], allowCredentials: true }).success,
  );
  assert.ok(taken.includes('https://*.app.test:*'));
  for (const pattern of patterns) {
    const settings = { allowOrigins: [pattern] };
    const attackers = [
      'null',
      ...['https', 'http', 'app+x'].map((scheme) => `${scheme}://evil.test`),
    ].flatMap((origin) => [origin, `${origin}:443`, `${origin}:8080`]);
    const lets = attackers.some((origin) => 'access-control-allow-origin' in simple(settings, origin));
    assert.equal(taken.includes(pattern), !lets, pattern);
  }
});
