import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { jsonAnswer, startLoopback } from '../../auth/loopback.testing.ts';
import { issuerName, makeKey, makeToken, nowSeconds } from '../../auth/token.testing.ts';
import { GatewayError } from '../../errors.ts';
import type { HeaderLine, Reply } from '../../http/index.ts';
import { FakeExchange, type FakeRequest } from '../exchange.testing.ts';
import type { PolicyTools, Steps } from '../policy.ts';
import { allowsItem, prepared, toolsWith } from '../tools.testing.ts';
import { mcpAuthentication } from './index.ts';

const key = makeKey('P-256', 'k1');
const tokenWith = (claims: Record<string, unknown> = {}): string => makeToken('ES256', key, { claims });
const written = { issuer: issuerName, audiences: ['api://test'], jwks: { url: `${issuerName}/v1/keys` } };
const bearer = (token: string): HeaderLine[] => [['authorization', `Bearer ${token}`]];

async function refusal(settings: object, request: FakeRequest, tools: PolicyTools = toolsWith([key])) {
  const exchange = new FakeExchange({ target: '/mcp', ...request });
  try {
    await prepared(mcpAuthentication, settings, tools).onRequest?.(exchange);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    return error;
  }
}

test('without a token the caller is told where to get one, and no error', async () => {
  const error = await refusal(written, { host: 'gw.test:3000' });
  assert.equal(error?.code, 'token_missing');
  assert.equal(error.detail, 'mcpAuthentication, mode strict', 'the log names the policy that refused');
  assert.deepEqual(error.headers, [
    [
      'www-authenticate',
      'Bearer resource_metadata="http://gw.test:3000/.well-known/oauth-protected-resource/mcp"',
    ],
  ]);
  assert.deepEqual(error.jsonBody, { error: 'unauthorized', error_description: 'JWT token required' });
});

test('a refused token is called invalid, with the reason in the log only as far as RFC 6750 goes', async () => {
  const error = await refusal(written, { headers: bearer(tokenWith({ exp: nowSeconds - 30 })) });
  assert.equal(error?.code, 'token_invalid');
  assert.match(
    error.headers?.[0]?.[1] ?? '',
    /^Bearer error="invalid_token", error_description="The access token expired"/,
  );
  assert.match(error.headers?.[0]?.[1] ?? '', /resource_metadata="/);
  assert.equal(error.detail, 'expired');
  assert.equal(error.jsonBody?.error, 'invalid_token');
});

test('every bad token is refused in strict mode, which is the default', async () => {
  const bad = [
    tokenWith({ aud: 'other' }),
    tokenWith({ iss: 'https://other.test' }),
    tokenWith({ exp: undefined }),
    tokenWith({ aud: undefined }),
    tokenWith({ iss: undefined }),
    tokenWith({ nbf: nowSeconds + 60 }),
    makeToken('ES256', makeKey('P-256', 'k1')),
    makeToken('ES256', makeKey('P-256', 'k2')),
    'rubbish',
    '',
  ];
  for (const token of bad)
    assert.equal((await refusal(written, { headers: bearer(token) }))?.code, 'token_invalid');
  assert.equal(
    (await refusal(written, { headers: [['authorization', 'Basic YTpi']] }))?.code,
    'token_missing',
  );
  assert.equal(
    (await refusal(written, { target: `/mcp?access_token=${tokenWith()}` }))?.code,
    'token_missing',
  );
});

test('the metadata pointer follows the scheme the client used, and the configured resource before all', async () => {
  const pointer = async (settings: object, request: FakeRequest): Promise<string | undefined> =>
    /resource_metadata="([^"]*)"/.exec((await refusal(settings, request))?.headers?.[0]?.[1] ?? '')?.[1];
  const https: HeaderLine[] = [['x-forwarded-proto', 'https']];
  assert.equal(
    await pointer(written, { headers: https }),
    'https://gateway.test/.well-known/oauth-protected-resource/mcp',
  );
  const plain: HeaderLine[] = [['x-forwarded-proto', 'http']];
  assert.equal(
    await pointer(written, { scheme: 'https', headers: plain }),
    'https://gateway.test/.well-known/oauth-protected-resource/mcp',
    'what came by TLS is not told as http',
  );
  assert.equal(
    await pointer(written, { headers: [['x-forwarded-proto', 'javascript']] }),
    'http://gateway.test/.well-known/oauth-protected-resource/mcp',
  );
  assert.equal(
    await pointer(written, { target: '/' }),
    'http://gateway.test/.well-known/oauth-protected-resource',
  );
  const resourceMetadata = {
    resource: 'https://public.test/tools/mcp',
    scopesSupported: ['a', 'offline_access', 'b'],
  };
  assert.equal(
    await pointer({ ...written, resourceMetadata }, {}),
    'https://public.test/.well-known/oauth-protected-resource/tools/mcp',
  );
  const error = await refusal({ ...written, resourceMetadata }, {});
  assert.match(error?.headers?.[0]?.[1] ?? '', /scope="a b"$/);
});

