import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeKey, signatureOf } from '../../../src/auth/token.testing.ts';
import { suites } from './suites.ts';
import { judge, type VectorFile } from './vectors.ts';

const key = makeKey('P-256');
const signature = signatureOf('ES256', key.privateKey, 'text').toString('hex');
const msg = Buffer.from('text').toString('hex');

/** A file of one group, like those of the suite. */
const file = (result: 'valid' | 'invalid' | 'acceptable', sig = signature): VectorFile => ({
  testGroups: [
    {
      publicKeyJwk: { ...key.jwk, kid: 'none' },
      tests: [{ tcId: 1, comment: 'one', msg, sig, result }],
    },
  ],
});

test('a vector that comes out as the file says is right, any other is named', () => {
  const nothing = { right: 0, undecided: 0, falseAccepts: [], falseRefusals: [] };
  assert.deepEqual(judge(file('valid'), 'ES256'), { ...nothing, right: 1 });
  assert.deepEqual(judge(file('invalid'), 'ES256'), { ...nothing, falseAccepts: ['1 one'] });
  assert.deepEqual(judge(file('valid', '00'), 'ES256'), { ...nothing, falseRefusals: ['1 one'] });
  assert.deepEqual(judge(file('acceptable'), 'ES256'), { ...nothing, undecided: 1 });
});

test('for files of another algorithm, only the listed signatures are valid', () => {
  assert.deepEqual(judge(file('valid'), 'ES256', []).falseAccepts, ['1 one']);
  assert.equal(judge(file('invalid'), 'ES256', [1]).right, 1);
  assert.equal(judge(file('valid'), 'ES384', []).right, 1);
});

test('a key in hexadecimal is the same key', () => {
  const { x, y } = key.jwk as Record<string, string>;
  const hex = (text = ''): string => `00${Buffer.from(text, 'base64url').toString('hex')}`;
  const publicKey = { curve: 'secp256r1', wx: hex(x), wy: hex(y) };
  const tests = [{ tcId: 1, comment: 'one', msg, sig: signature, result: 'valid' } as const];
  assert.equal(judge({ testGroups: [{ publicKey, tests }] }, 'ES256').right, 1);
});

test('every algorithm of a token has files of its own', () => {
  const names = suites.map((suite) => suite.algorithm).sort();
  const wanted = ['ES256', 'ES384', 'ES512', 'EdDSA', 'PS256', 'PS384', 'PS512', 'RS256', 'RS384', 'RS512'];
  assert.deepEqual(names, wanted);
});
