import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
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

/** Registrations as real clients send them, with the address that a login comes back to. */
const realClients = {
  'Visual Studio Code': {
    metadata: {
      client_name: 'Visual Studio Code',
      client_uri: 'https://code.visualstudio.com',
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
      response_types: ['code'],
      redirect_uris: [
        'https://insiders.vscode.dev/redirect',
        'https://vscode.dev/redirect',
        'http://127.0.0.1/',
        'http://127.0.0.1:33418/',
      ],
      application_type: 'native',
    },
    back: 'http://127.0.0.1:51234/',
  },
  Claude: {
    metadata: {
      client_name: 'Claude',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
      scope: 'mcp',
    },
    back: 'https://claude.ai/api/mcp/auth_callback',
  },
  Cursor: {
    metadata: {
      client_name: 'Cursor',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      redirect_uris: ['cursor://anysphere.cursor-mcp/oauth/callback'],
    },
    back: 'cursor://anysphere.cursor-mcp/oauth/callback',
  },
  Inspector: {
    metadata: {
      client_name: 'MCP Inspector',
      client_uri: 'https://github.com/modelcontextprotocol/inspector',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      redirect_uris: ['http://localhost:6274/oauth/callback', 'http://localhost:6274/oauth/callback/debug'],
    },
    back: 'http://localhost:6274/oauth/callback/debug',
  },
};

for (const [name, { metadata, back }] of Object.entries(realClients))
  test(`${name} registers, comes back with a code, and refreshes its token`, async () => {
    const { status, body } = await register(metadata);
    assert.equal(status, 201, JSON.stringify(body));
    const verifier = 'v'.repeat(43);
    const asked = new URL(`${idp.issuer}/v1/authorize`);
    asked.search = new URLSearchParams({
      client_id: String(body['client_id']),
      response_type: 'code',
      redirect_uri: back,
      scope: 'mcp offline_access',
      state: 's',
      resource: 'https://gw.test/mcp',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    }).toString();
    const browser = openBrowser(idp.url);
    const page = await browser.get(asked.href);
    assert.equal(page.status, 200, page.body);
    const returned = new URL((await browser.post(page.url, { user: 'alice' })).url);
    assert.equal(returned.href.split('?')[0], back);
    assert.equal(returned.searchParams.get('iss'), idp.issuer);
    const token = async (form: Record<string, string>): Promise<Record<string, unknown>> => {
      const response = await fetch(`${idp.issuer}/v1/token`, {
        method: 'POST',
        body: new URLSearchParams({ client_id: String(body['client_id']), ...form }),
      });
      const answer = (await response.json()) as Record<string, unknown>;
      assert.equal(response.status, 200, JSON.stringify(answer));
      return answer;
    };
    const first = await token({
      grant_type: 'authorization_code',
      code: returned.searchParams.get('code') ?? '',
      redirect_uri: back,
      code_verifier: verifier,
    });
    const next = await token({
      grant_type: 'refresh_token',
      refresh_token: String(first['refresh_token']),
    });
    assert.equal(decodeJwt(String(next['access_token'])).sub, 'alice');
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
    const explained = String(body['error_description']);
    assert.ok(explained.startsWith(`${uri} is not accepted: expected a loopback address`), explained);
    assert.match(explained, /registration\.redirectUris/);
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
