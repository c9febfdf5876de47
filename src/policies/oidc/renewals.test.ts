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

test('a result that came too late for its request waits five minutes for another request', async () => {
  const renewals = Renewals.of({});
  const answered: Renewal[] = [];
  const ask = async (now: number): Promise<Renewal> =>
    await renewals.once('token', now, () => {
      answered.push(refused);
      return Promise.resolve(refused);
    });
  const asked = ask(0);
  renewals.leave('token', 1_000);
  assert.equal(renewals.hasResult('token', 1_000), false);
  await asked;
  assert.equal(renewals.hasResult('token', 300_000), true);
  await ask(300_000);
  assert.equal(renewals.hasResult('token', 301_000), false);
  await ask(310_000);
  assert.equal(answered.length, 2);
  renewals.leave('token', 310_000);
  await ask(320_000);
  assert.equal(renewals.hasResult('token', 349_999), true, 'requests in progress get the same answer');
  assert.equal(renewals.hasResult('token', 350_000), false);
});

test('a result that came too late does not outlive the note of a logout', async () => {
  const renewals = Renewals.of({});
  await renewals.once('token', 0, () => Promise.resolve(refused));
  renewals.leave('token', 0);
  await renewals.end('token', 10_000);
  renewals.leave('token', 10_500);
  for (const [now, is] of [
    [39_999, true],
    [40_000, false],
  ] as const) {
    assert.equal(renewals.hasEnded('token', now), is);
    assert.equal(renewals.hasResult('token', now), is);
  }
});
