import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { GatewayError } from '../../errors.ts';
import { FakeExchange, type FakeRequest } from '../exchange.testing.ts';
import { prepared } from '../tools.testing.ts';
import { apiKey } from './index.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const keys = [
  { key: 'key-of-alice-0001', metadata: { team: 'a', level: 3 } },
  { keyHash: `sha256:${sha256('key-of-bob-000002').toUpperCase()}`, metadata: { team: 'b' } },
  { key: 'key-of-nobody-003' },
];

function call(
  settings: object,
  request: FakeRequest,
): { exchange: FakeExchange; error: GatewayError | undefined } {
  const exchange = new FakeExchange(request);
  try {
    assert.equal(prepared(apiKey, settings).onRequest?.(exchange), undefined);
    return { exchange, error: undefined };
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    return { exchange, error };
  }
}
const bearer = (key: string): FakeRequest => ({ headers: [['Authorization', `Bearer ${key}`]] });

test('a key that is written or given by its digest lets its holder in, and the backend does not get it', () => {
  const alice = call({ keys, mode: 'strict' }, bearer('key-of-alice-0001'));
  assert.equal(alice.error, undefined);
  assert.deepEqual(alice.exchange.apiKey?.metadata, { team: 'a', level: 3 });
  assert.deepEqual(alice.exchange.requestHeaders.apply(alice.exchange.request.headerLines()), []);
  assert.deepEqual(call({ keys }, bearer('key-of-bob-000002')).exchange.apiKey?.metadata, { team: 'b' });
  assert.deepEqual(call({ keys }, bearer('key-of-nobody-003')).exchange.apiKey?.metadata, {});
});

test('holders can be told apart by an id that gives nothing of the key away', () => {
  const id = (key: string) => call({ keys }, bearer(key)).exchange.apiKey?.id ?? '';
  assert.notEqual(id('key-of-alice-0001'), id('key-of-bob-000002'));
  assert.equal(id('key-of-alice-0001'), id('key-of-alice-0001'));
  assert.ok(!sha256('key-of-alice-0001').includes(id('key-of-alice-0001')));
});

test('the modes differ for a missing and for an unknown key', () => {
  const unknown = [
    bearer('key-of-alice-0002'),
    bearer(''),
    bearer('k'.repeat(5000)),
    bearer(sha256('key-of-bob-000002')),
  ];
  for (const request of unknown) {
    for (const mode of ['strict', 'optional']) {
      const { error, exchange } = call({ keys, mode }, request);
      assert.equal(error?.code, 'credentials_invalid', JSON.stringify(request).slice(0, 80));
      assert.deepEqual(error.headers, [['www-authenticate', 'Bearer']]);
      assert.deepEqual(exchange.annotations, { credentials: 'unknown API key' });
    }
    const permissive = call({ keys, mode: 'permissive' }, request);
    assert.equal(permissive.error, undefined);
    assert.equal(permissive.exchange.apiKey, undefined);
    assert.deepEqual(permissive.exchange.requestHeaders.apply(permissive.exchange.request.headerLines()), []);
  }
  const missing = call({ keys, mode: 'strict' }, {}).error;
  assert.equal(missing?.code, 'credentials_missing');
  assert.equal(missing.detail, 'apiKey, mode strict', 'the log names the policy that refused');
  for (const settings of [{ keys }, { keys, mode: 'permissive' }])
    assert.equal(call(settings, {}).error, undefined);
});

test('an unknown key at a permissive route leaves the holder that the listener has found', () => {
  const atListener = prepared(apiKey, {
    keys,
    mode: 'strict',
    location: { header: { name: 'x-api-key' } },
  });
  const atRoute = prepared(apiKey, { keys, mode: 'permissive' });
  const exchange = new FakeExchange({
    headers: [
      ['x-api-key', 'key-of-alice-0001'],
      ['authorization', 'Bearer junk'],
    ],
  });
  assert.equal(atListener.onRequest?.(exchange), undefined);
  assert.equal(atRoute.onRequest?.(exchange), undefined);
  assert.equal(exchange.apiKey?.metadata['team'], 'a');
  assert.deepEqual(exchange.requestHeaders.apply(exchange.request.headerLines()), []);
});

