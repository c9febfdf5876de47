import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { redactText } from './redact.ts';
import { forgetSecrets, rememberIssuedSecrets, rememberSecrets, secretsGeneration } from './knownSecrets.ts';

afterEach(forgetSecrets);

test('secrets that servers issue push out one another, and never a configured secret', () => {
  rememberSecrets(['configured-secret']);
  const before = secretsGeneration();
  for (let at = 0; at < 3_000; at++) rememberIssuedSecrets([`issued-secret-${at}-of-a-session`]);
  const shown = (text: string): boolean => redactText(text) === text;
  assert.equal(shown('configured-secret'), false);
  assert.equal(shown('issued-secret-2999-of-a-session'), false);
  assert.equal(shown('issued-secret-1-of-a-session'), true, 'the oldest ones are forgotten');
  assert.equal(secretsGeneration(), before, 'texts that were hidden before stay as they are');
});

test('a configured secret that is in use again outlives those that are not', () => {
  rememberSecrets(['secret-in-use', 'secret-of-before']);
  rememberSecrets(['secret-in-use']);
  rememberSecrets(Array.from({ length: 1_023 }, (_, at) => `configured-${at}`));
  assert.equal(redactText('secret-in-use secret-of-before'), '[redacted] secret-of-before');
});

test('a secret that is known already costs no new order', () => {
  rememberSecrets(Array.from({ length: 1_024 }, (_, at) => `configured-${at}`));
  const before = secretsGeneration();
  rememberSecrets(['configured-7']);
  assert.equal(secretsGeneration(), before);
});
