import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeExchange, type FakeRequest } from '../exchange.testing.ts';
import { affinityKey } from './index.ts';
import { sessionAffinitySchema } from './facts.ts';

const keyOf = (source: string, request: FakeRequest): unknown =>
  affinityKey(sessionAffinitySchema.parse({ source }).source)(new FakeExchange(request));

test('the key is the value of the expression: address, header, cookie, anything', () => {
  const request: FakeRequest = {
    remoteAddress: '192.0.2.1',
    headers: [
      ['X-Session', 'a'],
      ['cookie', 'other=1; id=b'],
    ],
  };
  assert.equal(keyOf('source.address', request), '192.0.2.1');
  assert.equal(keyOf('string(source.address)', request), '192.0.2.1');
  assert.equal(keyOf('request.headers["x-session"]', request), 'a');
  assert.equal(keyOf('request.headers.cookie("id")', request), 'b');
  assert.deepEqual(keyOf('bytes(request.path)', request), new TextEncoder().encode('/'));
});

test('a request without the value has no key', () => {
  assert.equal(keyOf('request.headers["x-session"]', {}), undefined);
  assert.equal(keyOf('request.headers.cookie("id")', { headers: [['cookie', 'a=b']] }), undefined);
  assert.equal(keyOf('default(request.headers["x-session"], "")', {}), undefined);
});

test('an expression that cannot come to a text is refused at load, with its place', () => {
  for (const [source, message] of [
    ['source.port', /expected a string or bytes; this is a int/],
    ['request.host == "a"', /this is a bool/],
    ['request.cookies', /cookies/],
    ['response.code', /no answer yet/],
  ] as const) {
    const { error } = sessionAffinitySchema.safeParse({ source });
    assert.deepEqual(error?.issues[0]?.path, ['source'], source);
    assert.match(error?.issues[0]?.message ?? '', message);
  }
  assert.equal(sessionAffinitySchema.safeParse({}).success, false);
  assert.equal(sessionAffinitySchema.safeParse({ source: '"a"', loadFactor: 0.5 }).success, false);
});
