import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { hashSync } from 'bcryptjs';
import { checkPassword, hashProblem } from './checkPassword.ts';

/** Made by OpenSSL, so that not our own code says what is right. */
const openssl = (flag: string, salt: string, password: string): string =>
  execFileSync('openssl', ['passwd', flag, '-salt', salt, '-stdin'], {
    input: `${password}\n`,
    encoding: 'utf8',
  }).trim();

const passwords = [
  'x',
  'hello',
  'pässwört ✓',
  ...[15, 16, 17, 31, 32, 33, 63, 64, 65, 128, 200].map((n) => 'ab3'.repeat(n).slice(0, n)),
];

test('the schemes of crypt agree with those of OpenSSL, at every length that matters', () => {
  for (const flag of ['-apr1', '-1', '-5', '-6'])
    for (const password of passwords) {
      const written = openssl(flag, 'saltSALT', password);
      assert.equal(hashProblem(written), undefined);
      assert.equal(checkPassword(password, written), true, `${flag} ${password}`);
      assert.equal(checkPassword(`${password}x`, written), false, `${flag} ${password}`);
    }
});

test('salts of every length and other numbers of rounds work', () => {
  for (const salt of ['a', 'abcdefgh', 'abcdefghijklmnop']) {
    assert.equal(checkPassword('pw', openssl('-6', salt, 'pw')), true);
    assert.equal(checkPassword('pw', openssl('-5', salt, 'pw')), true);
  }
  // From the specification.
  assert.equal(
    checkPassword(
      'Hello world!',
      '$6$rounds=10000$saltstringsaltst$OW1/O6BYHV6BcXZu8QVeXbDWra3Oeqh0sbHbbMCVNSnCM/UrjmM0Dp8vOuZeHBy/YTBmSK6H9qs/y3RnOaw5v.',
    ),
    true,
  );
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
