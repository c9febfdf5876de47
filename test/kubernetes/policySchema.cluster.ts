/** The CRD of GatewayPolicy on a real API server: what it takes, and that it refuses what the controller would refuse. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, describe, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { readObjects } from '../../src/controller/translate/objects.testing.ts';
import { translate } from '../../src/controller/translate/index.ts';
import type { Secret } from '../../src/controller/types/index.ts';
import { fencesOf } from '../support/guide.ts';
import { clusterForSuite, needsCluster } from './cluster.testing.ts';

const crd = readFileSync(
  new URL('../../deploy/chart/crds/portcullis.dev_gatewaypolicies.yaml', import.meta.url),
  'utf8',
);

const group = 'gateway.networking.k8s.io';
const gate = { group, kind: 'Gateway', name: 'gate' };
const service = { group: '', kind: 'Service', name: 'app' };
const mcpBackend = { group: 'portcullis.dev', kind: 'McpBackend', name: 'tools' };

const about = (policies: object, ...targetRefs: readonly object[]): object => ({
  targetRefs: targetRefs.length === 0 ? [gate] : targetRefs,
  policies,
});

const jwt = (jwks: unknown): object => about({ jwtAuth: { issuer: 'a', audiences: ['a'], jwks } });

/** An authorization server, and the proof of the gateway there. */
const tokenServer = {
  host: 'https://a.example.com',
  path: '/token',
  clientAuth: { clientId: 'a', clientSecret: { secret: 'login' } },
};

const secretOfServer: Secret = {
  metadata: { name: 'login', namespace: 'default' },
  data: { 'client-secret': Buffer.from('a').toString('base64') },
};

const browserLogin = {
  issuer: 'https://a.example.com',
  clientId: 'a',
  clientSecret: { secret: 'a' },
  redirectURI: 'https://app.example.com/oauth/callback',
};

/** Settings of remoteRateLimit. */
const rateLimits = (more: object): object => ({
  host: 'https://limits.example.com',
  domain: 'shop',
  descriptors: [{ entries: [{ key: 'user', value: 'jwt.sub' }] }],
  ...more,
});

