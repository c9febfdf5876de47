import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { afterEach, test } from 'node:test';
import { z } from 'zod';
import { redactDump } from '../admin/redactDump.ts';
import { authority } from '../proxy/certificates.testing.ts';
import { eachMark } from '../schema/index.ts';
import { forgetSecrets, isSecretName, redactText, rememberSecrets } from '../telemetry/index.ts';
import { loadText, type LoadResult } from './load.ts';
import { maskedFields } from './masked.ts';
import { renderProblem } from './problem.ts';
import { documentSchema } from './schema/document.ts';
import type { Environment } from './variables.ts';

afterEach(forgetSecrets);

const load = (document: unknown, env: Environment): LoadResult =>
  // JSON is YAML.
  loadText(JSON.stringify(document), { file: 'c.yaml', env });

function loaded(document: unknown, env: Environment): Extract<LoadResult, { ok: true }> {
  const result = load(document, env);
  assert.ok(result.ok, result.ok ? '' : result.problems.map(renderProblem).join('\n'));
  return result;
}

const route = (content: object): object => ({ binds: [{ port: 0, listeners: [{ routes: [content] }] }] });
const policy = (name: string, settings: object): object =>
  route({ policies: { [name]: settings }, backends: [{ host: 'app:1' }] });
const stdio = (settings: object): object =>
  route({ backends: [{ mcp: { targets: [{ name: 'a', stdio: { cmd: 'run', ...settings } }] } }] });
const remote = (settings: object, field = 'mcp'): object =>
  route({ backends: [{ mcp: { targets: [{ name: 'a', [field]: settings }] } }] });
const api = (settings: object): object => {
  const openapi = { schema: { url: 'https://api.example.com/openapi.json' }, ...settings };
  return route({ backends: [{ mcp: { targets: [{ name: 'a', openapi }] } }] });
};
const jwt = (jwks: unknown): object => policy('jwtAuth', { issuer: 'i', audiences: [], jwks });
const login = (settings: object): object =>
  policy('oidc', {
    issuer: 'https://i.test',
    clientId: 'c',
    clientSecret: 's',
    redirectURI: 'https://a.test/callback',
    ...settings,
  });
const match = (condition: object): object => route({ matches: [condition], backends: [{ host: 'app:1' }] });
const rule = (name: string, written: unknown): object => policy(name, { rules: [written] });

const frontendTracing = (settings: object): object => ({
  frontendPolicies: { tracing: { host: '127.0.0.1:4317', ...settings } },
});
const logExport = (settings: object): object => ({
  config: { logging: { otlp: { otlpEndpoint: 'http://127.0.0.1:4317', ...settings } } },
});
const tracing = (settings: object): object => ({
  config: { tracing: { otlpEndpoint: 'http://127.0.0.1:4317', ...settings } },
});

interface Sample {
  /** A document with `$SECRET` in that field. */
  readonly document: object;
  /** A value for fields where only some texts are possible. */
  readonly value?: string;
  /** Dumps show it: an operator needs it, and the secret in it is replaced by its value. */
  readonly shown?: true;
}

const usual = 'swordfish-1';
const hash = '{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=';
/** Settings of remoteRateLimit. */
const descriptor = (settings: object): object => ({
  host: 'limits:1',
  domain: 'd',
  descriptors: [{ entries: [{ key: 'a', value: 'request.path' }], ...settings }],
});
const quoted = '"$SECRET" == request.path';
const pem = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
  type: 'pkcs8',
  format: 'pem',
}) as string;
const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey.export({
  type: 'pkcs8',
  format: 'pem',
}) as string;
const googleAccount = JSON.stringify({ type: 'service_account', client_email: 'a@b', private_key: rsa });
const discovery = '{"issuer":"https://i.test"}';
const keySet = '{"keys":[{"kty":"oct","k":"c3dvcmRmaXNo"}]}';

