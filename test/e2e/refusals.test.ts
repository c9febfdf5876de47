/** Every refusal of a policy names the policy, and its rule where it has rules, in the access log. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { policyNames } from '../../src/policies/facts.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { inline } from './stage.testing.ts';

interface Refused {
  readonly settings: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
  readonly body?: string;
  /** Path below the route; each policy has a route of its own. */
  readonly path?: string;
  readonly requests?: number;
  readonly status: number;
  /** The rule in the log, and its place below the policy. */
  readonly rule?: string;
  readonly below?: string;
}

/** Policies that let every request pass, with the reason. */
type NeverRefuses = string;

const issuer = {
  issuer: 'https://issuer.test',
  audiences: ['api'],
  mode: 'strict',
  jwks: {
    inline: JSON.stringify({
      keys: [
        {
          kty: 'OKP',
          crv: 'Ed25519',
          kid: 'k1',
          alg: 'EdDSA',
          x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
        },
      ],
    }),
  },
};
const path = (name: string): string => `/refusals/${name}`;

/** A new policy does not compile without a row here. */
const table: Readonly<Record<keyof typeof policyNames, Refused | NeverRefuses>> = {
  timeout: { settings: { requestTimeout: '100ms' }, path: '/slow', status: 504, below: '.requestTimeout' },
  cors: {
    settings: { allowOrigins: ['https://app.test'] },
    method: 'OPTIONS',
    headers: { origin: 'https://evil.test', 'access-control-request-method': 'GET' },
    status: 200,
  },
  csrf: { settings: {}, method: 'POST', headers: { origin: 'https://evil.test' }, status: 403 },
  oidc: {
    settings: {
      issuer: issuer.issuer,
      authorizationEndpoint: 'https://issuer.test/authorize',
      tokenEndpoint: 'https://issuer.test/token',
      jwks: issuer.jwks,
      clientId: 'gateway',
      clientSecret: 'gateway-secret',
      redirectURI: 'https://app.test/refusals/callback',
    },
    status: 401,
  },
  jwtAuth: { settings: issuer, headers: { authorization: 'Bearer rubbish' }, status: 401 },
  mcpAuthentication: { settings: issuer, status: 401 },
  basicAuth: { settings: { mode: 'strict', htpasswd: 'bob:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=' }, status: 401 },
  apiKey: {
    settings: { keys: [{ key: 'a-long-enough-key' }], mode: 'strict' },
    headers: { authorization: 'Bearer another-key' },
    status: 401,
  },
  extAuthz: { settings: { host: '127.0.0.1:9' }, status: 403 },
  authorization: {
    settings: { rules: ['request.path != ""', { deny: 'request.method == "GET"', name: 'no reads' }] },
    status: 403,
    rule: 'no reads',
    below: '.rules[1]',
  },
  mcpAuthorization: {
    settings: { rules: [{ require: 'jwt.sub == "ada"' }] },
    status: 403,
    rule: 'require: jwt.sub == "ada"',
    below: '.rules[0]',
  },
  mcpGuardrails: 'It refuses MCP messages, and no HTTP requests: mcpGuardrails.test.ts looks at the log.',
  mcpBudgets: 'It refuses MCP calls, and no HTTP requests: mcpBudgets.test.ts looks at the log.',
  mcpTimeouts: 'It limits MCP calls, and no HTTP requests: mcpTimeouts.test.ts sees the errors.',
  localRateLimit: {
    settings: [
      { maxTokens: 100, tokensPerFill: 1, fillInterval: '60s' },
      { maxTokens: 1, tokensPerFill: 1, fillInterval: '60s', key: 'source.address' },
    ],
    requests: 2,
    status: 429,
    rule: '1 at once, 1 every 1m, key source.address',
    below: '[1]',
  },
  transformations: { settings: { request: { set: { ':path': 'request.headers["x-none"]' } } }, status: 500 },
  remoteRateLimit: {
    // Nothing listens there.
    settings: {
      host: '127.0.0.1:1',
      domain: 'tests',
      descriptors: [{ entries: [{ key: 'path', value: 'request.path' }] }],
    },
    status: 500,
  },
  requestHeaderModifier: 'it changes headers only',
  responseHeaderModifier: 'it changes headers only',
  delay: { settings: { duration: 'request.headers["x-none"]' }, status: 500 },
  abort: { settings: { status: 418 }, status: 418 },
  requestRedirect: 'a redirect is no refusal',
  urlRewrite: 'the configuration is refused where a prefix cannot be replaced',
  directResponse: { settings: { status: 403, body: 'no' }, status: 403 },
  backendAuth: { settings: { key: { file: '/nowhere/key' } }, status: 500 },
  buffer: {
    settings: { request: { maxBytes: 4 } },
    method: 'POST',
    body: 'more than four bytes',
    status: 413,
    below: '.request.maxBytes',
  },
  requestMirror: 'the answer of a mirror is dropped',
  retry: 'the last answer of the backend goes to the client',
  sessionPersistence: 'a request without a session begins one',
  sessionAffinity: 'it chooses an address only',
};

