/** A sample of each policy, for tests that try every policy in every place. */
import type { policyNames } from './facts.ts';

export interface Probe {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The sign in an answer that the policy has acted. */
  readonly sign: (answer: Response) => unknown;
  readonly expected: unknown;
}

/** Settings of a policy, and how a client notices that it is enforced. */
export interface Sample {
  readonly settings: unknown;
  /** The same in a GatewayPolicy, where that has another form. */
  readonly onCluster?: unknown;
  /** Needed where the policy may stand on a listener. */
  readonly probe?: Probe;
}

const statusIs = (expected: number): Probe => ({ sign: ({ status }) => status, expected });
const keys = JSON.stringify({
  keys: [
    {
      kty: 'OKP',
      crv: 'Ed25519',
      kid: 'k',
      alg: 'EdDSA',
      x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
    },
  ],
});
const user = 'bob:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=';
const token = { issuer: 'https://issuer.test', audiences: ['a'], mode: 'strict', jwks: { inline: keys } };

const login = {
  issuer: 'https://issuer.test',
  authorizationEndpoint: 'https://issuer.test/authorize',
  tokenEndpoint: 'https://issuer.test/token',
  jwks: { inline: keys },
  clientId: 'gateway',
  clientSecret: 'gateway-secret',
  redirectURI: 'https://app.test/oauth/callback',
};

/** Policy name → settings that tests write where the policy may stand, and where it may not. */
export const samples: Readonly<Record<keyof typeof policyNames, Sample>> = {
  timeout: { settings: { requestTimeout: '9s' } },
  cors: {
    settings: { allowOrigins: ['https://app.test'] },
    probe: {
      headers: { origin: 'https://app.test' },
      sign: ({ headers }) => headers.get('access-control-allow-origin'),
      expected: 'https://app.test',
    },
  },
  csrf: {
    settings: {},
    probe: { method: 'POST', headers: { origin: 'https://evil.test' }, ...statusIs(403) },
  },
  oidc: {
    settings: login,
    onCluster: { ...login, clientSecret: { secret: 'client' } },
    probe: statusIs(401),
  },
  jwtAuth: { settings: token, probe: statusIs(401) },
  mcpAuthentication: { settings: token },
  basicAuth: {
    settings: { mode: 'strict', htpasswd: user },
    onCluster: { htpasswd: { inline: user } },
    probe: statusIs(401),
  },
  apiKey: {
    settings: { mode: 'strict', keys: [{ key: 'a-long-enough-key' }] },
    onCluster: { keys: [{ keyHash: `sha256:${'ab'.repeat(32)}` }] },
    probe: statusIs(401),
  },
  extAuthz: {
    settings: { host: '127.0.0.1:9' },
    onCluster: { host: 'https://authz.example.com' },
    probe: statusIs(403),
  },
  authorization: { settings: { rules: [{ deny: 'true' }] }, probe: statusIs(403) },
  mcpAuthorization: { settings: { rules: [{ deny: 'true' }] } },
  mcpGuardrails: {
    settings: { processors: [{ kind: 'remote', host: '127.0.0.1:9', methods: { '*': 'full' } }] },
    onCluster: {
      processors: [{ kind: 'remote', host: 'https://guard.example.com', methods: { '*': 'full' } }],
    },
  },
  mcpBudgets: { settings: [{ maxConcurrentCalls: 2 }] },
  mcpTimeouts: { settings: [{ if: 'mcp.tool.name == "export"', timeout: '30m' }] },
  localRateLimit: { settings: [{ maxTokens: 1, tokensPerFill: 1, fillInterval: '9s' }] },
  transformations: {
    settings: { response: { set: { 'x-transformed': 'request.method' } } },
    probe: { sign: ({ headers }) => headers.get('x-transformed'), expected: 'GET' },
  },
  remoteRateLimit: {
    settings: {
      host: '127.0.0.1:9',
      domain: 'tests',
      descriptors: [{ entries: [{ key: 'path', value: 'request.path' }] }],
    },
    onCluster: {
      host: 'https://limits.example.com',
      domain: 'tests',
      descriptors: [{ entries: [{ key: 'path', value: 'request.path' }] }],
    },
  },
  requestHeaderModifier: { settings: { set: { 'x-a': '1' } } },
  responseHeaderModifier: { settings: { set: { 'x-a': '1' } } },
  delay: { settings: { duration: '1ms' } },
  abort: { settings: { status: 418 } },
  requestRedirect: { settings: { path: { full: '/there' } } },
  urlRewrite: { settings: { path: { full: '/there' } } },
  directResponse: { settings: { status: 200 } },
  backendAuth: { settings: { key: 'k' }, onCluster: { key: { secret: 'key' } } },
  buffer: { settings: { request: { maxBytes: 9 } } },
  requestMirror: { settings: { backend: { host: '127.0.0.1:9' }, percentage: 1 } },
  retry: { settings: { codes: [503] } },
  sessionPersistence: { settings: {} },
  sessionAffinity: { settings: { source: 'request.path' } },
};
