/**
 * Logins at providers of the shapes of Keycloak, Auth0, Okta, Entra ID, Descope and authentik, by the TypeScript and
 * Python SDKs and the Inspector: through the gateway as the client of the provider, and at the provider itself where it registers clients.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { auth } from '@modelcontextprotocol/sdk/client/auth.js';
import * as sdk2 from '@modelcontextprotocol/client';
import { RemoteServer } from '../../src/mcp/remoteServer.testing.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { inspect } from './inspector.testing.ts';
import { Person } from './person.testing.ts';
import { api, browse, ProviderServer, shapes, shared, type ShapeName } from './providers.testing.ts';
import { installPython } from './python.testing.ts';
import { openSession, resultText } from './session.testing.ts';

const names = Object.keys(shapes) as ShapeName[];
/** Providers that register clients, and give them tokens for the API without more ado. */
const direct: readonly ShapeName[] = ['keycloak', 'descope'];
const run = promisify(execFile);
const installed = installPython('mcp==2.3.0');

describe('a client logs in', () => {
  const providers = new Map<ShapeName, ProviderServer>();
  let server: RemoteServer;
  let gateway: GatewayProcess;

  before(async () => {
    server = await RemoteServer.start();
    for (const name of names) providers.set(name, await ProviderServer.start(name));
    const route = (name: ShapeName, path: string, more: object): object => ({
      name: path.slice(1).replace('/', '-'),
      matches: [{ path: { exact: path } }],
      policies: {
        mcpAuthentication: {
          issuer: providers.get(name)?.issuer,
          audiences: [api],
          provider: { [name]: {} },
          resourceMetadata: { scopesSupported: ['mcp', 'offline_access'] },
          ...more,
        },
      },
      backends: [{ mcp: { targets: [{ name: 'tools', mcp: { host: server.url } }] } }],
    });
    const routes = [
      ...names.map((name) =>
        route(name, `/login/${name}`, { clientId: shared.id, clientSecret: shared.secret }),
      ),
      ...direct.map((name) => route(name, `/direct/${name}`, {})),
    ];
    gateway = await startGateway(
      JSON.stringify({
        config: { session: { key: 'ab'.repeat(32) } },
        binds: [{ port: 0, listeners: [{ routes }] }],
      }),
    );
  });

  after(async () => {
    await gateway?.[Symbol.asyncDispose]();
    await Promise.all([...providers.values(), server].map((one) => one?.close()));
  });

  const call = async (url: string, token: string | undefined): Promise<string> => {
    const session = await openSession(url, token);
    const text = resultText(await session.call('echo', { text: 'logged in' }));
    await session.close();
    return text;
  };

  for (const [path, of] of [
    ['login', names],
    ['direct', direct],
  ] as const)
    for (const name of of) {
      const place = path === 'login' ? 'at the gateway, a client of' : 'at';

      test(`${place} ${name}, and refreshes its token (TypeScript SDK 1.x)`, async () => {
        const person = new Person(browse);
        const serverUrl = `${gateway.url}/${path}/${name}`;
        assert.equal(await auth(person, { serverUrl }), 'REDIRECT');
        const authorizationCode = person.returned.get('code') ?? '';
        assert.equal(await auth(person, { serverUrl, authorizationCode }), 'AUTHORIZED');
        const first = person.tokens()?.access_token;
        assert.equal(await call(serverUrl, first), 'logged in');
        assert.equal(await auth(person, { serverUrl }), 'AUTHORIZED');
        assert.notEqual(person.tokens()?.access_token, first);
        assert.equal(await call(serverUrl, person.tokens()?.access_token), 'logged in');
      });

      test(`${place} ${name} (TypeScript SDK 2.x)`, async () => {
        const person = new Person(browse);
        const url = new URL(`${gateway.url}/${path}/${name}`);
        const first = new sdk2.StreamableHTTPClientTransport(url, { authProvider: person });
        const client = new sdk2.Client({ name: 'e2e', version: '1' });
        await assert.rejects(client.connect(first), /Unauthorized|authoriz/i);
        await first.finishAuth(person.returned);
        const transport = new sdk2.StreamableHTTPClientTransport(url, { authProvider: person });
        await client.connect(transport);
        const { content } = await client.callTool({ name: 'echo', arguments: { text: 'hello' } });
        assert.deepEqual(content, [{ type: 'text', text: 'hello' }]);
        await client.close();
      });
    }

  test(
    'at each of these places, with the Python SDK',
    { skip: 'missing' in installed && installed.missing },
    async () => {
      const script = fileURLToPath(new URL('./python/login.py', import.meta.url));
      const urls = [
        ...names.map((name) => `${gateway.url}/login/${name}`),
        ...direct.map((name) => `${gateway.url}/direct/${name}`),
      ];
      const { stdout } = await run('python3', ['-s', script, ...urls], {
        env: { ...process.env, PYTHONPATH: 'folder' in installed ? installed.folder : '' },
      });
      assert.deepEqual(
        stdout.trim().split('\n'),
        urls.map((url) => `${url} from Python`),
      );
    },
  );

  test('at each of these places, with the MCP Inspector', async (t) => {
    for (const [path, name] of [
      ...names.map((one) => ['login', one] as const),
      ...direct.map((one) => ['direct', one] as const),
    ]) {
      const answer = await inspect(t, `${gateway.url}/${path}/${name}`, browse);
      assert.deepEqual(answer, { content: [{ type: 'text', text: 'inspected' }] }, `${path} ${name}`);
    }
  });

  test('with the registrations of well-known clients', async () => {
    const clients = {
      'Visual Studio Code': [
        'http://127.0.0.1:33418/',
        'http://localhost:33418/',
        'https://vscode.dev/redirect',
      ],
      Claude: ['https://claude.ai/api/mcp/auth_callback'],
      Cursor: ['cursor://anysphere.cursor-mcp/oauth/callback'],
      'MCP Inspector': ['http://localhost:6274/oauth/callback'],
    };
    for (const [name, uris] of Object.entries(clients)) {
      const person = new Person(browse, uris, { client_name: name, client_uri: 'https://example.com' });
      const serverUrl = `${gateway.url}/login/entra`;
      assert.equal(await auth(person, { serverUrl }), 'REDIRECT', name);
      const authorizationCode = person.returned.get('code') ?? '';
      assert.equal(await auth(person, { serverUrl, authorizationCode }), 'AUTHORIZED', name);
      assert.equal(await call(serverUrl, person.tokens()?.access_token), 'logged in', name);
    }
  });

  test('with the parameters that its provider wants, and none that it refuses', () => {
    for (const name of names)
      for (const query of providers.get(name)?.authorizations ?? []) {
        const isShared = query.get('client_id') === shared.id;
        assert.equal(query.get('code_challenge_method'), 'S256');
        if (!isShared) continue;
        assert.equal(query.get('resource'), null, name);
        assert.equal(
          query.get('audience'),
          'wantsAudience' in shapes[name] ? api : query.get('audience'),
          name,
        );
        assert.match(query.get('redirect_uri') ?? '', /mcp-login-callback/);
      }
  });

  test('and a token of one provider does not open the routes of another', async () => {
    const person = new Person(browse);
    const serverUrl = `${gateway.url}/login/okta`;
    await auth(person, { serverUrl });
    await auth(person, { serverUrl, authorizationCode: person.returned.get('code') ?? '' });
    const answers = await Promise.all(
      names.map(async (name) => {
        const response = await fetch(`${gateway.url}/login/${name}`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${person.tokens()?.access_token ?? ''}`,
            'content-type': 'application/json',
          },
          body: '{}',
        });
        await response.text();
        return [name, response.status === 401] as const;
      }),
    );
    assert.deepEqual(
      answers.filter(([, isRefused]) => !isRefused).map(([name]) => name),
      ['okta'],
    );
  });
});
