import assert from 'node:assert/strict';
import { test } from 'node:test';
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
