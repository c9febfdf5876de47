/** MCP clients log in at the gateway with the address of their metadata document, without a registration. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { auth } from '@modelcontextprotocol/sdk/client/auth.js';
import { createPrivateKeyJwtAuth } from '@modelcontextprotocol/sdk/client/auth-extensions.js';
import * as sdk2 from '@modelcontextprotocol/client';
import { openBrowser } from '../../apps/dev-idp/src/browser.testing.ts';
import type { DevIdp } from '../../apps/dev-idp/src/index.ts';
import { startLoopback, jsonAnswer, type Loopback } from '../../src/auth/loopback.testing.ts';
import { makeKey, makeToken } from '../../src/auth/token.testing.ts';
import { authority } from '../../src/proxy/certificates.testing.ts';
import { until } from '../../src/until.testing.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import {
  redirectUri,
  SharedLogin,
  sharedLoginConfig,
  startClosedIdp,
  type Answer,
} from './sharedLogin.testing.ts';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-client-documents-'));
const stack = new AsyncDisposableStack();
stack.defer(() => rmSync(folder, { recursive: true }));
/** The documents by their path. */
const described = new Map<string, object>();
let server: Loopback;
let idp: DevIdp;
/** It reads documents of this machine, and registers nobody. */
let gateway: GatewayProcess;
let login: SharedLogin;
/** It reads documents of all public hosts, and registers clients. */
let open: SharedLogin;

before(async () => {
  const ca = authority();
  const bundle = join(folder, 'ca.pem');
  writeFileSync(bundle, ca.cert);
  server = await startLoopback(
    (request, response) => {
      const document = described.get(request.url ?? '');
      if (document === undefined) response.writeHead(404).end();
      else jsonAnswer(document)(request, response);
    },
    0,
    ca.issue({ names: ['localhost'] }),
  );
  stack.defer(() => server.close());
  idp = await startClosedIdp();
  stack.defer(() => idp.close());
  const start = async (settings: object): Promise<GatewayProcess> => {
    const started = await startGateway(sharedLoginConfig(idp, settings), {
      env: { NODE_EXTRA_CA_CERTS: bundle },
    });
    stack.defer(() => started.stop());
    return started;
  };
  gateway = await start({
    clientDocuments: { hosts: ['localhost'], networks: ['127.0.0.0/8', '::1'] },
    dynamicRegistration: false,
  });
  login = new SharedLogin(gateway, idp);
  open = new SharedLogin(await start({ clientDocuments: { hosts: ['*'] } }), idp);
});
after(() => stack.disposeAsync());

/** Puts a document on the server. @returns the id of its client */
function client(path: string, more: object = {}): string {
  const id = `https://localhost:${server.port}${path}`;
  described.set(path, { client_id: id, client_name: 'Editor', redirect_uris: [redirectUri], ...more });
  return id;
}

test('clients of both SDKs log in with the address of their document, call a tool, and refresh their token', async () => {
  const clientMetadataUrl = client('/sdk.json');
  const serverUrl = `${gateway.url}/mcp`;
  const first = Object.assign(login.person(), { clientMetadataUrl });
  assert.equal(await auth(first, { serverUrl }), 'REDIRECT');
  const authorizationCode = first.returned.get('code') ?? '';
  assert.equal(await auth(first, { serverUrl, authorizationCode }), 'AUTHORIZED');
  assert.equal(first.clientInformation()?.client_id, clientMetadataUrl);
  const before = first.tokens();
  assert.equal(await auth(first, { serverUrl }), 'AUTHORIZED');
  assert.notEqual(first.tokens()?.access_token, before?.access_token);

  const second = Object.assign(login.person(), { clientMetadataUrl });
  const options = { authProvider: second };
  const transport = new sdk2.StreamableHTTPClientTransport(new URL(serverUrl), options);
  const client2 = new sdk2.Client({ name: 'e2e', version: '1' });
  await assert.rejects(client2.connect(transport), /Unauthorized|authoriz/i);
  await transport.finishAuth(second.returned);
  assert.equal(second.clientInformation()?.client_id, clientMetadataUrl);
  await client2.connect(new sdk2.StreamableHTTPClientTransport(new URL(serverUrl), options));
  const answer = await client2.callTool({ name: 'echo', arguments: { message: 'hello' } });
  assert.match(JSON.stringify(answer), /hello/);
  await client2.close();
});

const key = makeKey('RSA', 'one', { use: 'sig', alg: 'RS256' });