/** The error of a spec → the spec. */
const wrong: Readonly<Record<string, object>> = {
  'a target of another kind': about({ cors: {} }, { ...gate, kind: 'TCPRoute' }),
  'a kind of another group': about({ cors: {} }, { ...gate, group: 'example.com' }),
  'what no target of an McpBackend has': about({ cors: {} }, { ...mcpBackend, sectionName: 'a' }),
  'what is not for Services': about({ cors: {} }, service),
  'what is for Services only': about({ connections: { maxConnections: 1 } }),
  'what nobody can do with MCP': about({ retry: { codes: [503] } }, mcpBackend),
  'a policy that is none': about({ nothing: {} }),
  'a policy that this version does not have': about({ extAuthz: { host: 'a:1' } }),
  'mirrors, which are filters': about({ requestMirror: [{ backend: { host: 'a:1' } }] }),
  'a field that is none': about({ timeout: { request: '1s' } }),
  'a time without a unit': about({ timeout: { requestTimeout: '10' } }),
  'credentials for every origin': about({ cors: { allowCredentials: true, allowOrigins: ['*'] } }),
  'credentials for the origin null': about({ cors: { allowCredentials: true, allowOrigins: ['null'] } }),
  'credentials for every host': about({ cors: { allowCredentials: true, allowOrigins: ['https://*'] } }),
  'credentials for every host of a port': about({
    cors: { allowCredentials: true, allowOrigins: ['https://a.example.com', 'https://*:8443'] },
  }),
  'a rule without a condition': about({ authorization: { rules: [{ name: 'a' }] } }),
  'a rule of two effects': about({ authorization: { rules: [{ allow: 'true', deny: 'true' }] } }),
  'a file of keys': jwt({ file: '/etc/keys' }),
  'keys from nowhere': jwt({}),
  'keys from two places': jwt({ url: 'https://a.example.com', configMap: 'a' }),
  'keys in plain text from outside': jwt({ url: 'http://idp.example.com/keys' }),
  'keys from the link of the node': jwt({ url: 'http://169.254.169.254/keys' }),
  'keys from this machine': jwt({ url: 'http://localhost:15000/keys' }),
  'keys from a host that begins like a Service': jwt({ url: 'http://a.b.svc.example.com/keys' }),
  'a provider and no issuer': about({ jwtAuth: { jwks: { configMap: 'a' } } }),
  'providers and an issuer': about({
    jwtAuth: { issuer: 'a', providers: [{ issuer: 'a', jwks: { configMap: 'a' } }] },
  }),
  'a token at two places': about({
    jwtAuth: {
      issuer: 'a',
      jwks: { configMap: 'a' },
      location: { queryParameter: { name: 'a' }, cookie: { name: 'a' } },
    },
  }),
  'a provider that registers no clients, without a client': about({
    mcpAuthentication: { issuer: 'https://a.example.com', audiences: ['a'], provider: { entra: {} } },
  }),
  'a provider that registers no clients, among several issuers': about({
    mcpAuthentication: {
      issuers: [{ issuer: 'https://a.example.com', audiences: ['a'], provider: { authentik: {} } }],
    },
  }),
  'a client for several issuers': about({
    mcpAuthentication: { issuers: [{ issuer: 'https://a.example.com', audiences: ['a'] }], clientId: 'a' },
  }),
  'documents of clients without a client': about({
    mcpAuthentication: {
      issuer: 'https://a.example.com',
      audiences: ['a'],
      clientDocuments: { hosts: ['*'] },
    },
  }),
  'a login of browsers with half of the endpoints': about({
    oidc: { ...browserLogin, tokenEndpoint: 'https://a.example.com/token', jwks: { configMap: 'a' } },
  }),
  'endpoints and a discovery document': about({
    oidc: {
      ...browserLogin,
      authorizationEndpoint: 'https://a.example.com/authorize',
      tokenEndpoint: 'https://a.example.com/token',
      jwks: { configMap: 'a' },
      discovery: { configMap: 'a' },
    },
  }),
  'a discovery document of a file': about({ oidc: { ...browserLogin, discovery: { file: '/etc/a' } } }),
  'a login of browsers without a secret': about({
    oidc: { issuer: 'https://a.example.com', clientId: 'a', redirectURI: browserLogin.redirectURI },
  }),
  'a secret of a browser login that everybody can read': about({
    oidc: { ...browserLogin, clientSecret: 'open sesame' },
  }),
  'a login that no client can use': about({
    mcpAuthentication: {
      issuer: 'https://a.example.com',
      audiences: ['a'],
      clientId: 'a',
      dynamicRegistration: false,
    },
  }),
  'a secret that everybody can read': about({
    mcpAuthentication: {
      issuer: 'https://a.example.com',
      audiences: ['a'],
      clientId: 'a',
      clientSecret: 'open sesame',
    },
  }),
  'a file of passwords': about({ basicAuth: { htpasswd: { file: '/etc/passwd' } } }),
  'a key that everybody can read': about({ apiKey: { keys: [{ key: 'open sesame' }] } }),
  'a key of two kinds': about({ apiKey: { keys: [{ secret: 'a', keyHash: `sha256:${'0'.repeat(64)}` }] } }),
  'a credential that everybody can read': about({ backendAuth: { key: { value: 'open sesame' } } }),
  'no credential': about({ backendAuth: {} }),
  'two kinds of credentials': about({
    backendAuth: { key: { secret: 'a' }, clientCredentials: tokenServer },
  }),
  'a processor with a port of its own': about({
    mcpGuardrails: { processors: [{ kind: 'remote', host: 'https://guard.example.com', port: 4444 }] },
  }),
  'a processor at a server without TLS': about({
    mcpGuardrails: { processors: [{ kind: 'remote', host: 'guard.example.com:4444' }] },
  }),
  'a rate limit service without a host': about({ remoteRateLimit: rateLimits({ host: undefined }) }),
  'a rate limit service that is a backend of the file': about({
    remoteRateLimit: rateLimits({ backend: 'limits' }),
  }),
  'a rate limit service in plain text': about({
    remoteRateLimit: rateLimits({ host: 'limits.example.com:8081' }),
  }),
  'TLS settings of a rate limit service': about({
    remoteRateLimit: rateLimits({ policies: { backendTLS: { insecure: true } } }),
  }),
  'a rate limit of tokens': about({
    remoteRateLimit: rateLimits({
      descriptors: [{ type: 'tokens', entries: [{ key: 'user', value: 'jwt.sub' }] }],
    }),
  }),
  'a rate limit without descriptors': about({ remoteRateLimit: rateLimits({ descriptors: [] }) }),
  'an authorization server without TLS': about({
    backendAuth: { clientCredentials: { ...tokenServer, host: 'http://a.example.com' } },
  }),
  'an authorization server without a host': about({
    backendAuth: { clientCredentials: { path: '/token', clientAuth: tokenServer.clientAuth } },
  }),
  'an authorization server that is a backend of the file': about({
    backendAuth: { oauthTokenExchange: { ...tokenServer, backend: 'idp' } },
  }),
  'a secret of the gateway that everybody can read': about({
    backendAuth: {
      oauthTokenExchange: { ...tokenServer, clientAuth: { clientId: 'a', clientSecret: 'open sesame' } },
    },
  }),
  'a private key of a file': about({ backendAuth: { jwtSign: { signingKey: { file: '/etc/key' } } } }),
  'the credentials of the machine of a proxy': about({ backendAuth: { aws: { region: 'eu-west-1' } } }),
  'a key and a token for one place': about({ backendAuth: { key: { secret: 'a' }, passthrough: {} } }),
  'a limit of nothing': about({ localRateLimit: [{ maxTokens: 0, tokensPerFill: 1, fillInterval: '1s' }] }),
  'no limit': about({ localRateLimit: [] }),
  'another status than that of a redirect': about({ requestRedirect: { status: 200 } }),
  'two paths': about({ urlRewrite: { path: { full: '/a', prefix: '/b' } } }),
  'two bodies': about({ directResponse: { status: 200, body: 'a', bodyExpression: '"b"' } }),
  'nothing to gather': about({ buffer: {} }),
  'a lasting cookie without an end': about({
    sessionPersistence: { cookieConfig: { lifetimeType: 'Permanent' } },
  }),
  'a header that is a cookie': about({ sessionPersistence: { type: 'Header', cookieConfig: {} } }),
  'the version of HTTP, which appProtocol says': about({ http: { version: 'HTTP/2.0' } }, service),
  'TLS, which BackendTLSPolicy says': about({ backendTLS: {} }, service),
};