/** The end of the path of each marked field → a document that has a secret there. */
const samples: Readonly<Record<string, Sample>> = {
  'config.session.key': { document: { config: { session: { key: '$SECRET' } } }, value: 'ab'.repeat(32) },
  'config.audit.sink.http.token': {
    document: { config: { audit: { sink: { http: { url: 'https://a.test', token: '$SECRET' } } } } },
  },
  'config.store.redis.password': {
    document: { config: { store: { redis: { host: 'redis', password: '$SECRET' } } } },
  },
  'headers.*.value.exact': {
    document: match({ headers: [{ name: 'x-a', value: { exact: '$SECRET' } }] }),
    shown: true,
  },
  'headers.*.value.regex': {
    document: match({ headers: [{ name: 'x-a', value: { regex: '$SECRET' } }] }),
    shown: true,
  },
  'query.*.value.exact': {
    document: match({ query: [{ name: 'a', value: { exact: '$SECRET' } }] }),
    shown: true,
  },
  'query.*.value.regex': {
    document: match({ query: [{ name: 'a', value: { regex: '$SECRET' } }] }),
    shown: true,
  },
  jwks: { document: jwt('$SECRET'), value: keySet, shown: true },
  'jwks.inline': { document: jwt({ inline: '$SECRET' }), value: keySet, shown: true },
  'jwks.url': { document: jwt({ url: 'https://idp/keys?key=$SECRET' }), shown: true },
  htpasswd: { document: policy('basicAuth', { htpasswd: 'alice:$SECRET' }), value: hash },
  'jwtAuth.location.expression': {
    document: policy('jwtAuth', { issuer: 'i', jwks: keySet, location: { expression: '"$SECRET"' } }),
    shown: true,
  },
  'authorizationLocation.expression': {
    document: policy('mcpAuthentication', {
      issuer: 'https://i.test',
      audiences: [],
      authorizationLocation: { expression: '"$SECRET"' },
    }),
    shown: true,
  },
  'mcpAuthentication.clientSecret': {
    document: policy('mcpAuthentication', {
      issuer: 'https://i.test',
      audiences: [],
      clientId: 'c',
      clientSecret: '$SECRET',
    }),
  },
  'oidc.clientSecret': { document: login({ clientSecret: '$SECRET' }) },
  discovery: { document: login({ discovery: '$SECRET' }), value: discovery, shown: true },
  'discovery.inline': {
    document: login({ discovery: { inline: '$SECRET' } }),
    value: discovery,
    shown: true,
  },
  'discovery.url': { document: login({ discovery: { url: 'https://idp/d?key=$SECRET' } }), shown: true },
  'keys.*.metadata': {
    document: policy('apiKey', { keys: [{ key: 'k'.repeat(16), metadata: { note: '$SECRET' } }] }),
  },
  'keys.*.key': { document: policy('apiKey', { keys: [{ key: '$SECRET' }] }) },
  'keys.*.keyHash': {
    document: policy('apiKey', { keys: [{ keyHash: '$SECRET' }] }),
    value: `sha256:${'ab'.repeat(32)}`,
  },
  'backendAuth.key': { document: policy('backendAuth', { key: '$SECRET' }) },
  'backendAuth.key.value': { document: policy('backendAuth', { key: { value: '$SECRET' } }) },
  'credentials.*.key': {
    document: policy('backendAuth', {
      credentials: [{ key: '$SECRET', location: { header: { name: 'x-a' } } }],
    }),
  },
  'tracing.headers.*': { document: tracing({ headers: { 'x-key': '$SECRET' } }) },
  'tracing.fields.add.*': { document: tracing({ fields: { add: { a: '"$SECRET"' } } }), shown: true },
  'tracing.attributes.*': { document: frontendTracing({ attributes: { a: '"$SECRET"' } }), shown: true },
  'tracing.resources.*': { document: frontendTracing({ resources: { a: '"$SECRET"' } }), shown: true },
  'tracing.filter': { document: frontendTracing({ filter: quoted }), shown: true },
  'otlp.headers.*': { document: logExport({ headers: { 'x-key': '$SECRET' } }) },
  'otlp.filter': { document: logExport({ filter: quoted }), shown: true },
  'otlp.fields.add.*': { document: logExport({ fields: { add: { a: '"$SECRET"' } } }), shown: true },
  'tracing.randomSampling': { document: tracing({ randomSampling: quoted }), shown: true },
  'tracing.clientSampling': { document: tracing({ clientSampling: quoted }), shown: true },
  'logging.filter': { document: { config: { logging: { filter: quoted } } }, shown: true },
  'logging.fields.add.*': {
    document: { config: { logging: { fields: { add: { a: '"$SECRET"' } } } } },
    shown: true,
  },
  'accessLog.filter': { document: { frontendPolicies: { accessLog: { filter: quoted } } }, shown: true },
  'accessLog.add.*': {
    document: { frontendPolicies: { accessLog: { add: { a: '"$SECRET"' } } } },
    shown: true,
  },
  'logging.add.*': {
    document: { frontendPolicies: { logging: { add: { a: '"$SECRET"' } } } },
    shown: true,
  },
  'location.expression': {
    document: policy('jwtAuth', {
      issuer: 'i',
      audiences: [],
      jwks: keySet,
      location: { expression: '"$SECRET"' },
    }),
    shown: true,
  },
  'jwtSign.signingKey': {
    document: policy('backendAuth', { jwtSign: { signingKey: '$SECRET', alg: 'ES256' } }),
    value: pem,
  },
  'clientAuth.clientSecret': {
    document: policy('backendAuth', {
      clientCredentials: { host: 'idp:1', clientAuth: { clientId: 'a', clientSecret: '$SECRET' } },
    }),
  },
  'clientAuth.signingKey': {
    document: policy('backendAuth', {
      clientCredentials: {
        host: 'idp:1',
        clientAuth: { method: 'privateKeyJwt', clientId: 'a', signingKey: '$SECRET', alg: 'ES256' },
      },
    }),
    value: pem,
  },
  'clientAuth.certificate': {
    document: policy('backendAuth', {
      clientCredentials: {
        host: 'idp:1',
        clientAuth: {
          method: 'privateKeyJwt',
          clientId: 'a',
          signingKey: { file: '/key' },
          certificate: '$SECRET',
          certificateHeader: 'x5c',
        },
      },
    }),
    value: authority().cert,
  },
  'gcp.credential': {
    document: policy('backendAuth', { gcp: { credential: '$SECRET' } }),
    value: googleAccount,
  },
  'aws.accessKeyId': {
    document: policy('backendAuth', { aws: { accessKeyId: '$SECRET', secretAccessKey: 'a-secret' } }),
  },
  'aws.secretAccessKey': {
    document: policy('backendAuth', { aws: { accessKeyId: 'an-id', secretAccessKey: '$SECRET' } }),
  },
  'aws.sessionToken': {
    document: policy('backendAuth', {
      aws: { accessKeyId: 'an-id', secretAccessKey: 'a-secret', sessionToken: '$SECRET' },
    }),
  },
  'aws.assumeRole.sessionName.expression': {
    document: policy('backendAuth', {
      aws: {
        assumeRole: {
          roleArn: 'arn:aws:iam::123456789012:role/a',
          sessionName: { expression: '"$SECRET"' },
        },
      },
    }),
    shown: true,
  },
  'aws.assumeRole.tags.*.expression': {
    document: policy('backendAuth', {
      aws: {
        assumeRole: {
          roleArn: 'arn:aws:iam::123456789012:role/a',
          tags: [{ key: 'a', expression: '"$SECRET"' }],
        },
      },
    }),
    shown: true,
  },
  'azure.explicitConfig.clientSecret.client_secret': {
    document: policy('backendAuth', {
      azure: {
        explicitConfig: { clientSecret: { tenant_id: 't', client_id: 'c', client_secret: '$SECRET' } },
      },
    }),
  },
  'source.expression': {
    document: policy('backendAuth', {
      oauthTokenExchange: {
        host: 'idp:1',
        subjectToken: { source: { expression: '"$SECRET"' } },
      },
    }),
    shown: true,
  },
  'processors.*.metadata.*': {
    document: policy('mcpGuardrails', {
      processors: [{ kind: 'remote', host: 'p:1', methods: { '*': 'full' }, metadata: { a: '"$SECRET"' } }],
    }),
    shown: true,
  },
  'extAuthz.cache.key.*': {
    document: policy('extAuthz', { host: 'a:1', cache: { key: ['"$SECRET"'], ttl: '1m' } }),
    shown: true,
  },
  'extAuthz.protocol.grpc.context.*': {
    document: policy('extAuthz', { host: 'a:1', protocol: { grpc: { context: { key: '$SECRET' } } } }),
  },
  ...Object.fromEntries(
    Object.entries({
      'grpc.metadata.*': { grpc: { metadata: { a: '{"b": "$SECRET"}' } } },
      'http.path': { http: { path: '"/$SECRET"' } },
      'http.redirect': { http: { redirect: '"/$SECRET"' } },
      'http.body': { http: { body: '"$SECRET"' } },
      'http.addRequestHeaders.*': { http: { addRequestHeaders: { a: '"$SECRET"' } } },
      'http.metadata.*': { http: { metadata: { a: '"$SECRET"' } } },
    }).map(([field, protocol]) => [
      `extAuthz.protocol.${field}`,
      { document: policy('extAuthz', { host: 'a:1', protocol }), shown: true },
    ]),
  ),
  'additionalParams.*': {
    document: policy('backendAuth', {
      oauthTokenExchange: { host: 'idp:1', additionalParams: { a: '"$SECRET"' } },
    }),
    shown: true,
  },
  'transformations.request.add.*': {
    document: policy('transformations', { request: { add: { a: '"$SECRET"' } } }),
    shown: true,
  },
  'transformations.request.set.*': {
    document: policy('transformations', { request: { set: { a: '"$SECRET"' } } }),
    shown: true,
  },
  'transformations.response.add.*': {
    document: policy('transformations', { response: { add: { a: '"$SECRET"' } } }),
    shown: true,
  },
  'transformations.response.set.*': {
    document: policy('transformations', { response: { set: { a: '"$SECRET"' } } }),
    shown: true,
  },
  'requestHeaderModifier.add.*': { document: policy('requestHeaderModifier', { add: { a: '$SECRET' } }) },
  'requestHeaderModifier.set.*': { document: policy('requestHeaderModifier', { set: { a: '$SECRET' } }) },
  'responseHeaderModifier.add.*': { document: policy('responseHeaderModifier', { add: { a: '$SECRET' } }) },
  'responseHeaderModifier.set.*': { document: policy('responseHeaderModifier', { set: { a: '$SECRET' } }) },
  'directResponse.body': { document: policy('directResponse', { status: 200, body: '$SECRET' }) },
  'directResponse.bodyExpression': {
    document: policy('directResponse', { status: 200, bodyExpression: '"$SECRET"' }),
  },
  'directResponse.headers.*': {
    document: policy('directResponse', { status: 200, headers: { 'x-a': '"$SECRET"' } }),
  },
  'rules.*': { document: rule('authorization', quoted), shown: true },
  'rules.*.if': { document: rule('authorization', { if: quoted }), shown: true },
  'rules.*.allow': { document: rule('authorization', { allow: quoted }), shown: true },
  'rules.*.deny': { document: rule('authorization', { deny: quoted }), shown: true },
  'rules.*.require': { document: rule('authorization', { require: quoted }), shown: true },
  'mcpBudgets.*.key': {
    document: policy('mcpBudgets', [{ maxConcurrentCalls: 1, key: '"$SECRET"' }] as object),
    shown: true,
  },
  'mcpTimeouts.*.if': {
    document: policy('mcpTimeouts', [{ timeout: '1s', if: quoted }] as object),
    shown: true,
  },
  'localRateLimit.*.key': {
    document: policy('localRateLimit', [
      { maxTokens: 1, tokensPerFill: 1, fillInterval: '1s', key: '"$SECRET"' },
    ] as object),
    shown: true,
  },
  'descriptors.*.entries.*.value': {
    document: policy('remoteRateLimit', descriptor({ entries: [{ key: 'a', value: '"$SECRET"' }] })),
    shown: true,
  },
  'descriptors.*.cost': {
    document: policy('remoteRateLimit', descriptor({ cost: 'size("$SECRET")' })),
    shown: true,
  },
  'descriptors.*.limitOverride': {
    document: policy('remoteRateLimit', descriptor({ limitOverride: '{"unit": "$SECRET"}' })),
    shown: true,
  },
  'retry.precondition': {
    document: policy('retry', { codes: [503], precondition: quoted }),
    shown: true,
  },
  'retry.condition': {
    document: policy('retry', { codes: [503], condition: quoted }),
    shown: true,
  },
  'stdio.args.*': { document: stdio({ args: ['--quiet', '$SECRET'] }) },
  'stdio.env.*': { document: stdio({ env: { A: '$SECRET' } }) },
  'mcp.host': { document: remote({ host: 'https://mcp.example.com/mcp?key=$SECRET' }), shown: true },
  'mcp.path': {
    document: remote({ host: 'mcp.example.com', port: 1, path: '/mcp?key=$SECRET' }),
    shown: true,
  },
  'sse.host': { document: remote({ host: 'https://mcp.example.com/sse?key=$SECRET' }, 'sse'), shown: true },
  'sse.path': {
    document: remote({ host: 'mcp.example.com', port: 1, path: '/sse?key=$SECRET' }, 'sse'),
    shown: true,
  },
  'openapi.host': { document: api({ host: 'https://api.example.com/?key=$SECRET' }), shown: true },
  'openapi.path': { document: api({ host: 'api.example.com', port: 1, path: '/?key=$SECRET' }), shown: true },
  'openapi.schema.url': {
    document: api({ host: 'https://api.example.com', schema: { url: 'https://a/?key=$SECRET' } }),
    shown: true,
  },
  'sessionAffinity.source': {
    document: route({
      backends: [{ host: 'app:1', policies: { sessionAffinity: { source: '"$SECRET"' } } }],
    }),
    shown: true,
  },
};

