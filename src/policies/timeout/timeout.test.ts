import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeExchange } from '../exchange.testing.ts';
import { prepared } from '../tools.testing.ts';
import { timeout } from './index.ts';

test('only configured limits are set, in milliseconds', () => {
  const both = new FakeExchange();
  void prepared(timeout, { requestTimeout: '1m30s', backendRequestTimeout: '500ms' }).onRequest?.(both);
  assert.deepEqual([both.requestLimit, both.backendLimit], [90_000, 500]);
  const one = new FakeExchange();
  void prepared(timeout, { requestTimeout: '1s' }).onRequest?.(one);
  assert.deepEqual([one.requestLimit, one.backendLimit], [1_000, undefined]);
});

test('a timeout of nothing, of another form or under another name is refused', () => {
  for (const settings of [
    { requestTimeout: '0s' },
    { requestTimeout: 10 },
    { requestTimeout: '10' },
    { request: '1s' },
  ])
    assert.equal(timeout.schema.safeParse(settings).success, false, JSON.stringify(settings));
});
