import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withoutEndlessWork } from './endless.testing.ts';
import { redactArguments } from './redactArguments.ts';

const secret = 'opaque-1234';

test('arguments show no secret of a flag, a variable, a header or an address', () => {
  const cases = [
    ['--api-key', secret],
    [`--auth-token=${secret}`],
    ['-e', `PERSONAL_ACCESS_TOKEN=${secret}`],
    [`--env=API_KEY=${secret}`],
    [`API_KEY=${secret}`],
    [`--url=postgres://u:${secret}@h/db`],
    [`https://${secret}@host/x`],
    [`https://host/mcp?api_key=${secret}`],
    ['--header', `X-Partner: ${secret}`],
    ['-H', `Authorization:${secret}`],
    [`--header=X-Api-Key: ${secret}`],
    [`--env=--header=X-Api-Key: ${secret}`],
    [`X-Api-Key: ${secret}`],
    ['-u', `user:${secret}`],
    ['ghp_0123456789abcdefghijABCDEFGHIJ'],
  ];
  for (const args of cases) {
    const shown = redactArguments(args);
    assert.equal(shown.length, args.length);
    assert.match(shown.join(' '), /\[redacted\]/);
    assert.doesNotMatch(shown.join(' '), /opaque-1234|ghp_/);
  }
});

test('arguments without a secret stay', () => {
  const args = [
    'run',
    '-i',
    '--rm',
    '-e',
    'MODE=fast',
    '--port=80',
    'key:read',
    'a@b.test',
    'https://h/x?a=b',
  ];
  assert.deepEqual(redactArguments(args), args);
});

test('the search for words of secrets ends for every name of an argument', () => {
  // Work that grew with the square of the length would take hours.
  const name = `--${'token'.repeat(400_000)}!`;
  withoutEndlessWork(() => {
    assert.deepEqual(redactArguments([name, 'plain']), [name, 'plain']);
    assert.deepEqual(redactArguments([name.slice(0, -1), secret]), [name.slice(0, -1), '[redacted]']);
  });
});

test('an argument may be flags within flags, however many', () => {
  const flags = '-a='.repeat(200_000);
  withoutEndlessWork(() => {
    assert.deepEqual(redactArguments([`${flags}plain`]), [`${flags}plain`]);
    assert.deepEqual(redactArguments([`${flags}API_KEY=${secret}`]), [`${flags}API_KEY=[redacted]`]);
  });
});
