/** Requests of MCP clients that have no token yet: metadata documents, preflights, and addresses behind proxies. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test, type TestContext } from 'node:test';
import { policySchemas } from '../../policies/index.ts';
import { TestPlane, type ModelInShort, type RouteInShort } from '../dataPlane.testing.ts';
import { field, get, ok, RawBackend, status, type Message } from '../wire.testing.ts';

const issuer = 'https://login.test';
const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'ES256', use: 'sig' };
const jwks = { inline: JSON.stringify({ keys: [jwk] }) };

const token = (settings: object = {}) => ({
  mcpAuthentication: policySchemas.mcpAuthentication.parse({ issuer, audiences: ['a'], jwks, ...settings }),
});

const mcp = (prefix: string, policies: RouteInShort['policies'] = {}): RouteInShort => ({
  prefix,
  policies,
  handler: (_request, reply) => reply.send({ status: 200, body: 'called' }),
});

async function plane(t: TestContext, model: ModelInShort): Promise<TestPlane> {
  const started = await TestPlane.start(model);
  t.after(() => started.close());
  return started;
}

const preflight = (path: string, origin: string, headers = 'authorization,content-type'): string =>
  `OPTIONS ${path} HTTP/1.1\r\nhost: gw.test\r\norigin: ${origin}\r\naccess-control-request-method: POST\r\n` +
  `access-control-request-headers: ${headers}\r\n\r\n`;

const json = ({ body }: Message): Record<string, unknown> =>
  JSON.parse(body.toString()) as Record<string, unknown>;

const protectedResource = '/.well-known/oauth-protected-resource';

test('a page of any site gets past the preflight of a route that needs a token, and reads the refusal', async (t) => {
  const { ask } = await asking(t, { routes: [mcp('/mcp', token())] });
  const answer = await ask(
    preflight('/mcp', 'https://claude.ai', 'authorization, mcp-protocol-version,x-custom'),
  );
  assert.equal(status(answer), 204);
  assert.equal(field(answer, 'access-control-allow-origin'), '*');
  assert.equal(field(answer, 'access-control-allow-methods'), 'GET, POST, DELETE');
  const allowed = field(answer, 'access-control-allow-headers')?.toLowerCase().split(', ') ?? [];
  for (const name of [
    'authorization',
    'content-type',
    'mcp-session-id',
    'mcp-protocol-version',
    'last-event-id',
    'x-custom',
  ])
    assert.ok(allowed.includes(name) || allowed.some((text) => text.includes(name)), name);
  assert.equal(field(answer, 'access-control-allow-credentials'), undefined);

  const refused = await ask(get('/mcp', 'origin: https://claude.ai'));
  assert.equal(status(refused), 401);
  assert.equal(field(refused, 'access-control-allow-origin'), '*');
  assert.equal(
    field(refused, 'access-control-expose-headers'),
    'Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate',
  );
  assert.equal(field(await ask(get('/mcp')), 'access-control-allow-origin'), undefined, 'no page has asked');
});

test('a preflight cannot write header lines of the response', async (t) => {
  const { ask } = await asking(t, { routes: [mcp('/mcp', token())] });
  for (const headers of ['a b', 'a,,b', 'x'.repeat(2_000), '"a"']) {
    const answer = await ask(preflight('/mcp', 'https://claude.ai', headers));
    assert.equal(
      field(answer, 'access-control-allow-headers'),
      'Authorization, Content-Type, Mcp-Session-Id, MCP-Protocol-Version, Last-Event-ID',
      headers.slice(0, 10),
    );
  }
});

test('without a required credential, only pages of the local machine may use an MCP route', async (t) => {
  const optional = { jwtAuth: policySchemas.jwtAuth.parse({ issuer, jwks }) };
  const routes = [
    mcp('/open'),
    mcp('/optional', optional),
    mcp('/permissive', token({ mode: 'permissive' })),
  ];
  const { ask } = await asking(t, { routes });
  for (const path of ['/open', '/optional', '/permissive']) {
    const local = await ask(preflight(path, 'http://localhost:6274'));
    assert.equal(status(local), 204, path);
    assert.equal(field(local, 'access-control-allow-origin'), 'http://localhost:6274');
    assert.equal(
      field(await ask(get(path, 'origin: http://127.0.0.1:6274')), 'access-control-allow-origin'),
      'http://127.0.0.1:6274',
    );
    for (const origin of [
      'https://evil.test',
      'http://localhost.evil.test',
      'null',
      'http://127.0.0.2.evil.test',
    ]) {
      assert.equal(
        field(await ask(preflight(path, origin)), 'access-control-allow-origin'),
        undefined,
        origin,
      );
      const answer = await ask(get(path, `origin: ${origin}`));
      assert.equal(field(answer, 'access-control-allow-origin'), undefined, origin);
      assert.equal(field(answer, 'vary'), 'Origin');
    }
  }
});

test('a strict API key also opens a route to pages, and a cors policy decides where there is one', async (t) => {
  const apiKey = policySchemas.apiKey.parse({ mode: 'strict', keys: [{ key: 'one' }] });
  const cors = policySchemas.cors.parse({ allowOrigins: ['https://app.test'], allowMethods: ['POST'] });
  const { ask } = await asking(t, { routes: [mcp('/key', { apiKey }), mcp('/cors', { cors, ...token() })] });
  assert.equal(field(await ask(preflight('/key', 'https://a.test')), 'access-control-allow-origin'), '*');
  assert.equal(
    field(await ask(preflight('/cors', 'https://a.test')), 'access-control-allow-origin'),
    undefined,
  );
  const named = await ask(preflight('/cors', 'https://app.test'));
  assert.equal(field(named, 'access-control-allow-methods'), 'POST');
});

test('a route of an HTTP app without mcpAuthentication keeps its own preflights', async (t) => {
  const backend = await RawBackend.start({
    onRequest: (_request, connection) => connection.send(ok('from the app')),
  });
  t.after(() => backend.close());
  const { ask } = await asking(t, { routes: [{ to: backend.port }] });
  assert.equal((await ask(preflight('/', 'https://a.test'))).body.toString(), 'from the app');
});

test('each MCP route has its own metadata document, and the root document is missing where it is ambiguous', async (t) => {
  const other = token({ issuer: 'https://other.test' });
  const { ask } = await asking(t, { routes: [mcp('/a', token()), mcp('/b', other)] });
  assert.deepEqual(json(await ask(get(`${protectedResource}/a`))).authorization_servers, [issuer]);
  assert.deepEqual(json(await ask(get(`${protectedResource}/b?x=1`))).authorization_servers, [
    'https://other.test',
  ]);
  for (const name of ['oauth-protected-resource', 'oauth-authorization-server'])
    for (const end of ['', '/'])
      assert.equal(status(await ask(get(`/.well-known/${name}${end}`))), 404, name);
});

test('the root document belongs to the route of the root, or to routes with the same issuer', async (t) => {
  const other = token({ issuer: 'https://other.test' });
  const root = await asking(t, { routes: [mcp('/a', other), mcp('/', token())] });
  assert.deepEqual(json(await root.ask(get(protectedResource))).authorization_servers, [issuer]);
  const same = await asking(t, { routes: [mcp('/a', token()), mcp('/b', token({ mode: 'optional' }))] });
  const document = json(await same.ask(get(protectedResource)));
  assert.deepEqual(document.authorization_servers, [issuer]);
  assert.equal(document.resource, 'http://app.test');
  const alone = await asking(t, { routes: [mcp('/a', token()), mcp('/open')] });
  assert.equal(status(await alone.ask(get(protectedResource))), 200);
});

test('addresses have the scheme and the host that a trusted proxy was asked for', async (t) => {
  const model = { routes: [mcp('/mcp', token())], trustedProxies: ['127.0.0.2'] };
  const { from } = await asking(t, model);
  const pointer = async (address: string, ...lines: string[]): Promise<string | undefined> =>
    /resource_metadata="([^"]*)"/.exec(
      field(await from(address, get('/mcp', ...lines)), 'www-authenticate') ?? '',
    )?.[1];
  const trusted = '127.0.0.2';
  const shown = (origin: string): string => `${origin}${protectedResource}/mcp`;
  const told = ['x-forwarded-proto: https', 'x-forwarded-host: mcp.example.com'];
  assert.equal(await pointer(trusted, ...told), shown('https://mcp.example.com'));
  assert.equal(
    await pointer(trusted, 'x-forwarded-proto: https', 'x-forwarded-host: MCP.example.com:443'),
    shown('https://mcp.example.com'),
  );
  assert.equal(
    await pointer(
      trusted,
      'forwarded: for=1.2.3.4;host=first.test, for="[2001:db8::1]";proto=https;host="mcp.example.com:8443"',
    ),
    shown('https://mcp.example.com:8443'),
  );
  assert.equal(
    await pointer(trusted, 'forwarded: proto=http;host=other.test', ...told),
    shown('https://mcp.example.com'),
    'the headers that proxies usually set come first',
  );
  assert.equal(
    await pointer(trusted, 'x-forwarded-host: a/b', 'forwarded: host="a b"'),
    shown('http://app.test'),
  );
  assert.equal(await pointer('127.0.0.3', ...told), shown('http://app.test'), 'another client');
  const document = json(await from(trusted, get(`${protectedResource}/mcp`, ...told)));
  assert.equal(document.resource, 'https://mcp.example.com/mcp');
});

test('without trusted proxies no header changes the host', async (t) => {
  const { ask } = await asking(t, { routes: [mcp('/mcp', token())] });
  const lines = [
    'x-forwarded-host: evil.test',
    'forwarded: host=evil.test;proto=https',
    'x-forwarded-proto: https',
  ];
  const document = json(await ask(get(`${protectedResource}/mcp`, ...lines)));
  assert.equal(document.resource, 'https://app.test/mcp');
});

/** Requests on connections of their own. */
async function asking(t: TestContext, model: ModelInShort) {
  const running = await plane(t, model);
  const from = async (address: string | undefined, text: string): Promise<Message> => {
    const client = await running.client(undefined, address);
    const answer = await client.ask(text);
    client.close();
    return answer;
  };
  return { from, ask: (text: string) => from(undefined, text) };
}

test('a token policy of the listener tells the client where to log in for the route', async (t) => {
  const { jwtAuth } = policySchemas;
  const { ask } = await asking(t, {
    policies: { jwtAuth: jwtAuth.parse({ mode: 'strict', issuer, audiences: ['a'], jwks }) },
    routes: [mcp('/mcp', token()), mcp('/plain')],
  });
  const challenge = async (path: string, ...lines: string[]) => {
    const answer = await ask(get(path, ...lines));
    assert.equal(status(answer), 401);
    return field(answer, 'www-authenticate') ?? '';
  };
  const pointer = /resource_metadata="http:\/\/[\w.:]+\/\.well-known\/oauth-protected-resource\/mcp"$/;
  assert.match(await challenge('/mcp'), pointer);
  const refused = await challenge('/mcp', 'authorization: Bearer x.y.z');
  assert.match(refused, /^Bearer error="invalid_token"/);
  assert.match(refused, pointer);
  assert.equal(await challenge('/plain'), 'Bearer', 'a route without mcpAuthentication has no metadata');
});
