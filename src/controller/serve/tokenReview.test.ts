import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Unavailable } from '../../stream/server.ts';
import { ManualClock } from '../../stream/clock.testing.ts';
import { startKubeServer, tokenFor, type KubeServer } from './kubeServer.testing.ts';
import { TokenReviewer, type TokenReviewerOptions } from './tokenReview.ts';

const audience = 'portcullis.dev/controller';
const account = 'system:serviceaccount:ns:gw';
const from = '10.0.0.1';

const reviewer = (kube: KubeServer, more: Partial<TokenReviewerOptions> = {}): TokenReviewer =>
  new TokenReviewer({ api: kube.api, audience, metrics: kube.metrics, ...more });

test('a good token says which ServiceAccount, which pod, and until when', async (t) => {
  const kube = await startKubeServer(t);
  const token = tokenFor(audience, 600);
  kube.tokens.set(token, { account, audience, pod: 'gw-1' });
  const found = await reviewer(kube).review(token, from);
  assert.deepEqual(
    { ...found, expiresAt: undefined },
    { subject: account, namespace: 'ns', name: 'gw', pod: 'gw-1/uid-gw-1', expiresAt: undefined },
  );
  assert.ok(Math.abs((found?.expiresAt ?? 0) - Date.now() - 600_000) < 5_000);
});

test('foreign, expired and malformed tokens are refused without a TokenReview', async (t) => {
  const kube = await startKubeServer(t);
  const tokens = [
    tokenFor('https://kubernetes.default.svc'),
    tokenFor([]),
    tokenFor(audience, -10),
    'opaque',
    'a.b.c',
    `a.${Buffer.from('null').toString('base64url')}.c`,
    '',
  ];
  for (const token of tokens) kube.tokens.set(token, { account, audience });
  const asked = reviewer(kube);
  for (const token of tokens) assert.equal(await asked.review(token, from), undefined, token);
  assert.deepEqual(kube.requests, []);
});

test('tokens that the API server rejects or assigns to another account are refused', async (t) => {
  const kube = await startKubeServer(t);
  const asked = reviewer(kube);
  const unknown = tokenFor(audience, 600, 'unknown');
  assert.equal(await asked.review(unknown, from), undefined);
  const others = [
    'admin',
    'system:node:n',
    'system:serviceaccount:ns',
    'system:serviceaccount:ns:a:b',
    'x system:serviceaccount:a:b',
  ];
  for (const name of others) {
    const token = tokenFor(audience, 600, name);
    kube.tokens.set(token, { account: name, audience });
    assert.equal(await asked.review(token, from), undefined, name);
  }
  // It claims to be for us, and the server says for whom it is.
  const stolen = tokenFor([audience, 'other'], 600, 'stolen');
  kube.tokens.set(stolen, { account, audience: 'other' });
  assert.equal(await asked.review(stolen, from), undefined);
  assert.equal(kube.requests.length, others.length + 2);
});

test('a TokenReview without audiences is rejected', async (t) => {
  const kube = await startKubeServer(t);
  const api = {
    request: async () =>
      await Promise.resolve({ status: { authenticated: true, user: { username: account } } }),
  };
  assert.equal(await reviewer(kube, { api }).review(tokenFor(audience), from), undefined);
});

test('an answer holds for a while, a bad one shorter, and many who ask at once ask once', async (t) => {
  const kube = await startKubeServer(t);
  const clock = new ManualClock();
  const asked = reviewer(kube, { clock, goodMs: 60_000, badMs: 10_000 });
  const good = tokenFor(audience, 600, 'good');
  const bad = tokenFor(audience, 600, 'bad');
  kube.tokens.set(good, { account, audience });
  const found = await Promise.all(Array.from({ length: 20 }, async () => await asked.review(good, from)));
  assert.ok(found.every((one) => one?.name === 'gw'));
  await asked.review(bad, from);
  assert.equal(kube.requests.length, 2);
  clock.sleep(9_000);
  await asked.review(good, from);
  await asked.review(bad, from);
  assert.equal(kube.requests.length, 2);
  clock.sleep(2_000);
  await asked.review(good, from);
  await asked.review(bad, from);
  assert.equal(kube.requests.length, 3);
  // The review finds out that an account was deleted.
  kube.tokens.delete(good);
  clock.sleep(60_000);
  assert.equal(await asked.review(good, from), undefined);
});

test('while the API server is unreachable no token is refused, and no failure is cached', async (t) => {
  const kube = await startKubeServer(t);
  const asked = reviewer(kube);
  const token = tokenFor(audience);
  kube.tokens.set(token, { account, audience });
  kube.away = true;
  await assert.rejects(asked.review(token, from), Unavailable);
  kube.away = false;
  assert.equal((await asked.review(token, from))?.name, 'gw');
});

test('the API server is not asked more often than it may be, and remembering has a bound', async (t) => {
  const kube = await startKubeServer(t);
  const clock = new ManualClock();
  const asked = reviewer(kube, { clock, rate: { perSecond: 1, burst: 5 }, maxRemembered: 3 });
  // Made once each: another second makes another token.
  const tokens = Array.from({ length: 5 }, (_, i) => tokenFor(audience, 600, `made up ${i}`));
  const [first = '', last = ''] = [tokens[0], tokens[4]];
  for (const token of tokens) await asked.review(token, from);
  await assert.rejects(asked.review(tokenFor(audience, 600, 'one more'), from), Unavailable);
  assert.equal(kube.requests.length, 5);
  // The last three are remembered, the first is not.
  assert.equal(await asked.review(last, from), undefined);
  await assert.rejects(asked.review(first, from), Unavailable);
  clock.sleep(1_000);
  assert.equal(await asked.review(first, from), undefined);
  assert.equal(kube.requests.length, 6);
});

test('invalid tokens of an address do not delay other addresses, and valid ones are free', async (t) => {
  const kube = await startKubeServer(t);
  const asked = reviewer(kube, { clock: new ManualClock() });
  const made = Array.from({ length: 600 }, (_, i) => tokenFor(audience, 600, `made up ${i}`));
  const outcomes = await Promise.allSettled(made.map(async (token) => await asked.review(token, '10.6.6.6')));
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 20);
  assert.equal(kube.requests.length, 20);

  // Forty proxies of one node.
  for (let i = 0; i < 40; i++) {
    const token = tokenFor(audience, 600, `good ${i}`);
    kube.tokens.set(token, { account, audience });
    assert.equal((await asked.review(token, from))?.name, 'gw');
  }
});