const rows = Object.entries(table).flatMap(([name, row]) =>
  typeof row === 'string' ? [] : [[name, row] as const],
);

/** Rules that fail where a header is missing, or is no number. */
const failing = {
  absent: 'request.headers["x-key"] == "no"',
  number: 'int(request.headers["x-n"]) > 3',
};

/** Answers every request but those for slow pages. */
const app = createServer((request, response) => {
  if (request.url?.endsWith('/slow') === true) return;
  request.resume().on('end', () => response.end('served'));
});
let gateway: GatewayProcess;

before(async () => {
  app.listen(0, '127.0.0.1');
  await once(app, 'listening');
  const { port } = app.address() as AddressInfo;
  const routes = rows.map(
    ([name, { settings }]) => `
    - name: ${name}
      matches: [{ path: { pathPrefix: ${path(name)} } }]
      policies: ${inline({ [name]: settings })}
      backends: [{ host: '127.0.0.1:${port}' }]`,
  );
  routes.push(`
    - name: failing
      matches: [{ path: { pathPrefix: ${path('failing')} } }]
      policies:
        authorization:
          rules: [{ deny: '${failing.absent}' }, { deny: '${failing.number}' }]
      backends: [{ host: '127.0.0.1:${port}' }]`);
  gateway = await startGateway(`
config: { logging: { accessLog: json } }
binds:
- port: 0
  listeners:
  - routes:
${routes.join('')}
`);
});
after(async () => {
  await gateway?.stop();
  app.closeAllConnections();
  app.close();
});

test('an expression that fails is logged once with its place, and counted each time, without values', async () => {
  for (let nth = 0; nth < 3; nth++)
    await (
      await fetch(`${gateway.url}${path('mcpAuthorization')}`, { headers: { 'x-none': 'private' } })
    ).text();
  const index = rows.findIndex(([name]) => name === 'mcpAuthorization');
  const place = `binds[0].listeners[0].routes[${index}].policies.mcpAuthorization.rules[0]`;
  const lines = gateway
    .log()
    .split('\n')
    .filter((line) => line.includes('Expression failed') && line.includes(place));
  assert.equal(lines.length, 1, gateway.log());
  assert.match(lines[0] ?? '', /has no value here/);
  const count = await gateway.metric('portcullis_expression_errors_total', {
    policy: 'mcpAuthorization',
    place,
  });
  assert.ok(count !== undefined && count >= 1);
  assert.ok(!gateway.log().includes('private'));
});

test('a deny rule that fails says why, without values of the request', async () => {
  const ask = async (id: string, headers: Readonly<Record<string, string>>): Promise<unknown> => {
    const response = await fetch(`${gateway.url}${path('failing')}`, {
      headers: { ...headers, 'x-request-id': id },
    });
    assert.equal(response.status, 403, await response.text());
    return (await gateway.accessLine(id))['rule'];
  };
  assert.equal(
    await ask('fails-absent', {}),
    `deny: ${failing.absent} (the rule failed: field not found: x-key)`,
  );
  const given = { 'x-key': 'yes', 'x-n': 'hunter2-my-pass' };
  assert.equal(
    await ask('fails-number', given),
    `deny: ${failing.number} (the rule failed: the text is no int)`,
  );
  assert.doesNotMatch(gateway.log(), /hunter2/);
});

test('the table has every policy', () => {
  assert.deepEqual(Object.keys(table).toSorted(), Object.keys(policyNames).toSorted());
});

for (const [index, [name, row]] of rows.entries())
  test(`a refusal by ${name} names the policy and its place in the access log`, async () => {
    const { requests = 1, headers = {}, method = 'GET', body, path: below = '' } = row;
    let status = 0;
    for (let nth = 1; nth <= requests; nth++) {
      const response = await fetch(`${gateway.url}${path(name)}${below}`, {
        method,
        headers: { ...headers, 'x-request-id': `${name}-${nth}` },
        ...(body === undefined ? {} : { body }),
      });
      await response.text();
      status = response.status;
    }
    const line = await gateway.accessLine(`${name}-${requests}`);
    const place = `binds[0].listeners[0].routes[${index}].policies.${name}${row.below ?? ''}`;
    assert.deepEqual(
      { status, policy: line['policy'], rule: line['rule'], place: line['place'] },
      { status: row.status, policy: name, rule: row.rule, place },
    );
  });