/** The specs that only the server refuses: the controller would find no fault. */
const wrongForServer: Readonly<Record<string, object>> = {
  'no policy': about({}),
  'no policies': { targetRefs: [gate] },
  'a target without a group': about({ cors: {} }, { kind: 'Gateway', name: 'gate' }),
  'Services and others': about({ requestHeaderModifier: { remove: ['a'] } }, gate, service),
};

const right: Readonly<Record<string, object>> = {
  'what only filters name': {
    policies: { cors: { allowOrigins: ['https://a.example.com'], maxAge: '10m' } },
  },
  'a token in the URL': about({
    jwtAuth: { issuer: 'a', jwks: { configMap: 'keys' }, location: { queryParameter: { name: 'a' } } },
  }),
  'a login at the gateway': about({
    mcpAuthentication: {
      issuer: 'https://login.example.com',
      audiences: ['a'],
      provider: { entra: {} },
      clientId: 'a',
      clientDocuments: { hosts: ['*.example.com'], networks: ['10.0.0.0/8'] },
      dynamicRegistration: false,
    },
  }),
  'a token that an expression finds': about({
    jwtAuth: {
      issuer: 'a',
      jwks: { configMap: 'keys' },
      location: { expression: 'request.headers["x-token"]' },
    },
  }),
  'everything for requests': about({
    timeout: { requestTimeout: '1m30s', backendRequestTimeout: '500ms' },
    cors: {
      allowCredentials: true,
      allowOrigins: ['https://*.example.com'],
      allowMethods: ['*'],
      maxAge: 600,
    },
    jwtAuth: {
      mode: 'strict',
      location: { cookie: { name: 'token' } },
      providers: [
        { issuer: 'a', audiences: ['a'], jwks: { url: 'http://idp.login.svc:8080/keys' } },
        { issuer: 'b', jwks: { url: 'https://b.example.com/keys' }, jwtValidationOptions: { leeway: '30s' } },
        { issuer: 'c', jwks: { inline: '{"keys":[]}' } },
        { issuer: 'd', jwks: { configMap: 'keys' } },
      ],
    },
    mcpAuthentication: {
      issuer: 'https://login.example.com',
      audiences: ['a'],
      provider: { keycloak: {} },
      resourceMetadata: { scopesSupported: ['a'], anything: { of: ['all', 'kinds', 1, null] } },
      authorization: { rules: [{ if: '"a" in jwt.groups', action: 'require', name: 'members' }] },
    },
    basicAuth: { htpasswd: { inline: 'alice:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=' }, realm: 'here' },
    apiKey: {
      mode: 'strict',
      keys: [{ keyHash: `sha256:${'0'.repeat(64)}`, metadata: { name: 'a', more: { depth: [1] } } }],
      location: { queryParameter: { name: 'key' } },
    },
    authorization: { rules: [{ deny: 'request.path == "/a"' }, { require: 'request.method == "GET"' }] },
    mcpAuthorization: { rules: [{ allow: 'mcp.tool.name == "echo"' }] },
    localRateLimit: [{ maxTokens: 1, tokensPerFill: 1, fillInterval: '1s', key: 'jwt.sub', maxKeys: 5 }],
    requestHeaderModifier: { add: { a: 'b' }, set: { c: 'd' }, remove: ['e'] },
    responseHeaderModifier: { set: { c: 'd' } },
    delay: { duration: 'duration("1s")', percentage: 0.5 },
    abort: { status: 503, percentage: 0 },
    requestRedirect: {
      scheme: 'https',
      authority: { host: 'a.example.com' },
      path: { full: '/' },
      status: 308,
    },
    urlRewrite: { authority: { full: 'a.example.com:80' }, path: { prefix: '/a' } },
    directResponse: { status: 200, bodyExpression: 'request.path', headers: { 'x-a': "'b'" } },
    backendAuth: { passthrough: {}, credentials: [] },
    buffer: { request: { maxBytes: 1024, failureMode: 'failOpen' } },
    retry: {
      attempts: 3,
      codes: [503],
      backoff: '10ms',
      budget: { percent: 12.5 },
      hedge: { delay: '50ms' },
    },
    sessionPersistence: { type: 'Header', sessionName: 'x-session', idleTimeout: '1h' },
  }),
  'everything for Services': about(
    {
      health: {
        eviction: { duration: '10s', consecutiveFailures: 3, maxEjectedPercent: 50 },
        check: { path: '/healthz', interval: '5s', statuses: ['200-204'] },
      },
      connections: { maxConnections: 10, maxPendingRequests: 0, maxRequestsPerConnection: 100 },
      tcp: { connectTimeout: '1s', keepalives: { time: '1m', interval: '10s', retries: 3 } },
      http: { requestTimeout: '10s' },
      sessionAffinity: { source: 'request.headers["x-user"]', loadFactor: 1.5 },
      requestHeaderModifier: { set: { a: 'b' } },
      responseHeaderModifier: { remove: ['server'] },
      backendAuth: { passthrough: { location: { header: { name: 'authorization', prefix: 'Bearer ' } } } },
    },
    { ...service, sectionName: 'web' },
  ),
  'a rate limit service': about({
    remoteRateLimit: rateLimits({
      host: 'limits.default.svc:8081',
      policies: { http: { requestTimeout: '1s' } },
      failureMode: 'failOpen',
      descriptors: [
        {
          type: 'requests',
          entries: [{ key: 'user', value: 'jwt.sub' }],
          cost: 'request.method == "GET" ? 1 : 5',
          limitOverride: '{"unit": "minute", "requestsPerUnit": 100}',
        },
      ],
    }),
  }),
  guardrails: about(
    {
      mcpGuardrails: {
        processors: [
          {
            kind: 'remote',
            host: 'guard.default.svc:4444',
            policies: { http: { requestTimeout: '1s' } },
            metadata: { user: 'jwt.sub' },
            requestHeaders: { allowed: ['x-team'] },
            methods: { 'tools/call': 'full', 'resources/*': 'off' },
          },
          { kind: 'remote', host: 'https://guard.example.com', methods: { '*': 'request' } },
        ],
      },
    },
    mcpBackend,
  ),
  'a token that is exchanged': about({
    backendAuth: {
      oauthTokenExchange: {
        ...tokenServer,
        grantType: 'tokenExchange',
        subjectToken: { source: { header: { name: 'x-token' } }, tokenType: 'a' },
        audiences: ['a'],
        scopes: ['b'],
        additionalParams: { c: '"d"' },
        cache: { maxEntries: 10, defaultTtl: '1m' },
      },
    },
  }),
  'a token of the gateway': about({
    backendAuth: { clientCredentials: { ...tokenServer, host: 'idp.default.svc:8080' } },
  }),
  'access across apps': about({
    backendAuth: {
      crossAppAccess: {
        identityProvider: tokenServer,
        resourceAuthorizationServer: { ...tokenServer, host: 'https://b.example.com' },
        audience: 'https://b.example.com',
      },
    },
  }),
  'an McpBackend': about({ mcpAuthorization: { rules: [{ allow: 'mcp.tool.name == "a"' }] } }, mcpBackend),
  'a target of an McpBackend': about(
    { requestHeaderModifier: { set: { a: 'b' } } },
    { ...mcpBackend, sectionName: 'a' },
  ),
  'every kind of target': about(
    { cors: {} },
    gate,
    { ...gate, sectionName: 'http' },
    { group, kind: 'ListenerSet', name: 'a', sectionName: 'b' },
    { group, kind: 'HTTPRoute', name: 'a', sectionName: 'b' },
    { group, kind: 'GRPCRoute', name: 'a' },
  ),
};

