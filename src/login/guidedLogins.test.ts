import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { after, before, beforeEach, test } from 'node:test';
import type { BegunLogin, RouteView } from '../admin/index.ts';
import { jsonAnswer, startLoopback, type Loopback } from '../auth/loopback.testing.ts';
import { GuidedLogins } from './guidedLogins.ts';

/** An issuer that gives each client another id. */
let issuer: Loopback;
let registered = 0;
/** The documents of the route by their path. */
const documents = new Map<string, object>();
let now = 0;

const metadata = (name: string): object => ({
  issuer: name,
  authorization_endpoint: `${name}/authorize`,
  token_endpoint: `${name}/token`,
  registration_endpoint: `${name}/register`,
  code_challenge_methods_supported: ['S256'],
});

before(async () => {
  issuer = await startLoopback((request, response) => {
    const answer = request.url === '/register' ? { client_id: `${++registered}` } : metadata(issuer.url);
    jsonAnswer(answer)(request, response);
  });
});
after(() => issuer.close());
beforeEach(() => {
  registered = 0;
  documents.clear();
  now = 0;
});

const redirectUri = 'http://127.0.0.1:15000/ui/playground/callback';

function guidedLogins(): GuidedLogins {
  const route: RouteView = {
    id: 'route',
    bind: '0',
    port: 80,
    listener: 'public',
    hostnames: [],
    path: '/',
    kind: 'mcp',
    targets: [],
    backends: [],
    urls: ['http://localhost/'],
    authentication: {
      kind: 'mcpAuthentication',
      byToken: true,
      issuers: [issuer.url],
      audiences: [],
      clientScopes: [],
      credential: 'token',
      guidesClients: true,
    },
  };
  return new GuidedLogins({
    routes: () => [route],
    play: ({ path }) => {
      const document = documents.get(path);
      return Promise.resolve({
        status: document === undefined ? 404 : 200,
        headers: { 'content-type': 'application/json' },
        requestId: 'request',
        body: Readable.from([Buffer.from(JSON.stringify(document ?? {}))]),
      });
    },
    isShared: false,
    now: () => now,
  });
}

interface Begun {
  readonly id: string;
  /** The id of the client that the issuer is asked for. */
  readonly client: string | null;
  readonly state: string | null;
}

async function begin(logins: GuidedLogins, owner = 'alice'): Promise<Begun> {
  const begun = await logins.begin({ route: 'route', owner, redirectUri });
  assert.ok('steps' in begun && begun.login !== undefined, JSON.stringify(begun));
  const { searchParams } = new URL(begun.login.authorizeUrl);
  return { id: begun.login.id, client: searchParams.get('client_id'), state: searchParams.get('state') };
}

test('a client that has brought a browser back is used again', async () => {
  const logins = guidedLogins();
  const first = await begin(logins);
  assert.equal(logins.returned(`code=code&state=${first.state}`), true);
  assert.equal((await begin(logins)).client, first.client);
  assert.equal(logins.end(first.id, 'alice'), true);
  assert.equal((await begin(logins, 'bob')).client, first.client);
});

test('a login that the user ends before the browser comes back takes its client with it', async () => {
  const logins = guidedLogins();
  const first = await begin(logins);
  assert.equal(logins.end(first.id, 'bob'), false);
  assert.equal((await begin(logins, 'bob')).client, first.client);
  assert.equal(logins.end(first.id, 'alice'), true);
  assert.notEqual((await begin(logins, 'carol')).client, first.client);
});

test('a user who begins again before the browser comes back gets another client, which stays', async () => {
  const logins = guidedLogins();
  const first = await begin(logins);
  const second = await begin(logins);
  assert.notEqual(second.client, first.client);
  logins.end(first.id, 'alice');
  assert.equal((await begin(logins, 'bob')).client, second.client);
});

test('a login that expires before the browser comes back takes its client with it', async () => {
  const logins = guidedLogins();
  const first = await begin(logins);
  now = 599_999;
  assert.equal((await begin(logins, 'bob')).client, first.client);
  now = 600_000;
  assert.notEqual((await begin(logins, 'carol')).client, first.client);
});

test('a login that makes room for another one takes its client with it', async () => {
  const logins = guidedLogins();
  const first = await begin(logins);
  for (let user = 1; user <= 16; user++)
    assert.equal((await begin(logins, `user ${user}`)).client, first.client);
  assert.notEqual((await begin(logins, 'the last')).client, first.client);
});

for (const resource of ['https://mcp.test', 'https://mcp.test/', 'https://MCP.test/'])
  test(`with a shared client, ${resource} logs users in at the route itself`, async () => {
    documents.set('/.well-known/oauth-protected-resource', {
      resource,
      authorization_servers: ['https://mcp.test'],
    });
    documents.set('/.well-known/oauth-authorization-server', metadata('https://mcp.test'));
    const begun = await guidedLogins().begin({
      route: 'route',
      owner: 'alice',
      redirectUri,
      clientId: 'own',
    });
    const { steps } = begun as BegunLogin;
    assert.equal(steps[1]?.value?.['issuer'], 'https://mcp.test', JSON.stringify(steps));
  });
