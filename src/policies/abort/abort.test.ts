import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeExchange } from '../exchange.testing.ts';
import { prepared } from '../tools.testing.ts';
import { abort } from './index.ts';

test('a request is answered with the status, and the log tells it from a real failure', () => {
  const exchange = new FakeExchange();
  const reply = prepared(abort, { status: 503 }).onRequest?.(exchange);
  assert.ok(reply !== undefined && !(reply instanceof Promise));
  assert.equal(reply.status, 503);
  assert.deepEqual(exchange.annotations, { fault: 'abort' });
});

test('the gateway aborts a share of the requests and forwards the others', () => {
  const answered = (percentage: number): number => {
    const steps = prepared(abort, { status: 500, percentage });
    return Array.from({ length: 2_000 }, () => steps.onRequest?.(new FakeExchange())).filter(
      (reply) => reply !== undefined,
    ).length;
  };
  assert.equal(answered(0), 0);
  assert.equal(answered(1), 2_000);
  const half = answered(0.5);
  assert.ok(half > 800 && half < 1_200, String(half));
});

test('an invalid status or share is rejected', () => {
  for (const settings of [
    {},
    { status: 100 },
    { status: 600 },
    { status: 500, percentage: 2 },
    { status: '500' },
  ])
    assert.equal(abort.schema.safeParse(settings).success, false, JSON.stringify(settings));
});
