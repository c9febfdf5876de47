/**
 * Logins at a real Keycloak, with the configuration of docs/how-to/keycloak.md: by the TypeScript and Python SDKs and the
 * Inspector, at Keycloak itself and through the gateway as its client. Also the exchange of a token, and a browser.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { auth } from '@modelcontextprotocol/sdk/client/auth.js';
import { decodeJwt } from 'jose';
import { parse, stringify } from 'yaml';
import { RemoteServer } from '../../src/mcp/remoteServer.testing.ts';
import { startGateway, type GatewayProcess } from '../e2e/gateway.testing.ts';
import { inspect } from '../e2e/inspector.testing.ts';
import { Person } from '../e2e/person.testing.ts';
import { installPython } from '../e2e/python.testing.ts';
import { openSession, resultText } from '../e2e/session.testing.ts';
import { freePorts } from '../support/loopback.ts';
import { browseAs, Keycloak, password, visit } from './keycloak.testing.ts';

const folder = process.env['PORTCULLIS_KEYCLOAK'] ?? '';
const run = promisify(execFile);
const installed = installPython('mcp==2.3.0');
const secret = 'secret-of-the-gateway-at-keycloak';

/** A mapper that puts a value into the claim `aud` of access tokens. */
const audience = (field: string, value: string): object => ({
  name: `audience ${value}`,
  protocol: 'openid-connect',
  protocolMapper: 'oidc-audience-mapper',
  config: { [field]: value, 'access.token.claim': 'true' },
});

/** The realm as the page tells its reader to set it up. */
const realm = (resource: string, gateway: string): object => ({
  realm: 'staff',
  enabled: true,
  sslRequired: 'none',
  groups: [{ name: 'engineers' }],
  roles: { realm: [{ name: 'offline_access' }] },
  users: ['ada', 'bob'].map((username) => ({
    username,
    enabled: true,
    email: `${username}@example.com`,
    emailVerified: true,
    firstName: username,
    lastName: 'Example',
    groups: username === 'ada' ? ['/engineers'] : [],
    realmRoles: ['offline_access'],
    credentials: [{ type: 'password', value: password, temporary: false }],
  })),
  defaultDefaultClientScopes: ['basic', 'profile', 'email', 'mcp'],
  defaultOptionalClientScopes: ['offline_access'],
  clientScopes: [
    ...['basic', 'profile', 'email', 'offline_access'].map((name) => ({
      name,
      protocol: 'openid-connect',
      attributes: { 'include.in.token.scope': 'true' },
      ...(name === 'basic' && {
        protocolMappers: [
          {
            name: 'sub',
            protocol: 'openid-connect',
            protocolMapper: 'oidc-sub-mapper',
            config: { 'access.token.claim': 'true', 'introspection.token.claim': 'true' },
          },
        ],
      }),
    })),
    {
      name: 'mcp',
      protocol: 'openid-connect',
      attributes: { 'include.in.token.scope': 'true' },
      protocolMappers: [
        audience('included.custom.audience', resource),
        {
          name: 'groups',
          protocol: 'openid-connect',
          protocolMapper: 'oidc-group-membership-mapper',
          config: {
            'claim.name': 'groups',
            'full.path': 'false',
            'access.token.claim': 'true',
            'id.token.claim': 'true',
          },
        },
      ],
    },
  ],
  clients: [
    {
      clientId: 'portcullis',
      secret,
      redirectUris: [`${gateway}/*`],
      standardFlowEnabled: true,
      attributes: {
        'standard.token.exchange.enabled': 'true',
        'post.logout.redirect.uris': `${gateway}/*`,
      },
      defaultClientScopes: ['basic', 'profile', 'mcp'],
      optionalClientScopes: ['offline_access'],
      protocolMappers: [
        audience('included.client.audience', 'portcullis'),
        audience('included.client.audience', 'calendar'),
      ],
    },
    { clientId: 'calendar', bearerOnly: true },
    {
      clientId: 'reports',
      secret,
      serviceAccountsEnabled: true,
      defaultClientScopes: ['basic'],
      protocolMappers: [audience('included.client.audience', 'calendar')],
    },
  ],
  components: {
    'org.keycloak.services.clientregistration.policy.ClientRegistrationPolicy': [
      {
        name: 'Trusted Hosts',
        providerId: 'trusted-hosts',
        subType: 'anonymous',
        config: {
          'trusted-hosts': ['127.0.0.1', 'localhost', 'github.com', 'modelcontextprotocol.io'],
          'host-sending-registration-request-must-match': ['false'],
          'client-uris-must-match': ['true'],
        },
      },
      {
        name: 'Allowed Client Scopes',
        providerId: 'allowed-client-templates',
        subType: 'anonymous',
        config: { 'allowed-client-scopes': ['mcp'], 'allow-default-scopes': ['true'] },
      },
      { name: 'Consent Required', providerId: 'consent-required', subType: 'anonymous' },
    ],
  },
});

