import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { hashSync } from 'bcryptjs';
import { checkPassword, hashProblem } from './checkPassword.ts';

/** Made by `openssl passwd`, so that not our own code says what is right. */
const samples = JSON.parse(readFileSync(new URL('testdata/openssl.json', import.meta.url), 'utf8')) as {
  password: string;
  hash: string;
}[];

test('the schemes of crypt agree with those of OpenSSL, at every length that matters', () => {
  assert.equal(samples.length, 62);
  for (const { password, hash } of samples) {
    assert.equal(hashProblem(hash), undefined, hash);
    assert.equal(checkPassword(password, hash), true, hash);
    assert.equal(checkPassword(`${password}x`, hash), false, hash);
  }
});

test('another number of rounds works', () => {
  // From the specification of SHA-crypt.
  const hash =
    '$6$rounds=10000$saltstringsaltst$OW1/O6BYHV6BcXZu8QVeXbDWra3Oeqh0sbHbbMCVNSnCM/UrjmM0Dp8vOuZeHBy/YTBmSK6H9qs/y3RnOaw5v.';
  assert.equal(checkPassword('Hello world!', hash), true);
  assert.equal(checkPassword('Hello world?', hash), false);
});

test('bcrypt and {SHA} work', () => {
  const written = hashSync('secret', 4);
  assert.equal(hashProblem(written), undefined);
  assert.equal(checkPassword('secret', written), true);
  assert.equal(checkPassword('Secret', written), false);
  assert.equal(checkPassword('secret', written.replace('$2b$', '$2y$')), true, 'htpasswd writes $2y$');
  assert.equal(checkPassword('password', '{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g='), true);
  assert.equal(checkPassword('Password', '{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g='), false);
});

test('hashes of other kinds, and those that take too long, are refused by name', () => {
  for (const written of ['plain', 'rqXexS6ZhobKA', '$3$abc', '{SSHA}abc', '', '$2y$10$short', '$apr1$$x'])
    assert.match(hashProblem(written) ?? '', /expected a hash of bcrypt/, written);
  assert.match(hashProblem(`$2y$31$${'a'.repeat(53)}`) ?? '', /cost/);
  assert.match(hashProblem(`$6$rounds=999999999$salt$${'a'.repeat(86)}`) ?? '', /rounds/);
  assert.equal(checkPassword('plain', 'plain'), false);
});
