import assert from 'node:assert/strict';
import { after, before, mock, test } from 'node:test';
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify, type JSONWebKeySet } from 'jose';
import { startDevIdp, type DevIdp } from './index.ts';
import { KeyRing } from './keyRing.ts';

let idp: DevIdp;
before(async () => {
  idp = await startDevIdp({ port: 0 });
});
after(() => idp.close());

async function askToken(): Promise<string> {
  const form = { grant_type: 'client_credentials', client_id: 'demo', client_secret: 'demo-secret' };
  const response = await fetch(`${idp.issuer}/v1/token`, { method: 'POST', body: new URLSearchParams(form) });
  return ((await response.json()) as { access_token: string }).access_token;
}
const keySet = async (): Promise<JSONWebKeySet> =>
  (await (await fetch(`${idp.issuer}/v1/keys`)).json()) as JSONWebKeySet;
const verifies = async (token: string): Promise<boolean> =>
  jwtVerify(token, createLocalJWKSet(await keySet())).then(
    () => true,
    () => false,
  );

test('the published keys are public', async () => {
  for (const key of (await keySet()).keys) {
    assert.deepEqual(Object.keys(key).sort(), ['alg', 'e', 'kid', 'kty', 'n', 'use']);
  }
});

test('after a rotation new tokens have the new key, and old ones still verify', async () => {
  const old = await askToken();
  const { kid, kids } = await idp.rotateKeys();
  const fresh = await askToken();
  assert.equal(decodeProtectedHeader(fresh).kid, kid);
  assert.deepEqual(
    (await keySet()).keys.map((key) => key.kid),
    kids,
  );
  assert.deepEqual([await verifies(old), await verifies(fresh)], [true, true]);
});

test('a rotation that drops the old keys makes old tokens unverifiable at once', async () => {
  const old = await askToken();
  await idp.rotateKeys({ dropOld: true });
  assert.deepEqual([await verifies(old), await verifies(await askToken())], [false, true]);
});

test('an old key leaves the set when its time is over', async () => {
  mock.timers.enable({ apis: ['Date'], now: 0 });
  try {
    const ring = await KeyRing.create(60);
    const first = ring.current;
    mock.timers.setTime(1000);
    const second = await ring.rotate();
    mock.timers.setTime(61_000);
    assert.deepEqual(ring.keys, [second, first]);
    mock.timers.setTime(61_001);
    assert.deepEqual(ring.keys, [second]);
  } finally {
    mock.timers.reset();
  }
});

test('custom tokens contain the requested claims and are signed with the current key', async () => {
  const expired = await idp.issueToken({ expiresIn: -300 });
  const { exp = 0, iat = 0 } = decodeJwt(expired);
  assert.ok(exp < Date.now() / 1000 - 200 && iat < exp);
  await assert.rejects(jwtVerify(expired, createLocalJWKSet(await keySet())), { code: 'ERR_JWT_EXPIRED' });

  const other = await idp.issueToken({
    audience: ['x', 'y'],
    user: 'alice',
    scopes: [],
    claims: { groups: 'not a list', nbf: null, jti: null },
  });
  assert.ok(await verifies(other));
  const { aud, sub, groups, scp, jti } = decodeJwt(other);
  assert.deepEqual(
    { aud, sub, groups, scp, jti },
    { aud: ['x', 'y'], sub: 'alice', groups: 'not a list', scp: [], jti: undefined },
  );

  assert.equal(await verifies(await idp.issueToken({ wrongKey: true })), false);
});

test('an ordered token has the claims of one from the token endpoint', async () => {
  assert.deepEqual(
    Object.keys(decodeJwt(await idp.issueToken())).sort(),
    Object.keys(decodeJwt(await askToken())).sort(),
  );
});
