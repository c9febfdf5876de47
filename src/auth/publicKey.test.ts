import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { verifySignature } from './algorithms.ts';
import { readPublicKey } from './publicKey.ts';
import { makeKey } from './token.testing.ts';
import { isRoca } from './weakRsa.ts';

const good = makeKey('RSA').jwk;
const ec = makeKey('P-256').jwk;
const ed = makeKey('Ed25519').jwk;

const reason = (entry: unknown): string => {
  const key = readPublicKey(entry);
  return 'skipped' in key ? key.skipped : 'taken';
};

const base64url = (value: bigint): string => {
  const hex = value.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex').toString('base64url');
};

test('usual signature keys are taken with the algorithms of their kind', () => {
  const names = (entry: Record<string, unknown>): string[] => {
    const key = readPublicKey(entry);
    return 'skipped' in key ? assert.fail(key.skipped) : [...key.algorithms];
  };
  assert.deepEqual(names(good), ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']);
  assert.deepEqual(names({ ...good, alg: 'RS256', use: 'sig', key_ops: ['verify'] }), ['RS256']);
  assert.deepEqual(names(ec), ['ES256']);
  assert.deepEqual(names(makeKey('P-384').jwk), ['ES384']);
  assert.deepEqual(names(makeKey('P-521').jwk), ['ES512']);
  assert.deepEqual(names(ed), ['EdDSA', 'Ed25519']);
  assert.deepEqual(names({ ...ed, alg: 'EdDSA' }), ['EdDSA', 'Ed25519']);
});

test('keys that are not for signatures, not public or of another kind are skipped', () => {
  assert.match(reason({ ...good, use: 'enc' }), /use/);
  assert.match(reason({ ...good, use: 1 }), /use/);
  assert.match(reason({ ...good, key_ops: ['encrypt'] }), /key_ops/);
  assert.match(reason({ ...good, key_ops: 'verify' }), /key_ops/);
  assert.match(reason({ ...good, alg: 'RSA-OAEP' }), /RSA-OAEP/);
  assert.match(reason({ ...good, alg: 'HS256' }), /HS256/);
  assert.match(reason({ ...good, alg: 'none' }), /none/);
  assert.match(reason({ ...ec, alg: 'RS256' }), /RS256/);
  assert.match(reason({ kty: 'oct', k: 'AAAA', kid: 'a', alg: 'HS256' }), /key type oct/);
  assert.match(reason({ ...good, kty: 'constructor' }), /key type/);
  assert.match(reason({ ...good, kid: undefined }), /no kid/);
  assert.match(reason({ ...good, kid: 7 }), /no kid/);
  assert.match(reason(makeKey('secp256k1').jwk), /secp256k1/);
  assert.match(reason(makeKey('X25519').jwk), /X25519/);
  for (const entry of [null, 1, 'key', []]) assert.notEqual(reason(entry), 'taken');
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  assert.match(reason({ ...privateKey.export({ format: 'jwk' }), kid: 'a' }), /private/);
});

test('weak and malformed RSA keys are skipped', () => {
  assert.match(reason(makeKey('RSA1024').jwk), /1024 bits/);
  assert.match(reason({ ...good, e: base64url(1n) }), /exponent/);
  assert.match(reason({ ...good, e: base64url(65_536n) }), /exponent/);
  assert.match(reason({ ...good, e: base64url(2n ** 64n + 1n) }), /exponent/);
  assert.match(reason({ ...good, n: base64url(2n ** 2048n) }), /factored/);
  assert.match(reason({ ...good, n: base64url(2n ** 16_384n + 1n) }), /bits/);
  assert.match(reason({ ...good, n: `${String(good.n)}=` }), /canonical/);
  assert.match(reason({ ...good, n: undefined }), /canonical/);
  assert.match(reason({ ...good, e: '' }), /canonical/);
});

test('a modulus of the ROCA kind is recognised and an ordinary one is not', () => {
  // A product of two powers of 65537 modulo a primorial is of that kind by construction.
  const primorial = [
    3n,
    5n,
    7n,
    11n,
    13n,
    17n,
    19n,
    37n,
    53n,
    61n,
    71n,
    73n,
    79n,
    97n,
    103n,
    107n,
    109n,
    127n,
    151n,
  ]
    .concat([157n, 167n])
    .reduce((product, prime) => product * prime, 1n);
  const part = (65_537n ** 1234n % primorial) + primorial * 2n ** 900n;
  const other = (65_537n ** 4321n % primorial) + primorial * 2n ** 901n;
  assert.equal(isRoca(part * other), true);
  for (let i = 0; i < 3; i += 1) {
    const n = Buffer.from(String(makeKey('RSA').jwk.n), 'base64url').toString('hex');
    assert.equal(isRoca(BigInt(`0x${n}`)), false);
  }
});

test('points that are not on the curve or of another length are skipped', () => {
  const flipped = Buffer.from(String(ec.y), 'base64url');
  flipped[31] = (flipped[31] ?? 0) ^ 1;
  assert.match(reason({ ...ec, y: flipped.toString('base64url') }), /not a key/);
  assert.match(reason({ ...ec, x: Buffer.alloc(31, 1).toString('base64url') }), /32 bytes/);
  assert.match(reason({ ...ec, y: undefined }), /32 bytes/);
  assert.match(reason({ ...ed, x: Buffer.alloc(33, 1).toString('base64url') }), /32 bytes/);
  assert.match(reason({ ...ec, crv: 'P-384' }), /48 bytes/);
});

test('Ed25519 signatures cannot be forged with points of small order', () => {
  // By the bare equations of RFC 8032 one of these signatures fits every text, or every eighth.
  const zero = '00'.repeat(32);
  const one = `01${'00'.repeat(31)}`;
  const minusOne = `ec${'ff'.repeat(30)}7f`;
  const orderEight = '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05';
  for (const point of [zero, one, minusOne, orderEight]) {
    const x = Buffer.from(point, 'hex').toString('base64url');
    const read = readPublicKey({ kty: 'OKP', crv: 'Ed25519', kid: 'a', x });
    if ('skipped' in read) continue;
    for (let i = 0; i < 32; i += 1)
      for (const r of [zero, one, minusOne, orderEight]) {
        const signature = Buffer.from(r + zero, 'hex');
        assert.equal(verifySignature('EdDSA', read.key, Buffer.from(`text ${i}`), signature), false, point);
      }
  }
});