interface Example {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: { readonly targetRefs: readonly { readonly kind: string }[] };
  readonly stringData?: Readonly<Record<string, string>>;
}

/** The controller's verdict on a policy whose targets all exist and are used. */
function verdictOf(spec: object, secrets: readonly Secret[] = []): string | undefined {
  const { objects, options } = readObjects(surroundings);
  const policy = { metadata: { name: 'one', namespace: 'default' }, spec };
  const { report, defects } = translate({ ...objects, secrets, gatewayPolicies: [policy] }, options);
  assert.deepEqual(defects, []);
  const { ancestors = [] } = (report.find(({ kind }) => kind === 'GatewayPolicy')?.status ?? {}) as {
    readonly ancestors?: readonly {
      readonly ancestorRef: { readonly kind: string };
      readonly conditions: readonly { readonly reason: string; readonly message: string }[];
    }[];
  };
  return ancestors
    .flatMap(({ conditions }) => conditions)
    .filter(({ reason }) => reason !== 'Accepted')
    .map(({ reason, message }) => `${reason}: ${message}`)[0];
}

const surroundings = `
kind: GatewayClass
metadata: { name: portcullis }
spec: { controllerName: portcullis.dev/gateway }
---
kind: Gateway
metadata: { name: gate }
spec:
  gatewayClassName: portcullis
  allowedListeners: { namespaces: { from: All } }
  listeners: [{ name: http, port: 80, protocol: HTTP }]
---
kind: ListenerSet
metadata: { name: a }
spec: { parentRef: { name: gate }, listeners: [{ name: b, port: 81, protocol: HTTP }] }
---
kind: Service
metadata: { name: app }
spec: { ports: [{ name: web, port: 80 }] }
---
kind: McpBackend
metadata: { name: tools }
spec: { targets: [{ name: a, service: { name: app, port: 80 } }] }
---
kind: ConfigMap
metadata: { name: keys }
data: { jwks.json: '{"keys":[]}' }
---
kind: HTTPRoute
metadata: { name: a }
spec:
  parentRefs: [{ name: gate }]
  rules:
    - { name: b, backendRefs: [{ name: app, port: 80 }] }
    - { matches: [{ path: { value: /mcp } }], backendRefs: [{ group: portcullis.dev, kind: McpBackend, name: tools }] }
---
kind: GRPCRoute
metadata: { name: a }
spec: { parentRefs: [{ name: gate }], hostnames: [grpc.example.com], rules: [{ backendRefs: [{ name: app, port: 80 }] }] }
`;

