import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HeaderLine } from '../../http/index.ts';
import { FakeExchange } from '../exchange.testing.ts';
import type { AnswerHead, RetryPlan } from '../policy.ts';
import { prepared, toolsWith } from '../tools.testing.ts';
import { RetryBudget } from './budget.ts';
import { retry } from './index.ts';

function plan(settings: object): RetryPlan {
  const made = prepared(retry, settings, toolsWith([])).forwarding?.retry;
  assert.ok(made !== undefined);
  return made;
}
const answer = (status: number, ...lines: HeaderLine[]): AnswerHead => ({ status, lines: () => lines });
const ask = (method: string): FakeExchange => new FakeExchange({ method });

test('the plan has the configured values, and careful defaults for the rest', () => {
  const { attempts, backoffMs, maxBodyBytes } = plan({ codes: [503], attempts: 3, backoff: '50ms' });
  assert.deepEqual([attempts, backoffMs, maxBodyBytes], [3, 50, 65_536]);
  const bare = plan({ codes: [503] });
  assert.equal(bare.attempts, 1);
  assert.equal(bare.applies(ask('GET')), false, 'one attempt is no retry');
});

test('codes and the condition are reasons to try again; a condition that fails is none', () => {
  const { wants } = plan({
    codes: [502, 503],
    attempts: 2,
    condition: 'response.headers["x-again"] == "yes"',
  });
  const exchange = ask('GET');
  assert.equal(wants(exchange, answer(503)), true);
  assert.equal(wants(exchange, answer(500)), false);
  assert.equal(wants(exchange, answer(200, ['x-again', 'yes'])), true);
  assert.equal(wants(exchange, answer(200, ['x-again', 'no'])), false);
  const both = plan({
    codes: [503],
    attempts: 2,
    condition: 'response.code == 404 && request.method == "GET"',
  });
  assert.equal(both.wants(exchange, answer(404)), true);
  assert.equal(both.wants(ask('POST'), answer(404)), false);
});

test('without a precondition only idempotent methods are sent again after the backend may have acted', () => {
  const { repeatable, applies } = plan({ codes: [503], attempts: 2 });
  for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'])
    assert.equal(repeatable(ask(method)), true);
  for (const method of ['POST', 'PATCH', 'LOCK']) {
    assert.equal(repeatable(ask(method)), false);
    assert.equal(applies(ask(method)), true);
  }
});

test('a precondition says alone which requests are sent again', () => {
  const { repeatable, applies } = plan({
    codes: [503],
    attempts: 2,
    precondition: 'request.headers["idempotency-key"] != ""',
  });
  const keyed = new FakeExchange({ method: 'POST', headers: [['idempotency-key', 'a']] });
  assert.deepEqual([applies(keyed), repeatable(keyed)], [true, true]);
  assert.equal(applies(ask('GET')), false, 'a missing header fails the expression');
});

test('a budget allows some further tries a second, and a share of many requests', () => {
  let clock = 1_000_000;
  const budget = new RetryBudget(20, 1, () => clock);
  const taken = (): number => {
    let count = 0;
    while (budget.take()) count++;
    return count;
  };
  assert.equal(taken(), 10, 'one a second over ten seconds');
  for (let i = 0; i < 1_000; i++) budget.noteRequest();
  assert.equal(taken(), 190);
  clock += 5_000;
  assert.equal(taken(), 0);
  clock += 5_000;
  assert.equal(taken(), 10, 'what is older than ten seconds does not count');
  clock += 3_600_000;
  assert.equal(taken(), 10);
  clock -= 7_200_000;
  assert.equal(taken(), 10, 'a clock that was set back begins anew');
});

test('a budget of nothing allows nothing', () => {
  const budget = new RetryBudget(0, 0, () => 0);
  for (let i = 0; i < 100; i++) budget.noteRequest();
  assert.equal(budget.take(), false);
});

test('settings that cannot work are rejected', () => {
  const good = { codes: [503], attempts: 2 };
  for (const settings of [
    {},
    { attempts: 2 },
    { codes: [] },
    { codes: [99] },
    { ...good, attempts: 0 },
    { ...good, attempts: 100 },
    { ...good, backoff: '1m' },
    { ...good, backoff: '0s' },
    { ...good, precondition: 'response.code == 1' },
    { ...good, precondition: 'request.method' },
    { ...good, condition: 'false' },
    { ...good, condition: 'response.body == "a"' },
    { ...good, budget: { percent: 101 } },
    { ...good, retries: 1 },
  ])
    assert.equal(retry.schema.safeParse(settings).success, false, JSON.stringify(settings));
});

test('a race is for methods that may be sent twice, and draws from the budget', () => {
  const { applies, hedge, attempts } = plan({
    codes: [503],
    hedge: { delay: '50ms', maxAttempts: 3 },
    precondition: 'request.method == "POST" || request.method == "GET"',
    budget: { percent: 0, minRetryRate: 0.1 },
  });
  assert.equal(attempts, 1);
  assert.equal(applies(ask('POST')), true);
  assert.deepEqual([hedge?.delayMs, hedge?.further], [50, 2]);
  assert.equal(hedge?.applies(ask('POST')), false);
  assert.equal(hedge?.applies(ask('GET')), true);
  assert.equal(hedge?.take(), true);
  assert.equal(hedge?.take(), false);
  assert.equal(plan({ codes: [503] }).hedge, undefined);
  for (const wrong of [
    {},
    { delay: '0s' },
    { delay: '2m' },
    { delay: '1s', maxAttempts: 1 },
    { delay: '1s', maxAttempts: 6 },
  ])
    assert.equal(
      retry.schema.safeParse({ codes: [503], hedge: wrong }).success,
      false,
      JSON.stringify(wrong),
    );
});

test('a precondition about the answer is refused, and the message names condition', () => {
  const precondition = 'response.code == 503';
  const [issue] = retry.schema.safeParse({ codes: [503], precondition }).error?.issues ?? [];
  assert.match(issue?.message ?? '', /condition sees the answer/);
});
