import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { policiesNotBuiltOn, policyOrder, policySchemas, policyTable } from './index.ts';

test('every policy has its facts and its run-time part, which have the same schema', () => {
  assert.deepEqual([...policyTable.keys()].sort(), Object.keys(policySchemas).sort());
  for (const [name, policy] of policyTable) {
    assert.equal(policy.schema, policySchemas[name as keyof typeof policySchemas]);
  }
  assert.deepEqual(
    policiesNotBuiltOn('route').filter((name) => policyTable.has(name)),
    [],
  );
});

test('policies act in the order of the documented pipeline', () => {
  const names = [
    'timeout',
    'cors',
    'mcpAuthentication',
    'authorization',
    'requestHeaderModifier',
    'directResponse',
  ];
  assert.deepEqual(
    names.toSorted((a, b) => policyOrder(a) - policyOrder(b)),
    names,
  );
  assert.ok(policyOrder('jwtAuth') < policyOrder('authorization'));
  assert.ok(policyOrder('cors') < policyOrder('jwtAuth'));
  assert.ok(policyOrder('unheard of') > policyOrder('directResponse'));
});

/** Every object in a JSON Schema, with its place. */
function* nodes(schema: unknown, place = ''): Generator<[string, Record<string, unknown>]> {
  if (typeof schema !== 'object' || schema === null) return;
  yield [place, schema as Record<string, unknown>];
  for (const [name, value] of Object.entries(schema)) yield* nodes(value, `${place}/${name}`);
}

test('every field of every policy is described, and unknown fields are refused', () => {
  for (const [name, schema] of Object.entries(policySchemas)) {
    const json = z.toJSONSchema(schema, { io: 'input' });
    assert.ok(json.description, name);
    for (const [place, node] of nodes(json)) {
      if (node.properties === undefined || place.endsWith('/properties')) continue;
      assert.equal(node.additionalProperties, false, `${name}${place}`);
      for (const [field, value] of Object.entries(
        node.properties as Record<string, { description?: string }>,
      ))
        assert.ok(value.description, `${name}${place}/${field} has no description`);
    }
  }
});

test('checked settings survive JSON, because the model travels as JSON', () => {
  const samples: [keyof typeof policySchemas, unknown][] = [
    ['timeout', { requestTimeout: '1s' }],
    ['cors', { allowOrigins: ['https://a.test'], maxAge: 5 }],
    [
      'oidc',
      {
        issuer: 'https://i',
        discovery: { file: 'f' },
        clientId: 'c',
        clientSecret: 's',
        redirectURI: 'https://a.test/callback',
        scopes: ['email'],
      },
    ],
    ['jwtAuth', { issuer: 'i', jwks: { file: 'f' }, location: { cookie: { name: 'c' } } }],
    ['mcpAuthentication', { issuer: 'https://i', audiences: ['a'], authorization: { rules: ['true'] } }],
    ['authorization', { rules: ['jwt.a == 1', { deny: 'jwt.b == 1', name: 'n' }] }],
    ['requestHeaderModifier', { set: { a: 'b' } }],
    ['directResponse', { status: 200, body: 'x' }],
    ['requestRedirect', { authority: { host: 'a.test' }, path: { prefix: '/x' } }],
    ['urlRewrite', { authority: 'auto', path: { full: '/x' } }],
    ['basicAuth', { htpasswd: { file: 'f' }, authorizationLocation: { cookie: { name: 'c' } } }],
    ['localRateLimit', [{ maxTokens: 1, tokensPerFill: 1, fillInterval: '1s', key: 'jwt.sub' }]],
    ['delay', { duration: 'duration("1s")' }],
    ['abort', { status: 500 }],
    ['backendAuth', { key: { file: 'f' }, credentials: [{ key: 'k', location: { cookie: { name: 'c' } } }] }],
    ['buffer', { request: { maxBytes: 5 }, response: { maxBytes: 5 } }],
    ['requestMirror', [{ backend: { host: 'a:1' }, percentage: 0.5 }]],
    ['retry', { codes: [503], attempts: 2, backoff: '1s', condition: 'response.code == 500' }],
    ['sessionPersistence', { sessionName: 's', absoluteTimeout: '1h', cookieConfig: { sameSite: 'Strict' } }],
    ['apiKey', { keys: [{ key: 'k', metadata: { a: [1, { b: null }] } }] }],
  ];
  for (const [name, written] of samples) {
    const settings = policySchemas[name].parse(written);
    assert.deepEqual(JSON.parse(JSON.stringify(settings)), settings, name);
  }
});
