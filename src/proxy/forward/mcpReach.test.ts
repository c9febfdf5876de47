import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { HeaderLine } from '../../http/index.ts';
import type { Reach } from '../../mcp/index.ts';
import { defaults, type McpBackend, type PolicyUse, type RemoteTarget } from '../../model/index.ts';
import { FakeExchange, type FakeRequest } from '../../policies/exchange.testing.ts';
import { policySchemas, policyTable } from '../../policies/index.ts';
import { toolsWith } from '../../policies/tools.testing.ts';
import { memoryLog } from '../../auth/log.testing.ts';
import { Endpoints, type Destination } from '../../upstream/index.ts';
import { compileReach, type ReachesFor } from './mcpReach.ts';

const place = { file: 'test', line: 1, column: 1, path: '' };
const use = (name: keyof typeof policySchemas, settings: unknown): PolicyUse => ({
  name,
  settings: policySchemas[name].parse(settings),
  place,
});

interface Given {
  readonly target?: Partial<RemoteTarget>;
  readonly around?: readonly PolicyUse[];
  readonly request?: FakeRequest;
  readonly token?: string;
  /** Headers that policies have taken out of the request. */
  readonly removed?: readonly string[];
}

const unreachable = { use: () => ({ ask: () => Promise.reject(new Error('no host is asked')) }) };

function reachesFor(
  t: TestContext,
  { target = {}, around = [] }: Given,
  destinations = new Set<Destination>(),
): ReachesFor {
  const endpoints = new Endpoints({ log: memoryLog().log });
  t.after(() => endpoints.close());
  const backend: McpBackend = {
    kind: 'mcp',
    weight: 1,
    key: 'k',
    place,
    targets: [{ kind: 'http', name: 'far', host: '127.0.0.1', port: 9, path: '/mcp', ...target }],
    prefixMode: 'conditional',
    dnsRebindingProtection: false,
  };
  return compileReach(backend, around, defaults, { endpoints, uses: { destinations } }, (uses) =>
    uses.map(({ name, settings }) =>
      policyTable.get(name)!.prepare(settings, { ...toolsWith([]), hosts: unreachable }),
    ),
  );
}

/** Sends a client request through the policies of a session that reaches a server. */
function reached(
  t: TestContext,
  { request = {}, token, removed = [], ...given }: Given,
): Reach & { readonly reachesAlike: boolean; readonly digest: string | undefined } {
  const destinations = new Set<Destination>();
  const reachFor = reachesFor(t, given, destinations);
  const exchange = new FakeExchange(request);
  exchange.token = token;
  for (const name of removed) exchange.requestHeaders.remove(name);
  const now = (reaches: ReturnType<typeof reachFor>) => {
    assert.ok(!(reaches instanceof Promise));
    return reaches;
  };
  const { reach, reachesAlike = false, credentialsDigest } = now(reachFor(exchange));
  const digest = credentialsDigest?.();
  const found = reach?.('far');
  assert.ok(found !== undefined && destinations.has(found.destination));
  assert.equal(reach?.('far'), found, 'the policies run once for each request');
  // Sessions compare the functions.
  assert.equal(now(reachFor(new FakeExchange(request))).reach === reach, reachesAlike);
  return { ...found, reachesAlike, digest };
}

const client: FakeRequest = {
  headers: [
    ['authorization', 'Bearer mine'],
    ['cookie', 'session=mine'],
    ['x-mine', 'mine'],
  ],
};

test('without a policy nothing of the client goes to the server, its verified token included', (t) => {
  assert.deepEqual(reached(t, { request: client, token: 'verified' }).headers, []);
});

test('a key of the gateway goes in its place, and nothing of the client beside it', (t) => {
  const at = (location: object): readonly HeaderLine[] =>
    reached(t, {
      request: client,
      target: { policies: [use('backendAuth', { key: { value: 'ours', location } })] },
    }).headers;
  assert.deepEqual(at({ header: { name: 'x-key' } }), [['x-key', 'ours']]);
  assert.deepEqual(at({ cookie: { name: 'key' } }), [['cookie', 'key=ours']]);
});

test('a key in the query stands behind the path of the server, not behind that of the client', (t) => {
  const key = use('backendAuth', { key: { value: 'a b', location: { queryParameter: { name: 'k' } } } });
  const { path, headers } = reached(t, {
    request: { target: '/client?k=mine' },
    target: { path: '/v1/mcp?p=1', policies: [key] },
  });
  assert.equal(path, '/v1/mcp?p=1&k=a%20b');
  assert.deepEqual(headers, []);
});

test('the token that was verified goes on where a policy says so, and no other', (t) => {
  const target = { policies: [use('backendAuth', { passthrough: {} })] };
  const sent = (token?: string): readonly HeaderLine[] =>
    reached(t, { request: client, target, ...(token === undefined ? {} : { token }) }).headers;
  assert.deepEqual(sent('verified'), [['authorization', 'Bearer verified']]);
  assert.deepEqual(sent(), []);
});

