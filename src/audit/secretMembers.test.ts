import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSecretMember } from './secretMembers.ts';

const secret = `password passwords passwd pwd pass db_pass passphrase secret secrets secretKey secret_access_key
  AWS_SECRET_ACCESS_KEY AWSAccessKey access_key accessKeys account_key client_secret_value credentials credential
  token tokens token_value sessionToken api_token apikey apiKey X-API-Key x-auth-key auth jwt otp cookies set_cookie
  Authorization authorization_header signingKey encryption_key private_key`;

const plain = `author authors authority key keys primaryKey public_key keyword monkey path passenger compass bypass
  max_tokens maxTokens total_tokens tokenCount tokenizer name user id accessLevel account option`;

test('names that say that their value is a secret are told from names that look like them', () => {
  for (const name of secret.split(/\s+/)) assert.ok(isSecretMember(name), name);
  for (const name of plain.split(/\s+/)) assert.ok(!isSecretMember(name), name);
});

test('the words of a long name take no time: it is secret where one of them may tell of a secret', () => {
  const began = performance.now();
  assert.ok(isSecretMember(`${'token '.repeat(10_000)}max`));
  assert.ok(!isSecretMember('aB'.repeat(30_000)));
  assert.ok(performance.now() - began < 500);
});