const markedPaths = (): string[] => {
  const paths: string[] = [];
  eachMark(documentSchema, (path) => paths.push(path.join('.')));
  return paths;
};

test('every field that is marked as a secret has a sample here, and every sample a field', () => {
  const suffixes = Object.keys(samples);
  const paths = markedPaths();
  const endsWith = (path: string, suffix: string): boolean => `.${path}`.endsWith(`.${suffix}`);
  assert.deepEqual(
    paths.filter((path) => !suffixes.some((suffix) => endsWith(path, suffix))),
    [],
  );
  assert.deepEqual(
    suffixes.filter((suffix) => !paths.some((path) => endsWith(path, suffix))),
    [],
  );
});

for (const [field, { document, value = usual, shown }] of Object.entries(samples))
  test(`a variable in ${field} is withheld from children, and dumps do not show its value`, () => {
    const env = { SECRET: value, OTHER: 'not used' };
    const { model, secrets } = loaded(document, env);
    assert.deepEqual(secrets.variables, ['SECRET']);
    assert.ok(secrets.values.includes(value));
    const digits = value.replace('sha256:', '');
    // By the place alone, where the field is masked: a short value would not be known by itself.
    if (shown !== true) assert.ok(!JSON.stringify(redactDump(model, maskedFields)).includes(digits));
    rememberSecrets(secrets.values);
    const dump = JSON.stringify(redactDump(model, maskedFields));
    // Quotes of a key set are escaped in there.
    for (const part of [digits, 'c3dvcmRmaXNo', 'swordfish']) assert.ok(!dump.includes(part), dump);
    assert.ok(!redactText(`failed: ${value}`).includes(value));
  });