test('a token that authentication took out of the request and did not verify is not exchanged', (t) => {
  const exchange = use('backendAuth', { oauthTokenExchange: { host: '127.0.0.1:9' } });
  assert.throws(
    () => reached(t, { request: client, target: { policies: [exchange] }, removed: ['authorization'] }),
    /the backend does not accept the caller/,
  );
});

test('the token of the caller tells sessions apart only where a server gets it', (t) => {
  const digestFor = (settings: object, token: string): string | undefined =>
    reached(t, { token, target: { policies: [use('backendAuth', settings)] } }).digest;
  const [ada, again, bob] = ['ada', 'ada', 'bob'].map((token) => digestFor({ passthrough: {} }, token));
  assert.ok(ada !== undefined && !ada.includes('ada'));
  assert.equal(ada, again);
  assert.notEqual(ada, bob);
  assert.equal(digestFor({ key: 'of the gateway' }, 'ada'), undefined);
  assert.equal(reached(t, { token: 'ada' }).digest, undefined);
});

test('a server is told of the place of a token also where the caller has none', (t) => {
  const location = { header: { name: 'X-User-Token' } };
  const { credentials, headers } = reached(t, {
    target: { policies: [use('backendAuth', { passthrough: { location } })] },
  });
  assert.deepEqual(
    credentials?.map(({ place: at }) => at),
    [{ kind: 'header', name: 'x-user-token' }],
  );
  assert.deepEqual(headers, []);
});

test('a caller whose credential is refused passes for no other caller', async (t) => {
  const settings = {
    oauthTokenExchange: { host: '127.0.0.1:9', subjectToken: { source: { header: { name: 'x-user' } } } },
  };
  const digestFor = async (user: string): Promise<string | undefined> => {
    const { reach, credentialsDigest } = await reachesFor(t, {
      target: { policies: [use('backendAuth', settings)] },
    })(new FakeExchange({ headers: user === '' ? [] : [['x-user', user]] }));
    assert.throws(() => reach?.('far'), /target "far"/);
    return credentialsDigest?.();
  };
  const digests = await Promise.all(['ada', 'bob', ''].map(digestFor));
  assert.equal(new Set(digests).size, 3);
  assert.equal(await digestFor('ada'), digests[0]);
});

test('policies of the route hold for servers that have none of the same name', (t) => {
  const around = [
    use('requestHeaderModifier', { set: { 'x-of': 'route' } }),
    use('backendAuth', { key: 'of-route' }),
    use('urlRewrite', { path: { full: '/elsewhere' } }),
  ];
  assert.deepEqual(reached(t, { around }).headers, [
    ['x-of', 'route'],
    ['authorization', 'Bearer of-route'],
  ]);
  const own = { policies: [use('backendAuth', { key: 'of-target' })] };
  const { headers, path } = reached(t, { around, target: own });
  assert.deepEqual(headers, [
    ['x-of', 'route'],
    ['authorization', 'Bearer of-target'],
  ]);
  assert.equal(path, '/mcp');
});

test('a policy that cannot stand on a server closes the route', (t) => {
  assert.throws(
    () => reached(t, { target: { policies: [use('cors', { allowOrigins: ['*'] })] } }),
    /a target of MCP cannot have the policy cors/,
  );
});

test('the limit of a call is that of the target', (t) => {
  assert.equal(reached(t, {}).callTimeoutMs, undefined);
  assert.equal(reached(t, { target: { requestTimeoutMs: 5 } }).callTimeoutMs, 5);
});

test('a host that a policy sets is the one that the server is asked for', (t) => {
  const host = use('requestHeaderModifier', { set: { host: 'tools.example.com' } });
  assert.equal(reached(t, { request: client }).authority, undefined);
  assert.equal(reached(t, { request: client, around: [host] }).authority, 'tools.example.com');
  const { authority, headers } = reached(t, { request: client, target: { policies: [host] } });
  assert.deepEqual([authority, headers], ['tools.example.com', []]);
});

test('servers are reached alike for all callers only where no policy has a say', (t) => {
  const key = use('backendAuth', { key: 'ours' });
  assert.equal(reached(t, {}).reachesAlike, true);
  assert.equal(reached(t, { target: { policies: [key] } }).reachesAlike, false);
  assert.equal(reached(t, { around: [key] }).reachesAlike, false);
});

test('expressions of the route set headers of messages, and never the path of the server', (t) => {
  const request = { set: { 'x-of': 'request.headers["x-mine"]', ':path': '"/elsewhere"', host: '"a.test"' } };
  const { headers, path, authority } = reached(t, {
    request: client,
    around: [use('transformations', { request })],
  });
  assert.deepEqual([headers, path, authority], [[['x-of', 'mine']], '/mcp', 'a.test']);
});

test('a policy about responses alone leaves all requests to a server alike', (t) => {
  const around = [use('transformations', { response: { remove: ['x-a'] } })];
  assert.equal(reached(t, { around }).reachesAlike, true);
  assert.throws(
    () => reached(t, { target: { policies: around } }),
    /a target of MCP cannot have the policy transformations/,
  );
});
