import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { auth as auth1, type OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import * as sdk2 from '@modelcontextprotocol/client';
import { openBrowser } from '../../apps/dev-idp/src/browser.testing.ts';
import type { GatewayProcess } from './gateway.testing.ts';
import { startBeforeEverything, startIdp } from './stage.testing.ts';

let idp: Awaited<ReturnType<typeof startIdp>>;
let gateway: GatewayProcess;

before(async () => {
  idp = await startIdp();
  gateway = await startBeforeEverything(idp, '/tools/mcp');
});
after(async () => {
  await gateway?.stop();
  await idp?.close();
});

/** A client that knows nothing but the URL, and a person who logs in as `user` when sent to the login page. */
class Person implements OAuthClientProvider {
  readonly redirectUrl = 'http://127.0.0.1:33418/callback';
  readonly clientMetadata = {
    client_name: 'e2e',
    redirect_uris: [this.redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
  /** The parameters with which the person came back. */
  returned = new URLSearchParams();
  authorizationUrl: URL | undefined;
  private readonly user: string;
  private client: OAuthClientInformationMixed | undefined;
  private held: OAuthTokens | undefined;
  private verifier = '';

  get code(): string {
    return this.returned.get('code') ?? '';
  }

  constructor(user: string) {
    this.user = user;
  }

  clientInformation(): OAuthClientInformationMixed | undefined {
    return this.client;
  }

  saveClientInformation(client: OAuthClientInformationMixed): void {
    this.client = client;
  }

  tokens(): OAuthTokens | undefined {
    return this.held;
  }

  saveTokens(tokens: OAuthTokens): void {
    this.held = tokens;
  }

  saveCodeVerifier(verifier: string): void {
    this.verifier = verifier;
  }

  codeVerifier(): string {
    return this.verifier;
  }

  async redirectToAuthorization(url: URL): Promise<void> {
    this.authorizationUrl = url;
    const browser = openBrowser(idp.url);
    const page = await browser.get(url.href);
    assert.equal(page.status, 200, page.body);
    this.returned = new URL((await browser.post(page.url, { user: this.user })).url).searchParams;
  }
}

const url = (): URL => new URL('/tools/mcp', gateway.url);

describe('a client that knows nothing but the URL', () => {
  test('finds the login page from the 401, and comes in with what it gets there (SDK 1.x)', async () => {
    const person = new Person('alice');
    const first = new StreamableHTTPClientTransport(url(), { authProvider: person });
    const client = new Client({ name: 'e2e', version: '1' });
    await assert.rejects(client.connect(first as Parameters<typeof client.connect>[0]), /Unauthorized/);
    assert.equal(person.authorizationUrl?.searchParams.get('code_challenge_method'), 'S256');
    assert.equal(person.authorizationUrl?.searchParams.get('resource'), url().href);
    await first.finishAuth(person.code);

    const transport = new StreamableHTTPClientTransport(url(), { authProvider: person });
    await client.connect(transport as Parameters<typeof client.connect>[0]);
    const result = await client.callTool({ name: 'echo', arguments: { message: 'logged in' } });
    assert.deepEqual(result.content, [{ type: 'text', text: 'Echo: logged in' }]);
    await transport.terminateSession();
    await client.close();
  });

  test('the same with SDK 2.x', async () => {
    const person = new Person('alice');
    const first = new sdk2.StreamableHTTPClientTransport(url(), { authProvider: person });
    const client = new sdk2.Client({ name: 'e2e', version: '1' });
    await assert.rejects(client.connect(first), /Unauthorized|authoriz/i);
    await first.finishAuth(person.returned);

    const transport = new sdk2.StreamableHTTPClientTransport(url(), { authProvider: person });
    await client.connect(transport);
    const { tools } = await client.listTools();
    assert.ok(tools.some(({ name }) => name === 'echo'));
    await transport.terminateSession();
    await client.close();
  });

  test('a person outside the group can log in and is refused all the same', async () => {
    const person = new Person('bob');
    assert.equal(await auth1(person, { serverUrl: url() }), 'REDIRECT');
    assert.equal(await auth1(person, { serverUrl: url(), authorizationCode: person.code }), 'AUTHORIZED');
    const response = await fetch(url(), {
      method: 'POST',
      headers: {
        authorization: `Bearer ${person.tokens()?.access_token ?? ''}`,
        'content-type': 'application/json',
      },
      body: '{}',
    });
    assert.equal(response.status, 403);
  });

  test('a refresh token gives a token that works', async () => {
    const person = new Person('alice');
    await auth1(person, { serverUrl: url() });
    await auth1(person, { serverUrl: url(), authorizationCode: person.code });
    const before = person.tokens();
    assert.equal(await auth1(person, { serverUrl: url() }), 'AUTHORIZED');
    assert.notEqual(person.tokens()?.access_token, before?.access_token);
    const client = new Client({ name: 'e2e', version: '1' });
    const transport = new StreamableHTTPClientTransport(url(), { authProvider: person });
    await client.connect(transport as Parameters<typeof client.connect>[0]);
    await transport.terminateSession();
    await client.close();
  });
});
