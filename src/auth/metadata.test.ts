import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { bearerChallenge } from './challenge.ts';
import { createIssuerMetadata, metadataUrls, type IssuerMetadata } from './issuerMetadata.ts';
import { memoryLog } from './log.testing.ts';
import { jsonAnswer, startLoopback, type Loopback } from './loopback.testing.ts';
import { resourceMetadata, snakeCase } from './resourceMetadata.ts';
import { until } from '../until.testing.ts';
import { TokenCache } from './tokenCache.ts';

test('a challenge without a token says no error, one with a token says what RFC 6750 allows', () => {
  const pointer = { resourceMetadata: 'http://h/.well-known/oauth-protected-resource/mcp' };
  assert.equal(bearerChallenge({}), 'Bearer');
  assert.equal(bearerChallenge(pointer), `Bearer resource_metadata="${pointer.resourceMetadata}"`);
  assert.equal(
    bearerChallenge({ ...pointer, refused: 'expired', scope: 'a b' }),
    `Bearer error="invalid_token", error_description="The access token expired", resource_metadata="${pointer.resourceMetadata}", scope="a b"`,
  );
});

test('values in a challenge cannot end its quoted string or its line', () => {
  assert.equal(
    bearerChallenge({ scope: 'a"b\\c\r\nset-cookie: x\u0000é' }),
    'Bearer scope="a\\"b\\\\cset-cookie: x"',
  );
});

test('resource metadata is derived, and overridden by name in either case', () => {
  const document = resourceMetadata({
    resource: 'https://h/mcp',
    authorizationServers: ['https://idp'],
    overrides: { scopesSupported: ['a'], resource_documentation: 'https://d', resource: 'https://other/mcp' },
  });
  assert.deepEqual(document, {
    resource: 'https://other/mcp',
    authorization_servers: ['https://idp'],
    resource_type: 'mcp-server',
    scopes_supported: ['a'],
    resource_documentation: 'https://d',
  });
  for (const [camel, snake] of [
    ['jwksUri', 'jwks_uri'],
    ['jwksURI', 'jwks_uri'],
    ['dpopBoundAccessTokensRequired', 'dpop_bound_access_tokens_required'],
    ['mcpProtocolVersion', 'mcp_protocol_version'],
    ['already_snake', 'already_snake'],
  ] as const)
    assert.equal(snakeCase(camel), snake);
});

async function issuer(
  t: TestContext,
  answer: Loopback['answer'],
  now: () => number = Date.now,
  timeoutMs = 500,
) {
  const server = await startLoopback(answer);
  t.after(() => server.close());
  const { log } = memoryLog();
  const name = `${server.url}/oauth2/default`;
  const metadata: IssuerMetadata = createIssuerMetadata({
    issuer: name,
    openid: false,
    log,
    now,
    timeoutMs,
  });
  t.after(() => metadata.close());
  return { server, metadata, name };
}

test('metadata of the issuer is looked for at the places of both standards, and fetched once', async (t) => {
  const { server, metadata, name } = await issuer(t, (request, response) => {
    if (request.url === '/oauth2/default/.well-known/openid-configuration')
      jsonAnswer({ issuer: name, token_endpoint: `${name}/token` })(request, response);
    else response.writeHead(404).end();
  });
  const documents = await Promise.all([metadata.get(), metadata.get()]);
  assert.equal(documents[0]?.token_endpoint, `${name}/token`);
  assert.equal(documents[1], documents[0]);
  assert.deepEqual(server.asked, [
    '/.well-known/oauth-authorization-server/oauth2/default',
    '/oauth2/default/.well-known/oauth-authorization-server',
    '/oauth2/default/.well-known/openid-configuration',
  ]);
  await metadata.get();
  assert.equal(server.asked.length, 3);
});

test('a document of another issuer is not passed on', async (t) => {
  const { metadata } = await issuer(t, jsonAnswer({ issuer: 'https://evil.test' }));
  assert.equal(await metadata.get(), undefined);
});

test('after a failure the issuer is left alone for a while, and the last good document is kept', async (t) => {
  let at = 0;
  const { server, metadata, name } = await issuer(
    t,
    (_q, r) => r.writeHead(500).end(),
    () => at,
  );
  assert.equal(await metadata.get(), undefined);
  const asked = server.asked.length;
  assert.equal(await metadata.get(), undefined);
  assert.equal(server.asked.length, asked);
  server.answer = jsonAnswer({ issuer: name });
  at += 5_000;
  assert.deepEqual(await metadata.get(), { issuer: name });
  server.answer = (_q, r) => r.destroy();
  at += 15 * 60_000;
  assert.deepEqual(await metadata.get(), { issuer: name });
});

test('a server that hangs does not hold up callers while a document is known', async (t) => {
  let at = 0;
  const { server, metadata, name } = await issuer(
    t,
    (request, response) => jsonAnswer({ issuer: name })(request, response),
    () => at,
    600_000,
  );
  assert.deepEqual(await metadata.get(), { issuer: name });
  const asked = Promise.withResolvers<Parameters<Loopback['answer']>>();
  server.answer = (...request) => asked.resolve(request);
  at += 15 * 60_000;
  assert.deepEqual(await metadata.get(), { issuer: name });
  const [request, response] = await asked.promise;
  const next = { issuer: name, scopes_supported: ['a'] };
  jsonAnswer(next)(request, response);
  await until(
    'the next document is used',
    async () => (await metadata.get())?.['scopes_supported'] !== undefined,
  );
  assert.equal(server.asked.length, 2);
});

test('a server that does not answer is asked once, and not at each of its addresses', async (t) => {
  const { server, metadata } = await issuer(t, (_request, response) => response.destroy());
  assert.equal(await metadata.get(), undefined);
  assert.equal(server.asked.length, 1);
});

test('an issuer that is not an address has no metadata', () => {
  assert.deepEqual(metadataUrls('my-issuer', false), []);
  assert.deepEqual(metadataUrls('file:///etc', false), []);
  assert.deepEqual(metadataUrls('https://idp', true), [
    'https://idp/.well-known/openid-configuration',
    'https://idp/.well-known/oauth-authorization-server',
  ]);
});

test('the token cache keeps used tokens, and never more than two generations', () => {
  const cache = new TokenCache<number>(10, 1_000);
  for (let i = 0; i < 100; i += 1) {
    cache.set(`token-${i}`, i);
    assert.equal(cache.get('token-0'), 0);
    assert.ok(cache.size <= 20);
  }
  assert.equal(cache.get('token-1'), undefined);
  cache.delete('token-0');
  assert.equal(cache.get('token-0'), undefined);
  const small = new TokenCache<number>(1_000, 100);
  for (let i = 0; i < 100; i += 1) small.set(`${i}`.padEnd(40, '.'), i);
  assert.ok(small.size <= 4);
});