test('a configured resource pins every address, whatever the client writes', async () => {
  const resourceMetadata = { resource: 'https://public.test/mcp' };
  const lies: FakeRequest = { host: 'evil.test', headers: [['x-forwarded-proto', 'http']] };
  const error = await refusal({ ...written, resourceMetadata }, lies);
  assert.equal(
    error?.headers?.[0]?.[1],
    'Bearer resource_metadata="https://public.test/.well-known/oauth-protected-resource/mcp"',
  );
  const steps = prepared(mcpAuthentication, { ...written, resourceMetadata }, toolsWith([key]));
  const reply = (await steps.onWellKnown?.(
    new FakeExchange(lies),
    'oauth-protected-resource',
    '/mcp',
  )) as Reply;
  assert.equal((JSON.parse(String(reply.body)) as { resource: string }).resource, 'https://public.test/mcp');
  assert.ok(reply.headers?.some(([name, value]) => name === 'cache-control' && value === 'no-store'));
});

test('a resource that is no address is refused at load', () => {
  for (const resource of ['', 'mcp', 'public.test/mcp', 'urn:mcp', 'https://public.test/mcp#x', 1, null])
    assert.throws(
      () => prepared(mcpAuthentication, { ...written, resourceMetadata: { resource } }, toolsWith([key])),
      /resource/,
      String(resource),
    );
});

test('the group rule refuses with 403 and JSON after the token was found good', async () => {
  const settings = { ...written, authorization: { rules: [{ if: '"g" in auth.claims.groups' }] } };
  assert.equal(await refusal(settings, { headers: bearer(tokenWith({ groups: ['g'] })) }), undefined);
  for (const groups of [['h'], 'g', 'xgx', undefined, null, {}]) {
    const error = await refusal(settings, { headers: bearer(tokenWith({ groups })) });
    assert.equal(error?.code, 'authorization_denied', JSON.stringify(groups));
    assert.deepEqual(error.jsonBody, { error: 'forbidden', error_description: 'authorization failed' });
  }
  assert.equal((await refusal(settings, {}))?.code, 'token_missing');
  assert.equal((await refusal({ ...settings, mode: 'optional' }, {}))?.code, 'authorization_denied');
});

test('rules about tools in the same place decide about items', () => {
  const settings = {
    ...written,
    authorization: { rules: ['mcp.tool.name == "echo" && jwt.sub == "alice"'] },
  };
  const steps = prepared(mcpAuthentication, settings, toolsWith([key]));
  const exchange = new FakeExchange({ headers: bearer(tokenWith()) });
  assert.equal(steps.onRequest?.(exchange), undefined);
  assert.equal(allowsItem(steps)(exchange, { kind: 'tool', target: 't', name: 'echo' }), true);
  assert.equal(allowsItem(steps)(exchange, { kind: 'tool', target: 't', name: 'add' }), false);
  assert.equal(prepared(mcpAuthentication, written, toolsWith([key])).refuseMcpItem, undefined);
});

async function wellKnown(
  steps: Steps,
  name: string,
  path: string,
  request: FakeRequest = {},
): Promise<Reply> {
  const exchange = new FakeExchange({ target: `/.well-known/${name}${path}`, ...request });
  return (await steps.onWellKnown?.(exchange, name, path)) ?? assert.fail('no document');
}

const body = (reply: Reply): Record<string, unknown> =>
  JSON.parse(String(reply.body)) as Record<string, unknown>;

test('with a configured resource, all documents of a login name its address, in any form of the path', async () => {
  const resourceMetadata = { resource: 'https://public.test/mcp' };
  const settings = { ...written, clientId: 'gateway', resourceMetadata };
  const steps = prepared(mcpAuthentication, settings, toolsWith([key]));
  for (const path of ['/mcp', '/mcp/', '/mcp/deeper', '/', '']) {
    const resource = body(await wellKnown(steps, 'oauth-protected-resource', path));
    assert.deepEqual(resource.authorization_servers, ['https://public.test/mcp'], path);
    const server = body(await wellKnown(steps, 'oauth-authorization-server', path));
    assert.equal(server.issuer, 'https://public.test/mcp', path);
    assert.equal(server.token_endpoint, 'https://public.test/.well-known/mcp-login-token/mcp', path);
  }
  steps.close?.();
});