test('fields whose name sounds like a secret are marked', () => {
  const marked = new Set(markedPaths());
  const root = z.toJSONSchema(documentSchema, { io: 'input', unrepresentable: 'any' });
  const seen: string[] = [];
  const look = (written: unknown, path: readonly string[], above: ReadonlySet<unknown>): void => {
    if (typeof written !== 'object' || written === null || above.has(written)) return;
    const within = new Set([...above, written]);
    const { $ref, properties, items, additionalProperties, anyOf, not } = written as Record<string, unknown>;
    // `not` stands at fields that are refused by name.
    if (not !== undefined) return;
    if (typeof $ref === 'string') look(root.$defs?.[$ref.replace('#/$defs/', '')], path, within);
    const parts = [properties, items, additionalProperties, anyOf, $ref];
    const isLeaf = parts.every((part) => part === undefined);
    if (isLeaf && isSecretName(path.at(-1) ?? '')) seen.push(path.join('.'));
    for (const [key, member] of Object.entries(properties ?? {})) look(member, [...path, key], within);
    for (const member of [items, additionalProperties]) look(member, [...path, '*'], within);
    for (const member of (anyOf ?? []) as unknown[]) look(member, path, within);
  };
  look(root, [], new Set());
  assert.ok(seen.some((path) => path.endsWith('basicAuth.htpasswd')));
  assert.deepEqual(
    seen.filter((path) => !marked.has(path)),
    [],
  );
});

