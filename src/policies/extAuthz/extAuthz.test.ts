import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { ownCookieNames } from '../facts.ts';
import { clientHeaders } from '../clientHeaders.ts';
import { FakeExchange } from '../exchange.testing.ts';
import { lengthTag } from '../protobufFields.ts';
import { allowedAsIs, applyAllowed, deniedReply } from './decision.ts';
import { extAuthzFacts, extAuthzSchema } from './facts.ts';
import { decodeDecision } from './wire.ts';

const problems = (settings: object): string[] =>
  (extAuthzSchema.safeParse(settings).error?.issues ?? []).map(
    ({ path, message }) => `${path.join('.')}: ${message}`,
  );
const host = 'authz.test:4446';

test('gRPC, 403 without a decision, and two seconds are what a service has without further fields', () => {
  assert.deepEqual(extAuthzSchema.parse({ host }), {
    host: 'authz.test',
    port: 4446,
    protocol: { name: 'grpc', context: {}, metadata: undefined },
    timeoutMs: 2_000,
    failureMode: 'deny',
    includeRequestHeaders: undefined,
  });
});

test('settings that cannot work are refused with their place', () => {
  for (const [settings, expected] of [
    [{}, /^: expected either host or backend/],
    [{ host, backend: 'a' }, /expected either host or backend, got both/],
    [{ host, protocol: {} }, /^protocol: expected either grpc or http/],
    [{ host, protocol: { grpc: {}, http: {} } }, /^protocol: expected either grpc or http/],
    [{ host, failureMode: 'open' }, /^failureMode/],
    [{ host, failureMode: { denyWithStatus: 200 } }, /^failureMode/],
    [
      { host, protocol: { http: { path: 'request.metod' } } },
      /^protocol\.http\.path: request has no member metod/,
    ],
    [{ host, protocol: { http: { path: '1' } } }, /^protocol\.http\.path: expected a string/],
    [{ host, protocol: { http: { path: 'response.code' } } }, /^protocol\.http\.path: response/],
    [
      { host, protocol: { http: { includeResponseHeaders: ['Content-Length'] } } },
      /includeResponseHeaders\.0/,
    ],
    [{ host, protocol: { http: { addRequestHeaders: { host: '"a"' } } } }, /addRequestHeaders/],
    [{ host, protocol: { http: {} }, includeRequestHeaders: ['a', ':path'] }, /^includeRequestHeaders\.1/],
    [{ host, includeRequestHeaders: ['not a name'] }, /^includeRequestHeaders\.0/],
    [{ host, includeRequestBody: { maxRequestBytes: -1 } }, /^includeRequestBody\.maxRequestBytes/],
    [
      { host, includeRequestBody: { allowPartialMessage: true } },
      /^includeRequestBody\.allowPartialMessage: known, but not built yet/,
    ],
    [{ host, cache: { key: ['request.metod'], ttl: '1m' } }, /^cache\.key\.0: request has no member metod/],
    [{ host, cache: { key: ['request.path'], ttl: 'jwt.' } }, /^cache\.ttl/],
    [{ host, cache: { key: ['request.path'] } }, /^cache\.ttl/],
    [
      { host, cache: { key: ['request.path'], ttl: '"long"' } },
      /^cache\.ttl: expected a duration, a timestamp/,
    ],
    [{ conditional: [] }, /^conditional: known, but not built yet/],
  ] as const)
    assert.match(problems(settings).join('\n'), expected, JSON.stringify(settings));
});

test('a memory of decisions that keeps none, or does not know the body, gets a warning', () => {
  const warnings = (settings: object): readonly string[] =>
    extAuthzFacts.warnings(extAuthzSchema.parse({ host, ...settings }));
  assert.deepEqual(warnings({ includeRequestBody: {} }), []);
  assert.deepEqual(warnings({ cache: { key: ['request.path'], ttl: '1m' } }), []);
  assert.match(warnings({ cache: { key: [], ttl: '1m' } }).join(), /keeps no decision/);
  const withBody = { cache: { key: ['request.path'], ttl: '1m' }, includeRequestBody: {} };
  assert.match(warnings(withBody).join(), /one body for all/);
});

test('a service gets the cookies of the app, and none by which the gateway knows a login', () => {
  const [own = ''] = ownCookieNames;
  const exchange = new FakeExchange({
    headers: [
      ['cookie', `a=1; __Host-${own}-x0=sealed; ${own}=sealed`],
      ['cookie', `${own}-1=sealed`],
    ],
  });
  const cookies = (): readonly string[] =>
    clientHeaders(exchange, (name) => name === 'cookie').map(([, value]) => value);
  assert.deepEqual(cookies(), ['a=1']);
  // As a policy does that finds its key in a cookie.
  exchange.requestHeaders.set('cookie', 'b=2');
  assert.deepEqual(cookies(), ['b=2']);
  exchange.requestHeaders.remove('cookie');
  assert.deepEqual(cookies(), []);
});

test('the response of a service that refuses has no field that frames it, and no broken one', () => {
  assert.deepEqual(
    deniedReply(
      401,
      [
        ['x-why', 'because'],
        ['content-length', '1'],
        ['transfer-encoding', 'chunked'],
        ['connection', 'close'],
        ['x-a', 'b\r\nc: d'],
        ['x b', 'c'],
      ],
      'no',
    ),
    { status: 401, headers: [['x-why', 'because']], body: 'no' },
  );
});

test('an answer that is no message of the protocol is refused', () => {
  for (const bytes of ['ff', '0a05', '1a031a01ff', '22020aff'])
    assert.throws(() => decodeDecision(Buffer.from(bytes, 'hex')), bytes);
  assert.equal(decodeDecision(Buffer.alloc(0)).kind, 'allowed');
});

test('an answer with more changes than a request needs is refused', () => {
  const message = (field: number, bytes: Buffer): Buffer =>
    Buffer.from(new BinaryWriter().uint32(lengthTag(field)).bytes(bytes).finish());
  const header = message(1, message(1, Buffer.from('x-a')));
  const allowed = (field: number, count: number): Buffer =>
    message(3, Buffer.concat(Array.from({ length: count }, () => message(field, header))));
  for (const field of [2, 5, 6, 7, 8]) {
    assert.equal(decodeDecision(allowed(field, 256)).kind, 'allowed');
    assert.throws(() => decodeDecision(allowed(field, 257)), /more than 256 changes/);
  }
});

test('a service sets no cookie by which the gateway knows a login', () => {
  const [own = ''] = ownCookieNames;
  const cookies = ['a=1', `__Host-${own}=sealed; Path=/`].map((value) => ['set-cookie', value] as const);
  assert.deepEqual(deniedReply(403, cookies, '').headers, [['set-cookie', 'a=1']]);
  const exchange = new FakeExchange();
  const responseHeaders = cookies.map(([name, value]) => ({ action: 'add', name, value }) as const);
  applyAllowed(exchange, { ...allowedAsIs, responseHeaders });
  assert.deepEqual(exchange.responseHeaders.lines, [['set-cookie', 'a=1']]);
});
