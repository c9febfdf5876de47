import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { auth, type OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import { decodeJwt } from 'jose';
import { openBrowser } from './browser.testing.ts';
import { startDevIdp, type DevIdp } from './index.ts';

let idp: DevIdp;
before(async () => {
  idp = await startDevIdp({ port: 0 });
});
after(() => idp.close());

async function register(
  metadata: Record<string, unknown>,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${idp.issuer}/v1/clients`, {
    method: 'POST',
    body: JSON.stringify({ token_endpoint_auth_method: 'none', ...metadata }),
    headers: { 'content-type': 'application/json' },
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

test('a client registers loopback redirect URIs, and those that are configured', async () => {
  const uris = [
    'http://127.0.0.1:33418/',
    'http://localhost:6274/oauth/callback',
    'https://vscode.dev/redirect',
  ];
  const { status, body } = await register({ redirect_uris: uris, client_name: 'Editor' });
  assert.equal(status, 201);
  assert.deepEqual(body['redirect_uris'], uris);
  assert.ok(body['client_id']);
});

test('a client that could send users elsewhere is refused', async () => {
  for (const uri of [
    'https://evil.example/',
    'http://192.0.2.1/',
    'http://localhost.evil.example/',
    'com.evil:/',
  ]) {
    const { status, body } = await register({ redirect_uris: ['http://127.0.0.1/', uri] });
    assert.deepEqual([status, body['error']], [400, 'invalid_redirect_uri'], uri);
  }
});

test('a registered client cannot get tokens of its own', async () => {
  const { status, body } = await register({
    grant_types: ['client_credentials', 'authorization_code'],
    redirect_uris: ['http://127.0.0.1/'],
    token_endpoint_auth_method: 'client_secret_basic',
  });
  assert.deepEqual([status, body['error']], [400, 'invalid_client_metadata']);
});

test('registration can be switched off', async () => {
  const closed = await startDevIdp({ port: 0, config: { registration: { enabled: false } } });
  try {
    assert.equal((await fetch(`${closed.issuer}/v1/clients`, { method: 'POST' })).status, 404);
  } finally {
    await closed.close();
  }
});

test('the MCP SDK finds the server from a resource, registers, logs a user in and gets a token', async () => {
  // All that the SDK needs of a protected MCP server is its metadata (RFC 9728).
  const resource = createServer((request, response) => {
    const own = `http://127.0.0.1:${(resource.address() as AddressInfo).port}/mcp`;
    if (request.url !== '/.well-known/oauth-protected-resource/mcp')
      return void response.writeHead(404).end();
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ resource: own, authorization_servers: [idp.issuer] }));
  });
  resource.listen(0, '127.0.0.1');
  await once(resource, 'listening');
  const serverUrl = `http://127.0.0.1:${(resource.address() as AddressInfo).port}/mcp`;
  let client: OAuthClientInformationMixed | undefined;
  let saved: OAuthTokens | undefined;
  let verifier = '';
  let asked: URL | undefined;
  const provider: OAuthClientProvider = {
    redirectUrl: 'http://localhost:6274/oauth/callback',
    clientMetadata: {
      client_name: 'SDK',
      redirect_uris: ['http://localhost:6274/oauth/callback'],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
    },
    clientInformation: () => client,
    saveClientInformation: (information) => void (client = information),
    tokens: () => saved,
    saveTokens: (tokens) => void (saved = tokens),
    redirectToAuthorization: (url) => void (asked = url),
    saveCodeVerifier: (value) => void (verifier = value),
    codeVerifier: () => verifier,
  };
  try {
    assert.equal(await auth(provider, { serverUrl }), 'REDIRECT');
    const browser = openBrowser(idp.url);
    const page = await browser.get(asked?.href ?? '');
    const back = new URL((await browser.post(page.url, { user: 'alice' })).url);
    assert.equal(
      await auth(provider, { serverUrl, authorizationCode: back.searchParams.get('code') ?? '' }),
      'AUTHORIZED',
    );
    const { sub, groups, aud } = decodeJwt(saved?.access_token ?? '');
    assert.deepEqual({ sub, groups, aud }, { sub: 'alice', groups: ['mcp-users'], aud: 'api://default' });
    assert.equal(
      await auth(provider, { serverUrl }),
      'AUTHORIZED',
      'the refresh token is good for the next one',
    );
  } finally {
    resource.closeAllConnections();
    resource.close();
  }
});