/** A document with the members that ChatGPT's has. @returns the id of its client */
function keyedClient(path: string, more: object = {}): string {
  described.set('/keys.json', { keys: [key.jwk] });
  return client(path, {
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_signing_alg: 'RS256',
    jwks_uri: `https://localhost:${server.port}/keys.json`,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    ...more,
  });
}

/** The parameters of a proof. @param audience of the assertion */
function proof(id: string, audience: string, by = key): Record<string, string> {
  const seconds = Math.floor(Date.now() / 1_000);
  const claims = { iss: id, sub: id, aud: audience, iat: seconds, exp: seconds + 60 };
  return {
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: makeToken('RS256', by, { claims: { ...claims, jti: `${Math.random()}` } }),
  };
}

test('a client of an SDK that proves itself with a key logs in, and refreshes its token', async () => {
  const clientMetadataUrl = keyedClient('/keyed.json');
  const serverUrl = `${gateway.url}/mcp`;
  const addClientAuthentication = createPrivateKeyJwtAuth({
    issuer: clientMetadataUrl,
    subject: clientMetadataUrl,
    privateKey: String(key.privateKey.export({ type: 'pkcs8', format: 'pem' })),
    alg: 'RS256',
  });
  const person = Object.assign(login.person(), { clientMetadataUrl, addClientAuthentication });
  assert.equal(await auth(person, { serverUrl }), 'REDIRECT');
  const authorizationCode = person.returned.get('code') ?? '';
  assert.equal(await auth(person, { serverUrl, authorizationCode }), 'AUTHORIZED');
  const before = person.tokens();
  assert.equal(await auth(person, { serverUrl }), 'AUTHORIZED');
  assert.notEqual(person.tokens()?.access_token, before?.access_token);
});

test('without its key, nobody gets tokens for such a client, and its code stays good', async () => {
  const id = keyedClient('/keyed.json');
  const tokenEndpoint = login.wellKnown('mcp-login-token');
  const code = (await login.logIn(login.authorizeUrl(id))).searchParams.get('code') ?? '';
  const other = proof(id, tokenEndpoint, makeKey('RSA', 'one'));
  for (const wrong of [
    {},
    other,
    { ...proof(id, tokenEndpoint), client_assertion_type: 'urn:other' },
    { ...proof(id, tokenEndpoint), client_assertion: '' },
    proof(id, 'https://other.test/token'),
  ]) {
    const [status, answer] = await login.redeem(id, code, wrong);
    assert.deepEqual([status, answer.error], [401, 'invalid_client']);
  }
  await gateway.logged(/assertion of a client was refused.*audience/);
  assert.doesNotMatch(gateway.log(), /eyJ/);
  const once = proof(id, tokenEndpoint);
  const [status, tokens] = await login.redeem(id, code, once);
  assert.equal(status, 200, JSON.stringify(tokens));
  const refresh = { grant_type: 'refresh_token', refresh_token: String(tokens.refresh_token) };
  for (const wrong of [{}, once, other])
    assert.deepEqual((await login.redeem(id, '', { ...refresh, ...wrong }))[0], 401);
  // The assertion alone names the client.
  assert.equal((await login.redeem('', '', { ...refresh, ...proof(id, tokenEndpoint) }))[0], 200);
});

test('the gateway reads no key for an assertion without a code or a refresh token of the client', async () => {
  const id = keyedClient('/unread.json', { jwks_uri: `https://localhost:${server.port}/unread-keys.json` });
  const other = client('/other-login.json');
  const back = await login.logIn(login.authorizeUrl(other));
  const [, tokens] = await login.redeem(other, back.searchParams.get('code') ?? '');
  const again = (await login.logIn(login.authorizeUrl(other))).searchParams.get('code') ?? '';
  server.asked.length = 0;
  const assertion = proof(id, login.wellKnown('mcp-login-token'));
  const refresh = { grant_type: 'refresh_token', refresh_token: String(tokens.refresh_token) };
  for (const [code, more] of [
    ['', {}],
    ['invented', {}],
    [again, {}],
    ['', { grant_type: 'refresh_token', refresh_token: 'invented' }],
    ['', refresh],
  ] as const) {
    const [status, answer] = await login.redeem(id, code, { ...more, ...assertion });
    assert.deepEqual([status, answer.error], [400, 'invalid_grant']);
  }
  assert.deepEqual(server.asked, []);
});

