/** MCP clients log in at a gateway that is one client of the provider, because the provider registers no clients. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { auth } from '@modelcontextprotocol/sdk/client/auth.js';
import * as sdk2 from '@modelcontextprotocol/client';
import { openBrowser } from '../../apps/dev-idp/src/browser.testing.ts';
import type { DevIdp } from '../../apps/dev-idp/src/index.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import {
  redirectUri,
  requestIn,
  sharedLoginConfig,
  SharedLogin,
  startClosedIdp,
  type Answer,
} from './sharedLogin.testing.ts';

let idp: DevIdp;
let gateway: GatewayProcess;
let replica: GatewayProcess;
let login: SharedLogin;
const log: string[] = [];

before(async () => {
  idp = await startClosedIdp((line) => log.push(line));
  gateway = await startGateway(sharedLoginConfig(idp));
  replica = await startGateway(sharedLoginConfig(idp));
  login = new SharedLogin(gateway, idp);
});
after(async () => {
  await gateway?.stop();
  await replica?.stop();
  await idp?.close();
});

const register = async (
  uris: readonly unknown[] = [redirectUri],
  name = 'Editor',
): Promise<[number, Answer]> =>
  login.post('mcp-login-register', JSON.stringify({ redirect_uris: uris, client_name: name }));

const clientId = async (): Promise<string> => String((await register())[1].client_id);

test('a client of SDK 1.x registers at the gateway, logs in at the provider, and refreshes its token', async () => {
  const user = login.person();
  const serverUrl = `${gateway.url}/mcp`;
  assert.equal(await auth(user, { serverUrl }), 'REDIRECT');
  const authorizationCode = user.returned.get('code') ?? '';
  assert.equal(await auth(user, { serverUrl, authorizationCode }), 'AUTHORIZED');
  const first = user.tokens();
  assert.equal(await auth(user, { serverUrl }), 'AUTHORIZED');
  assert.notEqual(user.tokens()?.access_token, first?.access_token);
});

test('a client of SDK 2.x calls a tool after its login', async () => {
  const user = login.person();
  const url = new URL(`${gateway.url}/mcp`);
  const first = new sdk2.StreamableHTTPClientTransport(url, { authProvider: user });
  const client = new sdk2.Client({ name: 'e2e', version: '1' });
  await assert.rejects(client.connect(first), /Unauthorized|authoriz/i);
  await first.finishAuth(user.returned);
  const transport = new sdk2.StreamableHTTPClientTransport(url, { authProvider: user });
  await client.connect(transport);
  const { tools } = await client.listTools();
  assert.ok(tools.some(({ name }) => name === 'echo'));
  await transport.terminateSession();
  await client.close();
});

test('the metadata names the gateway as the issuer, and everything lies on its origin', async () => {
  const resource = (await (await fetch(login.wellKnown('oauth-protected-resource'))).json()) as Answer;
  assert.deepEqual(resource.authorization_servers, [`${gateway.url}/mcp`]);
  const response = await fetch(login.wellKnown('oauth-authorization-server'));
  assert.equal(response.headers.get('access-control-allow-origin'), '*');
  const document = (await response.json()) as Answer;
  assert.equal(document.issuer, `${gateway.url}/mcp`);
  for (const name of ['authorization_endpoint', 'token_endpoint', 'registration_endpoint'])
    assert.ok(String(document[name]).startsWith(`${gateway.url}/.well-known/`), name);
  assert.deepEqual(document.code_challenge_methods_supported, ['S256']);
  assert.equal('client_id_metadata_document_supported' in document, false);
  const preflight = await fetch(login.wellKnown('mcp-login-token'), { method: 'OPTIONS' });
  assert.equal(preflight.status, 204);
});

test('a code is good once, for its client, address and verifier, and the response names the issuer', async () => {
  const [client, other] = [await clientId(), await clientId()];
  const back = await login.logIn(login.authorizeUrl(client));
  assert.equal(back.searchParams.get('state'), 'mine');
  assert.equal(back.searchParams.get('iss'), `${gateway.url}/mcp`);
  const code = back.searchParams.get('code') ?? '';
  for (const [id, changes] of [
    [other, {}],
    [client, { redirect_uri: 'http://127.0.0.1:1/callback' }],
    [client, { code_verifier: 'w'.repeat(43) }],
    [client, { code: `${code.slice(0, -4)}AAAA` }],
  ] as const)
    assert.deepEqual(
      (await login.redeem(id, code, changes)).map((part) => (part as Answer).error ?? part),
      [400, 'invalid_grant'],
    );
  const [status, tokens] = await login.redeem(client, code);
  assert.equal(status, 200, JSON.stringify(tokens));
  const refresh = { grant_type: 'refresh_token', refresh_token: String(tokens.refresh_token) };
  assert.equal((await login.redeem(other, '', refresh))[1].error, 'invalid_grant', 'another client');
  // Another replica goes on: it shares nothing but the session key.
  const response = await fetch(`${replica.url}/.well-known/mcp-login-token/mcp`, {
    method: 'POST',
    body: new URLSearchParams({ ...refresh, client_id: client }),
  });
  assert.equal(response.status, 200);
  assert.equal((await login.redeem(client, code))[1].error, 'invalid_grant', 'again');
});

test('a browser that did not see the consent page cannot continue a login', async () => {
  const url = login.authorizeUrl(await clientId());
  const own = openBrowser(gateway.url);
  const page = await own.get(url);
  const victim = openBrowser(gateway.url);
  const forged = await victim.post(page.url, { request: requestIn(page), decision: 'allow' });
  assert.equal(forged.status, 400, 'without the cookie');
  await victim.get(login.authorizeUrl(await clientId()));
  const crossed = await victim.post(page.url, { request: requestIn(page), decision: 'allow' });
  assert.equal(crossed.status, 400, 'with the cookie of another login');
  const callback = await login.consentAndLogin(own, page);
  assert.equal((await victim.get(callback)).status, 400, 'the callback of another browser');
  const mixed = new URL(callback);
  mixed.searchParams.set('iss', 'https://evil.test');
  const answer = new URL((await own.get(mixed.href)).url);
  assert.deepEqual(
    [answer.searchParams.get('error'), answer.searchParams.get('code')],
    ['server_error', null],
  );
  const page2 = await own.get(url);
  const denied = new URL((await own.post(page2.url, { request: requestIn(page2), decision: 'deny' })).url);
  assert.equal(denied.searchParams.get('error'), 'access_denied');
  assert.equal(denied.searchParams.get('iss'), `${gateway.url}/mcp`);
});

test('a request that is not PKCE with S256, or for another address or resource, goes nowhere', async () => {
  const client = await clientId();
  const browser = openBrowser(gateway.url);
  for (const changes of [
    { client_id: 'unknown' },
    { redirect_uri: 'https://evil.test/' },
    { redirect_uri: `${redirectUri}/deeper` },
    { redirect_uri: undefined },
  ]) {
    const page = await browser.get(login.authorizeUrl(client, changes));
    assert.equal(page.status, 400, JSON.stringify(changes));
    assert.ok(page.url.startsWith(gateway.url), 'the user stays at the gateway');
  }
  for (const [changes, error] of [
    [{ code_challenge: undefined }, 'invalid_request'],
    [{ code_challenge_method: 'plain' }, 'invalid_request'],
    [{ code_challenge_method: undefined }, 'invalid_request'],
    [{ response_type: 'token' }, 'unsupported_response_type'],
    [{ resource: 'https://other.test/mcp' }, 'invalid_target'],
    [{ scope: 'a"b' }, 'invalid_scope'],
  ] as const) {
    const back = new URL((await browser.get(login.authorizeUrl(client, changes))).url);
    assert.equal(back.searchParams.get('error'), error, JSON.stringify(changes));
  }
  const otherPort = await browser.get(
    login.authorizeUrl(client, { redirect_uri: 'http://127.0.0.1:5/callback' }),
  );
  assert.equal(otherPort.status, 200, 'any port of the own machine');
});

test('a client may ask for a scope that the gateway offers or a rule of the backend requires, and for no other', async (t) => {
  const rules = [{ if: 'mcp.tool.name == "get-env"', requireScopes: ['env:read'] }];
  const ruled = await startGateway(sharedLoginConfig(idp, {}, { mcpAuthorization: { rules } }));
  t.after(() => ruled.stop());
  const login = new SharedLogin(ruled, idp);
  const [, { client_id }] = await login.post(
    'mcp-login-register',
    JSON.stringify({ redirect_uris: [redirectUri] }),
  );
  const ask = (scope: string) => openBrowser(ruled.url).get(login.authorizeUrl(String(client_id), { scope }));
  const page = await ask('mcp env:read');
  assert.equal(page.status, 200, page.body);
  assert.match(page.body, /<bdi>env:read</);
  assert.equal(new URL((await ask('mcp mail:read')).url).searchParams.get('error'), 'invalid_scope');
});

test('addresses that a browser would run are not registered, and names cannot write into the page', async () => {
  for (const uri of [
    'javascript:alert(1)',
    'data:text/html,x',
    'http://evil.test/',
    'https://u:p@a.test/',
    'https://a.test/#x',
    '',
    1,
  ]) {
    const [status, body] = await register([uri]);
    assert.deepEqual([status, body.error], [400, 'invalid_redirect_uri'], String(uri));
  }
  assert.equal((await register([]))[0], 400);
  assert.equal((await login.post('mcp-login-register', '{'))[0], 400);
  const [, body] = await register(
    ['cursor://anysphere.cursor-mcp/oauth/callback', redirectUri],
    '<script>x</script>',
  );
  const page = await openBrowser(gateway.url).get(login.authorizeUrl(String(body.client_id)));
  assert.equal(page.body.includes('<script'), false);
  assert.match(
    page.headers.get('content-security-policy') ?? '',
    /default-src 'none'.*frame-ancestors 'none'/,
  );
  assert.match(page.headers.get('set-cookie') ?? '', /HttpOnly; SameSite=Lax$/);
  const secure = await fetch(login.authorizeUrl(String(body.client_id)), {
    headers: { 'x-forwarded-proto': 'https' },
  });
  const cookie = secure.headers.get('set-cookie') ?? '';
  assert.match(cookie, /^__Host-portcullis-login=[\w-]{24}; Path=\/; .*; Secure$/);
});

test('the secret of the shared client is in no log and in no dump', async () => {
  const dump = JSON.stringify(await gateway.configDump());
  assert.ok(dump.includes('clientSecret'), 'the dump has the setting');
  for (const text of [gateway.log(), gateway.accessLog(), dump, log.join('\n')])
    assert.equal(text.includes('gateway-secret'), false);
});
