import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeToken, readableClaims } from './decodeToken.ts';

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

test('a signed token is decoded, and an opaque one is not', () => {
  const claims = { sub: 'Zoë', groups: ['mcp-users'] };
  assert.deepEqual(decodeToken(`${part({ alg: 'RS256' })}.${part(claims)}.signature`), {
    header: { alg: 'RS256' },
    claims,
  });
  for (const opaque of [
    '',
    'a',
    'a.b',
    'a.b.c',
    `${part({})}.${part('text')}.s`,
    `${part({})}.${part({})}.a.b`,
  ])
    assert.equal(decodeToken(opaque), undefined, opaque);
});

test('times of a token are readable', () => {
  assert.deepEqual(readableClaims({ exp: 1_790_000_000, sub: 'a', iat: 'x' }), {
    exp: '1790000000 (2026-09-21T14:13:20.000Z)',
    sub: 'a',
    iat: 'x',
  });
});