/** The block of YAML of the page. */
const page = (): string => {
  const text = readFileSync(new URL('../../docs/how-to/keycloak.md', import.meta.url), 'utf8');
  return /```yaml\n([\s\S]*?)```/.exec(text)?.[1] ?? '';
};

describe('a realm of Keycloak', () => {
  let keycloak: Keycloak;
  let server: RemoteServer;
  let direct: GatewayProcess;
  let atGateway: GatewayProcess;
  let resource = '';
  let loginUrl = '';

  before(async () => {
    keycloak = await Keycloak.start(folder);
    server = await RemoteServer.start();
    const [port = 0, loginPort = 0] = await freePorts(2);
    resource = `http://127.0.0.1:${port}/mcp`;
    loginUrl = `http://127.0.0.1:${loginPort}`;
    await keycloak.makeRealm(realm(resource, loginUrl));
    const issuer = keycloak.issuer('staff');
    const of = page()
      .replaceAll('https://login.example.com/realms/staff', issuer)
      .replaceAll('https://mcp.example.com/mcp', resource)
      .replace('https://tickets.internal.example.com/mcp', server.url)
      .replace('port: 3000', `port: ${port}`);
    direct = await startGateway(`config: { logging: { accessLog: json } }\n${of}`);
    // The same policies, and the gateway as the client of Keycloak.
    const { mcp } = parse(of) as {
      readonly mcp: { readonly policies: { readonly mcpAuthentication: object }; readonly targets: object[] };
    };
    const { mcpAuthentication } = mcp.policies;
    const exchange = {
      oauthTokenExchange: {
        host: keycloak.url,
        path: '/realms/staff/protocol/openid-connect/token',
        clientAuth: { clientId: 'portcullis', clientSecret: secret, method: 'clientSecretBasic' },
        audiences: ['calendar'],
      },
    };
    atGateway = await startGateway(
      stringify({
        config: { session: { key: 'ab'.repeat(32) } },
        binds: [
          {
            port: loginPort,
            listeners: [
              {
                routes: [
                  {
                    matches: [{ path: { exact: '/mcp' } }],
                    policies: {
                      mcpAuthentication: {
                        ...mcpAuthentication,
                        resourceMetadata: { resource: `${loginUrl}/mcp`, scopesSupported: ['mcp'] },
                        clientId: 'portcullis',
                        clientSecret: secret,
                      },
                    },
                    backends: [
                      {
                        mcp: {
                          targets: [
                            {
                              name: 'calendar',
                              mcp: { host: server.url },
                              policies: { backendAuth: exchange },
                            },
                          ],
                        },
                      },
                    ],
                  },
                  {
                    matches: [{ path: { pathPrefix: '/app' } }],
                    policies: {
                      oidc: {
                        issuer,
                        clientId: 'portcullis',
                        clientSecret: secret,
                        redirectURI: `${loginUrl}/app/callback`,
                      },
                      authorization: { rules: ['"engineers" in jwt.groups'] },
                      directResponse: { status: 200, body: 'the app' },
                    },
                  },
                ],
              },
            ],
          },
        ],
      }),
    );
  });

  after(async () => {
    await atGateway?.[Symbol.asyncDispose]();
    await direct?.[Symbol.asyncDispose]();
    await server?.close();
    await keycloak?.close();
  });

  const call = async (url: string, token: string | undefined): Promise<string> => {
    const session = await openSession(url, token);
    const text = resultText(await session.call('echo', { text: 'logged in' }));
    await session.close();
    return text;
  };
  const logIn = async (user: string, serverUrl: string): Promise<Person> => {
    const person = new Person(browseAs(user));
    assert.equal(await auth(person, { serverUrl }), 'REDIRECT');
    const authorizationCode = person.returned.get('code') ?? '';
    assert.notEqual(authorizationCode, '', String(person.returned));
    assert.equal(await auth(person, { serverUrl, authorizationCode }), 'AUTHORIZED');
    return person;
  };

  test('registers a client of the TypeScript SDK, and its tokens open the route of the page', async () => {
    const person = await logIn('ada', resource);
    const first = person.tokens()?.access_token;
    assert.equal(await call(resource, first), 'logged in');
    assert.equal(await auth(person, { serverUrl: resource }), 'AUTHORIZED');
    assert.notEqual(person.tokens()?.access_token, first);
    assert.equal(await call(resource, person.tokens()?.access_token), 'logged in');
  });

  test('logs in a user without the group, whom the rule refuses', async () => {
    const person = await logIn('bob', resource);
    const session = await openSession(resource, person.tokens()?.access_token).catch((error: unknown) =>
      String(error),
    );
    assert.match(String(session), /403/);
  });

  test('gives a client without the scope a token that the gateway refuses, with the reason of the page', async () => {
    const response = await fetch(`${keycloak.issuer('staff')}/protocol/openid-connect/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: 'reports',
        client_secret: secret,
      }),
    });
    const { access_token: token } = (await response.json()) as { readonly access_token: string };
    const refused = await fetch(resource, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'x-request-id': 'without-scope',
      },
      body: '{}',
    });
    assert.equal(refused.status, 401);
    const line = await direct.accessLine('without-scope');
    assert.match(String(line['reason']), /^audience/);
  });

  test('logs a client in through the gateway, and exchanges the token for the server', async () => {
    const person = await logIn('ada', `${loginUrl}/mcp`);
    assert.equal(await call(`${loginUrl}/mcp`, person.tokens()?.access_token), 'logged in');
    const { authorization = '' } = server.seen.at(-1)?.headers ?? {};
    const claims = decodeJwt(authorization.replace('Bearer ', ''));
    assert.deepEqual([claims.aud].flat(), ['calendar']);
    assert.equal(claims.sub, decodeJwt(person.tokens()?.access_token ?? '').sub);
  });

  test('logs in with the Inspector', async (t) => {
    for (const url of [resource, `${loginUrl}/mcp`]) {
      const answer = await inspect(t, url, browseAs('ada'));
      assert.deepEqual(answer, { content: [{ type: 'text', text: 'inspected' }] }, url);
    }
  });

  test('logs in with the Python SDK', { skip: 'missing' in installed && installed.missing }, async () => {
    const script = fileURLToPath(new URL('../e2e/python/login.py', import.meta.url));
    const urls = [resource, `${loginUrl}/mcp`];
    const { stdout } = await run('python3', ['-s', script, ...urls], {
      env: {
        ...process.env,
        PYTHONPATH: 'folder' in installed ? installed.folder : '',
        LOGIN_USER: 'ada',
        LOGIN_PASSWORD: password,
      },
    });
    assert.deepEqual(
      stdout.trim().split('\n'),
      urls.map((url) => `${url} from Python`),
    );
  });

  test('logs a browser in, and the rule reads the groups of its user', async () => {
    const ada = await visit(`${loginUrl}/app`, 'ada', () => false);
    assert.deepEqual([ada.status, ada.body], [200, 'the app']);
    const bob = await visit(`${loginUrl}/app`, 'bob', () => false);
    assert.equal(bob.status, 403);
  });
});
