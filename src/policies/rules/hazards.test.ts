/** Mistakes that rules invite, and that must not open anything. test/requirements/celHazards.ts has the whole list. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { authorization } from '../authorization/index.ts';
import { FakeExchange, type FakeRequest } from '../exchange.testing.ts';
import { prepared } from '../tools.testing.ts';

/** Do the rules let the request in? */
function enters(rules: readonly unknown[], request: FakeRequest): boolean {
  try {
    void prepared(authorization, { rules }).onRequest?.(new FakeExchange(request));
    return true;
  } catch {
    return false;
  }
}

const caller = (claims: Record<string, unknown>): FakeRequest => ({
  identity: { issuer: 'i', subject: 's', claims },
});

test('a caller without a token has no claims: has is false, and a rule that reads one fails', () => {
  assert.equal(enters(['has(jwt.sub)'], {}), false);
  assert.equal(enters(['!has(jwt.banned)'], {}), true);
  assert.equal(enters(['jwt.banned == false'], {}), false);
  assert.equal(enters([{ deny: 'jwt.banned == true' }], {}), false);
  assert.equal(enters([{ deny: 'has(jwt.banned) && jwt.banned == true' }], {}), true);
});

test('a claim of another type is no match, and fails where it is more than compared', () => {
  for (const [rule, claims] of [
    ['jwt.level == 3', { level: '3' }],
    ['jwt.level > 2', { level: '3' }],
    ['jwt.admin == true', { admin: 'true' }],
    ['jwt.admin', { admin: 1 }],
    ['jwt.email.endsWith("@example.com")', { email: ['a@example.com'] }],
    ['int(jwt.level) > 2', { level: '3x' }],
  ] as const)
    assert.equal(enters([rule], caller(claims)), false, rule);
  assert.equal(enters([{ deny: 'jwt.email.endsWith("@example.org")' }], caller({ email: ['a'] })), false);
});

test('numbers that overflow or are divided by zero fail the rule', () => {
  const claims = { zero: 0, one: 1 };
  for (const rule of ['9223372036854775807 + jwt.one != 0', 'jwt.one / jwt.zero != 1']) {
    assert.equal(enters([rule], caller(claims)), false, rule);
    assert.equal(enters([{ deny: `!(${rule})` }], caller(claims)), false, rule);
  }
});

test('a header that a client sends twice does not walk around a rule that splits it', () => {
  const twice: FakeRequest = {
    headers: [
      ['x-team', 'banned'],
      ['x-team', 'other'],
    ],
  };
  const once: FakeRequest = { headers: [['x-team', 'banned, other']] };
  const split = { deny: 'request.headers.split()["x-team"].exists(one, one.trim() == "banned")' };
  for (const request of [twice, once]) assert.equal(enters([split], request), false);
  assert.equal(enters([split], { headers: [['x-team', 'other']] }), true);
  // A list equals no text, so an allow rule by equality lets no such request in.
  assert.equal(enters(['request.headers["x-team"] == "banned"'], twice), false);
});

test('a claim with dots in its name is read by brackets, and never by a path', () => {
  const claims = { 'https://a.test/roles': ['admin'], 'a.b': 1 };
  assert.equal(enters(['"admin" in jwt["https://a.test/roles"]'], caller(claims)), true);
  assert.equal(enters(['jwt["a.b"] == 1'], caller(claims)), true);
  assert.equal(enters(['jwt.a.b == 1'], caller(claims)), false);
});