test('the metadata of a login offers offline_access, and the challenge does not ask for it', async () => {
  const settings = { ...written, clientId: 'gateway' };
  for (const name of ['scopesSupported', 'scopes_supported']) {
    const changed = { ...settings, resourceMetadata: { [name]: ['a', 'offline_access'] } };
    const steps = prepared(mcpAuthentication, changed, toolsWith([key]));
    const server = body(await wellKnown(steps, 'oauth-authorization-server', '/mcp'));
    assert.deepEqual(server.scopes_supported, ['a', 'offline_access']);
    assert.match((await refusal(changed, {}))?.headers?.[0]?.[1] ?? '', /scope="a"$/);
    steps.close?.();
  }
  const steps = prepared(mcpAuthentication, settings, toolsWith([key]));
  assert.equal('scopes_supported' in body(await wellKnown(steps, 'oauth-authorization-server', '')), false);
  steps.close?.();
});

test('the resource describes itself, for its path and for the root, to any page', async () => {
  const steps = prepared(mcpAuthentication, {
    ...written,
    resourceMetadata: { scopesSupported: ['a'], resourceDocumentation: 'https://d' },
  });
  const reply = await wellKnown(steps, 'oauth-protected-resource', '/mcp');
  assert.equal(reply.status, 200);
  assert.deepEqual(Object.fromEntries(reply.headers ?? []), {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'access-control-allow-origin': '*',
  });
  assert.deepEqual(body(reply), {
    resource: 'http://gateway.test/mcp',
    authorization_servers: [issuerName],
    bearer_methods_supported: ['header'],
    resource_type: 'mcp-server',
    mcp_protocol_version: '2025-11-25',
    scopes_supported: ['a'],
    resource_documentation: 'https://d',
  });
  assert.equal(body(await wellKnown(steps, 'oauth-protected-resource', '')).resource, 'http://gateway.test');
  const preflight = await wellKnown(steps, 'oauth-protected-resource', '/mcp', { method: 'OPTIONS' });
  assert.equal(preflight.status, 204);
  assert.equal((await wellKnown(steps, 'oauth-protected-resource', '/mcp', { method: 'POST' })).status, 405);
  assert.equal(await steps.onWellKnown?.(new FakeExchange(), 'security', ''), undefined);
});

test('the metadata names the method by which a client sends its token, where the method has a name', async () => {
  const methods = async (settings: object): Promise<unknown> => {
    const steps = prepared(mcpAuthentication, { ...written, ...settings });
    return body(await wellKnown(steps, 'oauth-protected-resource', '/mcp')).bearer_methods_supported;
  };
  const at = (authorizationLocation: object) => methods({ authorizationLocation });
  assert.deepEqual(await at({ queryParameter: { name: 'access_token' } }), ['query']);
  assert.deepEqual(await at({ header: { name: 'Authorization', prefix: 'Bearer ' } }), ['header']);
  for (const other of [
    { queryParameter: { name: 't' } },
    { header: { name: 'authorization', prefix: 'Token ' } },
    { header: { name: 'x-token' } },
    { cookie: { name: 'token' } },
    { expression: 'request.headers["x-token"]' },
  ])
    assert.equal(await at(other), undefined, JSON.stringify(other));
  const resourceMetadata = { bearerMethodsSupported: ['body'] };
  assert.deepEqual(await methods({ resourceMetadata }), ['body']);
});

async function provider(t: TestContext, document: object) {
  const server = await startLoopback(jsonAnswer({}));
  t.after(() => server.close());
  const issuer = `${server.url}/oauth2/default`;
  server.answer = jsonAnswer({ issuer, authorization_endpoint: `${issuer}/authorize?a=b`, ...document });
  return { server, issuer };
}