test('an address of plain words is no secret, and one that may hold a key is', () => {
  const valuesFor = (address: string): readonly string[] =>
    loaded(jwt({ url: '${ADDRESS}/keys' }), { ADDRESS: address }).secrets.values;
  for (const plain of [
    'http://localhost:9000/oauth2/default',
    'https://login.example.com',
    'https://a/realms/customers-of-ours',
  ])
    assert.deepEqual(valuesFor(plain), [], plain);
  for (const secret of ['https://a/8f14e45fceea167a5a36', 'https://a/b?key=c'])
    assert.equal(valuesFor(secret).length, 1, secret);
});

test('the path of a file that holds a secret is no secret', () => {
  const { secrets } = loaded(policy('basicAuth', { htpasswd: { file: '/etc/portcullis/users' } }), {});
  assert.deepEqual(secrets.values, []);
});

test('a secret that stands in the file in clear is known by its value as well', () => {
  const { secrets } = loaded(policy('backendAuth', { key: usual }), {});
  assert.deepEqual(secrets, { variables: [], values: [usual] });
  const ordinary = loaded(policy('requestHeaderModifier', { set: { 'x-stage': 'production' } }), {});
  assert.deepEqual(ordinary.secrets, { variables: [], values: [] });
});

test('variables that every program needs are never withheld', () => {
  const names = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TMPDIR', 'TZ', 'XDG_RUNTIME_DIR'];
  const env = Object.fromEntries(names.map((name) => [name, '/some/where']));
  const { secrets } = loaded(stdio({ args: names.map((name) => `$${name}`), env: { A: '$PATH' } }), env);
  assert.deepEqual(secrets, { variables: [], values: [] });
});

test('no problem and no warning quotes the value of a variable, whatever field it stands in', () => {
  const documents: readonly object[] = [
    route({ backends: [{ backend: '$SECRET' }] }),
    { routes: [{ gateways: '$SECRET', backends: [{ host: 'app:1' }] }] },
    rule('authorization', '"$SECRET" =='),
    rule('authorization', '$SECRET'),
    match({ path: { regex: '($SECRET' } }),
    { binds: [{ port: 0, listeners: [{ protocol: '$SECRET' }] }] },
    { backends: [{ name: 'a', host: 'a:1' }], ...route({ backends: [{ backend: '$SECRET' }] }) },
  ];
  for (const document of documents) {
    const result = load(document, { SECRET: 's3cr3t_fish' });
    assert.ok(!result.ok, JSON.stringify(document));
    const lines = result.problems.map(renderProblem).join('\n');
    assert.ok(!lines.includes('s3cr3t'), lines);
    assert.match(lines, /\$SECRET/);
  }
  const short = load(route({ backends: [{ backend: '$SECRET' }] }), { SECRET: 'abc' });
  assert.ok(!short.ok && !renderProblem(short.problems[0]!).includes('abc'));
});