test('a key may stand in another header or in a cookie', () => {
  const header = { keys, mode: 'strict', location: { header: { name: 'X-Api-Key' } } };
  const found = call(header, { headers: [['x-api-key', 'key-of-alice-0001']] });
  assert.equal(found.exchange.apiKey?.metadata['team'], 'a');
  assert.deepEqual(found.exchange.requestHeaders.apply(found.exchange.request.headerLines()), []);
  assert.deepEqual(call(header, bearer('key-of-alice-0001')).error?.headers, [
    ['www-authenticate', 'ApiKey'],
  ]);
  const cookie = { keys, location: { cookie: { name: 'key' } } };
  assert.equal(
    call(cookie, { headers: [['cookie', 'key=key-of-alice-0001']] }).exchange.apiKey?.metadata['team'],
    'a',
  );
});

test('a key in the query is removed before forwarding, and two keys count as none', () => {
  const query = { keys, location: { queryParameter: { name: 'api key' } } };
  const rows: [string, string][] = [
    ['/p?a=1&api%20key=key-of-alice-0001&b=%41', '/p?a=1&b=%41'],
    ['/p?api+key=key-of-alice-0001', '/p'],
    ['/p?api+key=key%2Dof-alice-0001&c', '/p?c'],
  ];
  for (const [target, forwarded] of rows) {
    const { exchange, error } = call(query, { target });
    assert.equal(error, undefined, target);
    assert.equal(exchange.apiKey?.metadata['team'], 'a');
    assert.equal(exchange.forwardTarget, forwarded);
  }
  const twice = call(query, { target: '/p?api+key=key-of-alice-0001&api+key=x' });
  assert.equal(twice.error?.code, 'credentials_invalid');
  assert.equal(call(query, { target: '/p?apikey=key-of-alice-0001' }).exchange.apiKey, undefined);
});

test('checked settings hold no key', () => {
  const settings = apiKey.schema.parse({ keys });
  assert.doesNotMatch(JSON.stringify(settings), /key-of/);
});

test('settings that are ambiguous or cannot work are refused', () => {
  const messages = (settings: object): string =>
    (apiKey.schema.safeParse(settings).error?.issues ?? []).map((issue) => issue.message).join('; ');
  assert.match(messages({ keys: [{}] }), /exactly one of key, keyHash/);
  assert.match(messages({ keys: [{ key: 'a', keyHash: `sha256:${sha256('a')}` }] }), /exactly one/);
  assert.match(messages({ keys: [{ keyHash: 'md5:abc' }] }), /sha256:/);
  assert.match(messages({ keys: [{ key: 'a' }, { keyHash: `sha256:${sha256('a')}` }] }), /twice/);
  assert.match(messages({ keys: [{ key: 'a', metadata: { key: 'b' } }] }), /never see/);
  assert.match(messages({ keys: [{ key: 'a', allowedModels: [] }] }), /not built yet/);
  assert.match(messages({ keys, location: {} }), /exactly one of header, cookie, queryParameter/);
  assert.match(messages({ keys, location: { expression: 'request.path' } }), /not built yet/);
  assert.notEqual(messages({ keys: [] }), '');
  assert.notEqual(messages({}), '');
});

test('a key is known to logs in each form in which it stands in the request', () => {
  const texts = (location: object | undefined, request: FakeRequest) =>
    prepared(apiKey, { keys, ...(location && { location }) }).credentials?.(new FakeExchange(request));
  assert.deepEqual(texts({ queryParameter: { name: 'key' } }, { target: '/x?a=1&%6Bey=one%2Dkey&key=two' }), [
    'one%2Dkey',
    'two',
    'one-key',
    'two',
  ]);
  assert.deepEqual(texts(undefined, bearer('one')), ['Bearer one', 'one']);
  assert.deepEqual(texts({ header: { name: 'x-partner' } }, { headers: [['x-partner', 'one']] }), [
    'one',
    'one',
  ]);
  assert.deepEqual(texts({ cookie: { name: 'k' } }, { headers: [['cookie', 'a=1; k=one']] }), ['one']);
  assert.deepEqual(texts({ cookie: { name: 'k' } }, {}), []);
});