test('a client that may be public does not need its key, and a wrong proof is refused all the same', async () => {
  const both = { token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'] };
  const id = keyedClient('/both.json', both);
  const tokenEndpoint = login.wellKnown('mcp-login-token');
  const codeOf = async (): Promise<string> =>
    (await login.logIn(login.authorizeUrl(id))).searchParams.get('code') ?? '';
  const code = await codeOf();
  const wrong = proof(id, tokenEndpoint, makeKey('RSA', 'one'));
  assert.equal((await login.redeem(id, code, wrong))[0], 401);
  assert.equal((await login.redeem(id, code))[0], 200);
  const [, tokens] = await login.redeem(id, await codeOf(), proof(id, tokenEndpoint));
  const refresh = { grant_type: 'refresh_token', refresh_token: String(tokens.refresh_token) };
  assert.equal((await login.redeem(id, '', refresh))[0], 401, 'it has proven itself before');
  assert.equal((await login.redeem(id, '', { ...refresh, ...proof(id, tokenEndpoint) }))[0], 200);
});

test('an assertion for another server is worth nothing here, under the name of that server either', async () => {
  const id = keyedClient('/keyed.json');
  const [, tokens] = await login.redeem(
    id,
    (await login.logIn(login.authorizeUrl(id))).searchParams.get('code') ?? '',
    proof(id, login.wellKnown('mcp-login-token')),
  );
  const { hostname, port, pathname } = new URL(login.wellKnown('mcp-login-token'));
  const body = new URLSearchParams({
    grant_type: 'refresh_token',
    refresh_token: String(tokens.refresh_token),
    ...proof(id, `http://evil.test${pathname}`),
  }).toString();
  const asked = request({
    hostname,
    port,
    path: pathname,
    method: 'POST',
    headers: { host: 'evil.test', 'content-type': 'application/x-www-form-urlencoded' },
  });
  asked.end(body);
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  assert.equal(response.statusCode, 401);
  assert.match(Buffer.concat(await response.toArray()).toString(), /to the issuer where it has logged in/);
});

test('a client without keys at the moment can try again', async () => {
  const id = keyedClient('/away.json', { jwks_uri: `https://localhost:${server.port}/no-keys.json` });
  const code = (await login.logIn(login.authorizeUrl(id))).searchParams.get('code') ?? '';
  const tokenEndpoint = login.wellKnown('mcp-login-token');
  const [status, answer] = await login.redeem(id, code, proof(id, tokenEndpoint));
  assert.deepEqual([status, answer.error], [503, 'temporarily_unavailable']);
  await gateway.logged(/keys of a client cannot be read.*answered 404/);
  described.set('/no-keys.json', { keys: [key.jwk] });
  await until('the gateway to forget the failed read', async () => {
    const [again] = await login.redeem(id, code, proof(id, tokenEndpoint));
    return again === 200;
  });
});

test('the metadata says which kinds of clients the gateway takes', async () => {
  const metadataOf = async (at: SharedLogin): Promise<Answer> =>
    (await (await fetch(at.wellKnown('oauth-authorization-server'))).json()) as Answer;
  const documentsOnly = await metadataOf(login);
  assert.equal(documentsOnly.client_id_metadata_document_supported, true);
  assert.equal('registration_endpoint' in documentsOnly, false);
  assert.deepEqual(documentsOnly.token_endpoint_auth_methods_supported, ['none', 'private_key_jwt']);
  const algorithms = documentsOnly.token_endpoint_auth_signing_alg_values_supported as string[];
  assert.ok(algorithms.includes('RS256') && !algorithms.includes('HS256'));
  const both = await metadataOf(open);
  assert.equal(both.client_id_metadata_document_supported, true);
  assert.equal(typeof both.registration_endpoint, 'string');
});

test('without dynamic registration, nobody registers, and a registration of another gateway is worth nothing', async () => {
  const body = JSON.stringify({ redirect_uris: [redirectUri] });
  const response = await fetch(login.wellKnown('mcp-login-register'), { method: 'POST', body });
  assert.equal(response.status, 404);
  await response.body?.cancel();
  const [, registered] = await open.post('mcp-login-register', body);
  const id = String(registered.client_id);
  assert.equal((await openBrowser(gateway.url).get(login.authorizeUrl(id))).status, 400);
  assert.deepEqual((await login.redeem(id, 'code'))[1].error, 'invalid_client');
});

test('the consent page names the host of the document, and warns of names that nobody can check', async () => {
  const browser = openBrowser(gateway.url);
  const host = `localhost:${server.port}`;
  const onMachine = await browser.get(login.authorizeUrl(client('/named.json')));
  assert.ok(onMachine.body.includes(`<b><bdi>Editor</bdi></b> of <b><bdi>${host}</bdi></b>`), onMachine.body);
  assert.match(onMachine.body, /a program on your own machine/);
  const back = 'https://editor.test/back';
  const id = client('/hosted.json', { redirect_uris: [back], client_name: '<script>x</script>' });
  const hosted = await browser.get(login.authorizeUrl(id, { redirect_uri: back }));
  assert.equal(hosted.status, 200);
  assert.doesNotMatch(hosted.body, /own machine|<script/);
  const [, registered] = await open.post(
    'mcp-login-register',
    JSON.stringify({ redirect_uris: [back], client_name: 'Editor' }),
  );
  const url = open.authorizeUrl(String(registered.client_id), { redirect_uri: back });
  const unchecked = await openBrowser(new URL(url).origin).get(url);
  assert.match(unchecked.body, /Nobody has checked the name/);
});

test('nobody is sent to a host of a stranger before the user has decided', async () => {
  const back = 'https://editor.test/back';
  const hosted = client('/web.json', { redirect_uris: [back] });
  const wrong = { response_type: 'token' };
  const page = await openBrowser(gateway.url).get(
    login.authorizeUrl(hosted, { redirect_uri: back, ...wrong }),
  );
  assert.equal(page.status, 400);
  assert.ok(page.url.startsWith(gateway.url), page.url);
  assert.match(page.body, /unsupported_response_type/);
  const own = await openBrowser(gateway.url).get(login.authorizeUrl(client('/local.json'), wrong));
  assert.equal(new URL(own.url).searchParams.get('error'), 'unsupported_response_type');
});

test('a name cannot turn the host beside it around', async () => {
  const id = client('/turned.json', { client_name: 'Claude of claude.ai \u202e\u0007' });
  const { body } = await openBrowser(gateway.url).get(login.authorizeUrl(id));
  assert.doesNotMatch(body, /[\u202e\u0007]/);
  assert.ok(body.includes(`<bdi>localhost:${server.port}</bdi>`), body);
});

test('a code belongs to the client whose document began the login', async () => {
  const [own, other] = [client('/own.json'), client('/other.json')];
  const back = await login.logIn(login.authorizeUrl(own));
  const code = back.searchParams.get('code') ?? '';
  assert.equal((await login.redeem(other, code))[1].error, 'invalid_grant');
  const [status, tokens] = await login.redeem(own, code);
  assert.equal(status, 200, JSON.stringify(tokens));
  const refresh = { grant_type: 'refresh_token', refresh_token: String(tokens.refresh_token) };
  assert.equal((await login.redeem(other, '', refresh))[1].error, 'invalid_grant');
  assert.equal((await login.redeem(own, '', refresh))[0], 200);
});

test('a document that cannot be used ends the login at the gateway, and only the log has the reason', async () => {
  const browser = openBrowser(gateway.url);
  for (const [id, reason] of [
    [client('/secret.json', { client_secret: 's' }), 'client_secret: a document cannot hold a secret'],
    [client('/moved.json', { client_id: 'https://localhost/moved.json' }), 'describes another client'],
    [`https://localhost:${server.port}/missing.json`, 'answered 404'],
  ] as const) {
    const page = await browser.get(login.authorizeUrl(id));
    assert.equal(page.status, 400, id);
    assert.ok(page.url.startsWith(gateway.url), 'the user stays at the gateway');
    assert.equal(page.body.includes(reason), false);
    await gateway.logged(new RegExp(reason));
  }
  const foreign = login.authorizeUrl(client('/foreign.json'), { redirect_uri: 'https://evil.test/' });
  assert.equal((await browser.get(foreign)).status, 400);
});

test('a gateway asks no host that it was not told of, and no address that is not public', async () => {
  const id = client('/inside.json');
  server.asked.length = 0;
  for (const address of [id, id.replace('localhost', '127.0.0.1'), id.replace('localhost', '[::1]')]) {
    const url = open.authorizeUrl(address);
    assert.equal((await openBrowser(new URL(url).origin).get(url)).status, 400, address);
  }
  const byAddress = login.authorizeUrl(id.replace('localhost', '127.0.0.1'));
  assert.equal((await openBrowser(gateway.url).get(byAddress)).status, 400);
  assert.deepEqual(server.asked, []);
});
