import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Renewals, type Renewal } from './renewals.ts';

const refused: Renewal = { kind: 'refused', why: 'test' };

test('requests with the same refresh token share one renewal, also shortly afterwards', async () => {
  const renewals = Renewals.of({});
  let asked = 0;
  const renew = (): Promise<Renewal> => {
    asked += 1;
    return Promise.resolve(refused);
  };
  await Promise.all([1, 2, 3].map(() => renewals.once('token', 0, renew)));
  assert.equal(await renewals.once('token', 29_000, renew), refused);
  assert.equal(asked, 1);
  await renewals.once('other', 0, renew);
  await renewals.once('token', 31_000, renew);
  assert.equal(asked, 3);
});

test('a provider that was down is asked again at once', async () => {
  const owner = {};
  assert.equal(Renewals.of(owner), Renewals.of(owner));
  const renewals = Renewals.of(owner);
  await renewals.once('token', 0, () => Promise.resolve({ kind: 'failed', error: new Error('down') }));
  assert.equal(await renewals.once('token', 0, () => Promise.resolve(refused)), refused);
});
