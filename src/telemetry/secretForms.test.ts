import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { withoutEndlessWork } from './endless.testing.ts';
import { forgetSecrets, rememberIssuedSecrets, rememberSecrets } from './knownSecrets.ts';
import { hiddenBeginning, hideSecretForms, shownBeginning } from './secretForms.ts';

after(forgetSecrets);

test('parameters and users of addresses are hidden, in paths too', () => {
  const shown = {
    '/mcp?api_key=hidden&a=b': '/mcp?api_key=[redacted]&a=b',
    '/x?X-Amz-Signature=hidden': '/x?X-Amz-Signature=[redacted]',
    'https://h/x#access_token=hidden': 'https://h/x#access_token=[redacted]',
    'redis://:hidden@h:1/x': 'redis://[redacted]@h:1/x',
    '/x?monkey=a&sort_key=b': '/x?monkey=a&sort_key=b',
  };
  for (const [text, expected] of Object.entries(shown)) assert.equal(hideSecretForms(text), expected);
});

test('the beginning of a text holds no part of a secret, wherever the secret is cut', () => {
  const secret = `S3cr3t${'k'.repeat(57)}Z`;
  rememberSecrets([secret]);
  const most = 100;
  for (let before = 0; before <= most; before++)
    for (const behind of [0, 100, 10_000]) {
      const beginning = hiddenBeginning(`${'x'.repeat(before)}${secret}${'y'.repeat(behind)}`, most);
      assert.ok(beginning.length <= most && !beginning.includes('S'), beginning);
      assert.ok(beginning.startsWith('x'.repeat(before)));
    }
  const long = `S3cr3t${'k'.repeat(9_000)}Z`;
  for (const remember of [rememberIssuedSecrets, rememberSecrets]) {
    remember([long]);
    assert.doesNotMatch(hiddenBeginning(`a ${long}${'y'.repeat(30_000)}`, most), /S|k/);
    forgetSecrets();
  }
  rememberSecrets([secret]);
  // Marks are shorter than secrets, so the secret at the end of the read part moves to the front.
  const many = hiddenBeginning(secret.repeat(1_000), most);
  assert.ok(many.length <= most && !many.includes('S'), many);
});

const token = (length: number): string =>
  `eyJhbGciOiJSUzI1NiJ9.eyJzdWIi${'Z'.repeat(length - 40)}.${'S'.repeat(9)}`;

test('the beginning of a text holds no part of a token that is longer than the part that is read', () => {
  const most = 100;
  for (const before of ['token:', 'x=', ' '.repeat(90)])
    for (const long of [4_100, 4_190, 4_200, 4_230, 8_300, 60_000].map(token))
      assert.doesNotMatch(hiddenBeginning(`${before}${long}`, most), /eyJ|Z|S/);
  assert.equal(hiddenBeginning(`token:${token(8_300)}`, most), 'token:[redacted]');
  const longHeader = `eyJhbGciOiJSUzI1NiJ9${'Z'.repeat(5_000)}.eyJzdWIi.c2ln`;
  assert.equal(hiddenBeginning(`a ${longHeader}`, most), 'a [redacted]');
  const whole = `token:${'eyJhbGciOiJSUzI1NiJ9'}.eyJzdWIi`;
  assert.equal(hiddenBeginning(whole, most), whole, 'nothing cuts this text');
});

/** Each text makes an expression read the same characters again and again, if that is possible. */
const hostile = [
  'ey-',
  'ey.',
  'ey....',
  'eyaaaaaaaaaaaa.',
  'eyaaaaaaaaaaaa ',
  'Bearer ',
  'Bearer    ',
  'Basic ',
  'basic.',
  ' ',
  'a',
  '-',
  '.',
  '=',
  '?',
  '://',
  '://a',
  '&session',
  '?token=&',
  'sk-a ',
  'npm_',
  '-----BEGIN ',
  '-----BEGIN PRIVATE KEY ',
  'PRIVATE KEY',
];

test('the search for secrets ends for every text of a client', () => {
  // Work that grew with the square of the length would take hours.
  const length = 600_000;
  const secret = `;${token(100)}`;
  withoutEndlessWork(() => {
    for (const unit of hostile)
      for (const begin of ['', 'Bearer', '-----BEGIN ']) {
        const text = `${begin}${unit.repeat(length / unit.length)}`;
        assert.ok(hideSecretForms(`${text}.x`).length > 0);
        assert.ok(!hideSecretForms(`${text}${secret}`).includes('ZZZ'), unit);
      }
    const text = `${'ey-'.repeat(length / 3)}.x`;
    assert.equal(hideSecretForms(text), text);
    assert.equal(hideSecretForms(`${text} ${secret}`), `${text} ;[redacted]`);
  });
});

test('a name without a sign of an address is only cut', () => {
  assert.equal(shownBeginning('a'.repeat(9), 4), 'aaaa');
  assert.equal(shownBeginning('a?token=hidden', 200), 'a?token=[redacted]');
  assert.equal(shownBeginning(`a-${token(100)}`, 50), 'a-[redacted]');
});
