import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../errors.ts';
import { FakeExchange, type FakeRequest } from '../exchange.testing.ts';
import { prepared } from '../tools.testing.ts';
import { delay } from './index.ts';

async function waits(settings: object, request: FakeRequest = {}): Promise<readonly number[]> {
  const exchange = new FakeExchange(request);
  assert.equal(await prepared(delay, settings).onRequest?.(exchange), undefined);
  return exchange.waits;
}

test('a request is held for a fixed time, and the log says so', async () => {
  assert.deepEqual(await waits({ duration: '1s500ms' }), [1_500]);
  const exchange = new FakeExchange();
  await prepared(delay, { duration: '20ms' }).onRequest?.(exchange);
  assert.deepEqual(exchange.annotations, { delayMs: 20 });
});

test('an expression decides for each request how long, and for nothing it does not even wait', async () => {
  const duration = 'request.method == "GET" ? duration("0s") : duration("1s250ms")';
  assert.equal(prepared(delay, { duration }).onRequest?.(new FakeExchange()), undefined);
  assert.deepEqual(await waits({ duration }, { method: 'POST' }), [1_250]);
  const asked = { duration: 'request.headers["x-delay"]' };
  assert.deepEqual(await waits(asked, { headers: [['x-delay', '30ms']] }), [30]);
});

test('a number is a number of milliseconds, written down or computed', async () => {
  assert.deepEqual(await waits({ duration: '250' }), [250]);
  assert.deepEqual(await waits({ duration: 'size(request.path) * 100' }), [100]);
  assert.deepEqual(await waits({ duration: '12.5' }), [12.5]);
  assert.deepEqual(await waits({ duration: '7u' }), [7]);
  const asked = { duration: 'int(request.headers["x-delay"])' };
  assert.deepEqual(await waits(asked, { headers: [['x-delay', '30']] }), [30]);
  assert.deepEqual(await waits(asked, { headers: [['x-delay', '-30']] }), []);
  assert.deepEqual(await waits(asked, { headers: [['x-delay', '99999999']] }), [3_600_000]);
  assert.deepEqual(await waits({ duration: '1.0 / 0.0' }), [3_600_000]);
  assert.throws(
    () => prepared(delay, { duration: '0.0 / 0.0' }).onRequest?.(new FakeExchange()),
    GatewayError,
  );
});

test('the delay is clamped to between zero and one hour', async () => {
  assert.deepEqual(await waits({ duration: 'duration("48h")' }), [3_600_000]);
  assert.deepEqual(await waits({ duration: 'duration("-5s")' }), []);
});

test('an expression that fails, or comes to no duration, is an error of the policy', () => {
  for (const headers of [[], [['x-delay', 'soon']]] as [string, string][][])
    assert.throws(
      () =>
        prepared(delay, { duration: 'request.headers["x-delay"]' }).onRequest?.(
          new FakeExchange({ headers }),
        ),
      (error) => error instanceof GatewayError && error.code === 'policy_failed',
    );
});

test('a share of the requests is held', async () => {
  assert.deepEqual(await waits({ duration: '1s', percentage: 0 }), []);
  const steps = prepared(delay, { duration: '1s', percentage: 0.5 });
  let held = 0;
  for (let i = 0; i < 2_000; i++) {
    const exchange = new FakeExchange();
    await steps.onRequest?.(exchange);
    held += exchange.waits.length;
  }
  assert.ok(held > 800 && held < 1_200, String(held));
});

test('an invalid duration is rejected at load', () => {
  for (const settings of [
    {},
    { duration: '' },
    { duration: 5 },
    { duration: '2h' },
    { duration: '5 seconds' },
    { duration: 'request.nothing' },
    { duration: '1s', percentage: 50 },
    { duration: '1s', percentage: -0.1 },
    { delay: '1s' },
  ])
    assert.equal(delay.schema.safeParse(settings).success, false, JSON.stringify(settings));
});