test('the metadata of the issuer is passed on, with the audience where the provider needs it', async (t) => {
  const { issuer, server } = await provider(t, { token_endpoint: 'x' });
  const steps = prepared(mcpAuthentication, { ...written, issuer });
  const reply = await wellKnown(steps, 'oauth-authorization-server', '/mcp');
  assert.deepEqual(body(reply), {
    issuer,
    authorization_endpoint: `${issuer}/authorize?a=b`,
    token_endpoint: 'x',
  });
  steps.close?.();
  const auth0 = prepared(mcpAuthentication, { ...written, issuer, provider: { auth0: {} } });
  assert.equal(
    body(await wellKnown(auth0, 'oauth-authorization-server', '/mcp')).authorization_endpoint,
    `${issuer}/authorize?a=b&audience=api%3A%2F%2Ftest`,
  );
  auth0.close?.();
  server.asked.length = 0;
  const keycloak = prepared(mcpAuthentication, { ...written, issuer, provider: { keycloak: {} } });
  await wellKnown(keycloak, 'oauth-authorization-server', '/mcp');
  assert.deepEqual(server.asked, ['/oauth2/default/.well-known/openid-configuration']);
  keycloak.close?.();
});

test('an issuer whose metadata cannot be had gives 503', async (t) => {
  const { issuer } = await provider(t, { issuer: 'https://another.test' });
  const steps = prepared(mcpAuthentication, { ...written, issuer });
  await assert.rejects(
    wellKnown(steps, 'oauth-authorization-server', '/mcp'),
    (error) => error instanceof GatewayError && error.code === 'issuer_metadata_unavailable',
  );
  steps.close?.();
});

test('without a configured key set, the issuer metadata names it, or the default path of the provider is used', () => {
  const source = (settings: object): unknown =>
    mcpAuthentication.schema.parse({ audiences: [], ...settings }).issuers[0]?.jwks;
  const issuer = 'https://idp.test/realms/r';
  const found = (written: string, openid: boolean, derived: string) => ({
    kind: 'discovered',
    issuer: written,
    openid,
    derived: `${issuer}/${derived}`,
  });
  assert.deepEqual(source({ issuer }), found(issuer, false, '.well-known/jwks.json'));
  for (const name of ['auth0', 'okta'])
    assert.deepEqual(
      source({ issuer: `${issuer}/`, provider: { [name]: {} } }),
      found(`${issuer}/`, false, '.well-known/jwks.json'),
    );
  assert.deepEqual(
    source({ issuer, provider: { keycloak: {} } }),
    found(issuer, true, 'protocol/openid-connect/certs'),
  );
  const clientId = 'c';
  assert.deepEqual(
    source({ issuer: `${issuer}/`, provider: { authentik: {} }, clientId }),
    found(`${issuer}/`, true, 'jwks/'),
  );
  const entra = source({ issuer: 'https://login.test/t/v2.0', provider: { entra: {} }, clientId });
  assert.equal(
    new URL((entra as { derived: string }).derived).href,
    'https://login.test/t/discovery/v2.0/keys',
  );
});

test('settings that contradict each other are refused', () => {
  const issues = (settings: object): string =>
    (mcpAuthentication.schema.safeParse({ ...written, ...settings }).error?.issues ?? [])
      .map(({ path, message }) => `${path.join('.')}: ${message}`)
      .join('; ');
  assert.match(issues({ provider: {} }), /exactly one of/);
  assert.match(issues({ issuer: 'not a url', jwks: undefined }), /jwks: missing/);
  assert.match(issues({ provider: { entra: {} } }), /clientId: missing: Entra ID registers no clients/);
  assert.match(issues({ provider: { authentik: {} } }), /clientId: missing: authentik registers no clients/);
  assert.match(issues({ clientSecret: 's' }), /clientSecret: needs clientId/);
  assert.match(issues({ clientDocuments: { hosts: ['*'] } }), /clientDocuments: needs clientId/);
  assert.match(issues({ clientId: 'c', clientDocuments: { hosts: [] } }), /clientDocuments.hosts/);
  assert.match(
    issues({ clientId: 'c', clientDocuments: { hosts: ['https://a.test'] } }),
    /clientDocuments.hosts.0: expected a host name/,
  );
  assert.match(
    issues({ clientId: 'c', dynamicRegistration: false }),
    /dynamicRegistration: false needs clientDocuments/,
  );
  const one = { issuer: 'https://i.test', audiences: [], provider: { entra: {} } };
  assert.match(
    issues({ issuer: undefined, audiences: undefined, jwks: undefined, issuers: [one], clientId: 'c' }),
    /clientId: goes with one issuer/,
  );
  const several = { issuer: undefined, audiences: undefined, jwks: undefined };
  assert.match(
    issues({
      ...several,
      issuers: [
        { ...one, provider: { okta: {} } },
        { ...one, issuer: 'https://j.test' },
      ],
    }),
    /^issuers.1.provider: needs clientId, which goes with one issuer: Entra ID registers no clients/,
  );
  assert.equal(issues({ ...several, issuers: [{ ...one, provider: undefined }] }), '');
  for (const provider of [{ descope: {} }, { okta: {} }]) assert.equal(issues({ provider }), '');
  assert.equal(issues({ provider: { entra: {} }, clientId: 'c' }), '');
});