describe('the schema of GatewayPolicy', needsCluster, () => {
  const stage = clusterForSuite();

  before(async () => {
    await stage.cluster.apply(crd);
    await stage.cluster.kubectl(['wait', '--for=condition=established', 'crd', '--all', '--timeout=60s']);
  });

  const manifest = (spec: object): string =>
    JSON.stringify({
      apiVersion: 'portcullis.dev/v1alpha1',
      kind: 'GatewayPolicy',
      metadata: { name: 'one', namespace: 'default' },
      spec,
    });

  const refuses = async (spec: object): Promise<void> =>
    await assert.rejects(
      stage.cluster.apply(manifest(spec)),
      /is invalid|failed to create typed patch object/,
    );

  test('the examples of the documents and the samples are taken, by both', async () => {
    const pages = ['gateway-policy.md', 'policies/oidc.md'].map((name) =>
      readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8'),
    );
    const samples = readFileSync(new URL('../../deploy/samples/policies.yaml', import.meta.url), 'utf8');
    const examples = pages
      .flatMap(fencesOf)
      .filter(({ language, text }) => language === 'yaml' && /^kind:/m.test(text));
    const documents = [...examples.map(({ text }) => text), samples]
      .flatMap((text) => parseAllDocuments(text))
      .map((one) => ('toJS' in one ? (one.toJS() as Example) : assert.fail('a document')));
    const policies = documents.filter(({ kind }) => kind === 'GatewayPolicy');
    assert.ok(policies.length >= 4);
    for (const namespace of ['shop', 'httpbin', 'portcullis-system'])
      await stage.cluster.kubectl(['create', 'namespace', namespace]);
    await stage.cluster.apply(policies.map((one) => JSON.stringify(one)).join('\n---\n'));
    const secrets = documents
      .filter(({ kind }) => kind === 'Secret')
      .map(({ metadata, stringData = {} }) => ({
        metadata: { ...metadata, namespace: 'default' },
        data: Object.fromEntries(
          Object.entries(stringData).map(([name, text]) => [name, Buffer.from(text).toString('base64')]),
        ),
      }));
    for (const { spec, metadata } of policies)
      // For something that is there: which target it is for makes no difference to what it says.
      assert.equal(
        verdictOf(
          {
            ...spec,
            targetRefs: spec.targetRefs.some(({ kind }) => kind === 'Service') ? [service] : [gate],
          },
          secrets,
        ),
        undefined,
        metadata.name,
      );
  });

  for (const [what, spec] of Object.entries(wrong))
    test(`${what} is refused, by the server and by the controller`, async () => {
      await refuses(spec);
      assert.match(verdictOf(spec) ?? '', /^(Invalid|TargetNotFound): /);
    });

  for (const [what, spec] of Object.entries(wrongForServer))
    test(`${what} is refused by the server`, async () => {
      await refuses(spec);
    });

  for (const [what, spec] of Object.entries(right))
    test(`${what} is taken as it is, by both`, async () => {
      await stage.cluster.apply(manifest(spec));
      const text = await stage.cluster.kubectl(['get', 'gatewaypolicy', 'one', '-o', 'json']);
      const stored = (JSON.parse(text) as { readonly spec: object }).spec;
      assert.deepEqual(stored, spec);
      assert.equal(verdictOf(stored, [secretOfServer]), undefined);
      await stage.cluster.kubectl(['delete', 'gatewaypolicy', 'one']);
    });
});
