import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maskedFields } from '../config/index.ts';
import { redactDump } from './redactDump.ts';

const secret = 'hunter2-hunter2';

test('values that stand where secrets stand are replaced', () => {
  const cases: readonly unknown[] = [
    { env: { ANYTHING: secret } },
    { fixed: { sessionKey: secret } },
    { session: { 'session-key': secret } },
    { clientSecret: secret },
    { password: { value: secret } },
    { refresh_token: [secret] },
    { set: { authorization: secret } },
    { headers: [{ name: 'X-Api-Key', value: secret }] },
    { headers: [['cookie', secret]] },
    { args: ['--api-key', secret] },
    { args: [`--auth-token=${secret}`] },
    { jwks: { keys: [{ kty: 'EC', d: secret, k: secret, p: secret }] } },
    { jwks: { kind: 'inline', jwks: JSON.stringify({ keys: [{ kty: 'oct', k: secret }] }) } },
    { url: `https://user:${secret}@example.com/x` },
    { url: `https://example.com/x?access_token=${secret}` },
    { path: `/mcp?api_key=${secret}` },
    { path: `/mcp?a=b&subscription-key=${secret}` },
    { hosts: [`https://${secret}@example.com/x`] },
    { args: ['-e', `PERSONAL_ACCESS_TOKEN=${secret}`] },
    { note: `Bearer ${secret}` },
    { deep: [[{ deeper: { apiKey: secret } }]] },
    { args: ['run', secret] },
    { policies: [{ name: 'requestHeaderModifier', settings: { set: { 'x-tenant': secret } } }] },
    { policies: [{ name: 'requestHeaderModifier', settings: { add: { 'x-tenant': secret } } }] },
    { policies: [{ name: 'responseHeaderModifier', settings: { set: { 'x-tenant': secret } } }] },
    { policies: [{ name: 'directResponse', settings: { status: 200, body: secret } }] },
    { policies: [{ name: 'directResponse', settings: { status: 200, bodyExpression: secret } }] },
    { policies: [{ name: 'directResponse', settings: { status: 200, headers: { 'x-a': secret } } }] },
    { policies: [{ name: 'basicAuth', settings: { htpasswd: { kind: 'inline', text: secret } } }] },
    { policies: [{ name: 'apiKey', settings: { keys: [{ digest: secret, metadata: {} }] } }] },
  ];
  for (const value of cases) {
    const text = JSON.stringify(redactDump(value, maskedFields));
    assert.ok(!text.includes(secret), text);
    assert.match(text, /redacted/);
  }
});

test('the dump keeps fields that are not secret', () => {
  const model = {
    fixed: { sessionTtlMs: 1_800_000, sessionKey: undefined },
    routes: [
      {
        name: 'route0',
        key: 'binds[0].listeners[0].routes[0].backends[0]',
        policies: [
          {
            name: 'mcpAuthentication',
            settings: {
              issuer: 'http://localhost:9000/oauth2/default',
              jwks: { kind: 'url', url: 'http://localhost:9000/oauth2/default/v1/keys' },
              authorization: { rules: [{ if: '"staff" in auth.claims.groups' }] },
            },
          },
          { name: 'authorization', settings: { rules: ['jwt.sub != ""'] } },
          { name: 'requestHeaderModifier', settings: { remove: ['x-debug'] } },
        ],
        jwk: { kty: 'EC', crv: 'P-256', x: 'abc', y: 'def', kid: 'k1' },
        clearEnv: false,
      },
    ],
  };
  assert.deepEqual(redactDump(model, maskedFields), model);
});