test('an empty list of audiences is accepted with a warning', () => {
  const tools = toolsWith([key]);
  prepared(mcpAuthentication, { ...written, audiences: [] }, tools).close?.();
  assert.match(tools.lines[0]?.message ?? '', /any audience/);
  assert.equal(tools.held(), 0);
});

test('tokens of several issuers are accepted, each by the rules of its issuer', async () => {
  const other = makeKey('P-256', 'k2');
  const second = 'https://second.test';
  const issuers = [
    { issuer: issuerName, audiences: ['api://test'], jwks: { url: `${issuerName}/v1/keys` } },
    {
      issuer: second,
      audiences: ['api://second'],
      jwks: JSON.stringify({ keys: [] }),
      jwtValidationOptions: { requiredClaims: ['sub'] },
    },
  ];
  const tools = toolsWith([key, other]);
  const of = (claims: Record<string, unknown>, by = key): FakeRequest => ({
    headers: bearer(makeToken('ES256', by, { claims })),
  });
  assert.equal(await refusal({ issuers }, of({}), tools), undefined);
  assert.equal(await refusal({ issuers }, of({ iss: second, aud: 'api://second' }, other), tools), undefined);
  for (const claims of [
    { iss: second },
    { aud: 'api://second' },
    { iss: second, aud: 'api://second', sub: undefined },
    { iss: 'https://third.test' },
  ])
    assert.equal(
      (await refusal({ issuers }, of(claims), tools))?.code,
      'token_invalid',
      JSON.stringify(claims),
    );
  const reply = await wellKnown(
    prepared(mcpAuthentication, { issuers }, tools),
    'oauth-protected-resource',
    '/mcp',
  );
  assert.deepEqual(body(reply).authorization_servers, [issuerName, second]);
});

test('one issuer and a list of issuers exclude each other, and one of them is required', () => {
  const messages = (settings: object): string =>
    (mcpAuthentication.schema.safeParse(settings).error?.issues ?? [])
      .map(({ path, message }) => `${path.join('.')}: ${message}`)
      .join('; ');
  const one = { issuer: 'https://i.test', audiences: ['a'] };
  assert.match(messages({ ...one, issuers: [one] }), /issuer: belongs into one of the issuers/);
  assert.match(messages({ provider: { okta: {} }, issuers: [one] }), /provider: belongs into/);
  assert.match(messages({ issuers: [one, one] }), /issuers: two entries have the same issuer/);
  assert.match(messages({ issuers: [{ issuer: 'i', audiences: [] }] }), /issuers\.0\.jwks: missing/);
  assert.match(messages({ audiences: ['a'] }), /issuer: missing/);
  assert.match(messages({ issuer: 'https://i.test' }), /audiences: missing/);
  assert.match(messages({ issuers: [] }), /issuers: /);
});

test('a token comes from an expression or a parameter, and does not reach the backend', async () => {
  const token = tokenWith();
  const asked = async (authorizationLocation: object, request: FakeRequest): Promise<FakeExchange> => {
    const exchange = new FakeExchange(request);
    await prepared(mcpAuthentication, { ...written, authorizationLocation }, toolsWith([key])).onRequest?.(
      exchange,
    );
    assert.equal(exchange.identity?.subject, 'alice');
    return exchange;
  };
  const target = `/mcp?a=1&t=${token}`;
  const query = await asked({ queryParameter: { name: 't' } }, { target });
  assert.equal(query.forwardTarget, '/mcp?a=1');
  const expression = 'request.headers["x-proof"].replace("token=", "")';
  const found = await asked(
    { expression },
    {
      target,
      headers: [
        ['x-proof', `token=${token}`],
        ['x-other', 'kept'],
      ],
    },
  );
  assert.equal(found.forwardTarget, '/mcp?a=1');
  assert.equal(found.requestHeaders.dropsName('x-proof'), true);
  assert.equal(found.requestHeaders.dropsName('x-other'), false);
  assert.equal(
    (await refusal({ ...written, authorizationLocation: { expression } }, {}))?.code,
    'token_missing',
  );
});
