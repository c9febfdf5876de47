import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import type { GatewayPolicy, PolicyAncestorStatus, Secret } from '../types/index.ts';
import { translate, type KubeObjects, type Translation } from './index.ts';
import { readObjects } from './objects.testing.ts';
import { factsOf } from '../../policies/facts.ts';

const base = (gateways = ['gate']): string =>
  [
    'kind: GatewayClass\nmetadata: { name: portcullis }\nspec: { controllerName: portcullis.dev/gateway }',
    'kind: Service\nmetadata: { name: app }\nspec: { ports: [{ port: 80 }] }',
    ...gateways.map(
      (name) =>
        `kind: Gateway\nmetadata: { name: ${name} }\nspec: { gatewayClassName: portcullis, listeners: [{ name: web, port: 80, protocol: HTTP }] }`,
    ),
    `kind: HTTPRoute\nmetadata: { name: app }\nspec: { parentRefs: [${gateways.map((name) => `{ name: ${name} }`).join()}], rules: [{ backendRefs: [{ name: app, port: 80 }] }] }`,
  ].join('\n---\n');

const policy = (spec: unknown, status?: object): GatewayPolicy =>
  ({
    kind: 'GatewayPolicy',
    metadata: { name: 'one', namespace: 'default', generation: 1 },
    spec,
    ...(status === undefined ? {} : { status }),
  }) as unknown as GatewayPolicy;

const forRoute = [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'app' }];

const run = (objects: KubeObjects): Translation => translate(objects, readObjects(base()).options);

const ancestorsIn = ({ report }: Translation): readonly PolicyAncestorStatus[] =>
  (
    report.find(({ kind }) => kind === 'GatewayPolicy')?.status as {
      readonly ancestors: readonly PolicyAncestorStatus[];
    }
  ).ancestors;

/** The rule of the route as the first Gateway serves it. */
const ruleIn = ({ models }: Translation) => {
  const [gateway] = models.values();
  const [listener] = gateway?.model.binds[0]?.listeners ?? [];
  assert.ok(listener !== undefined && 'routes' in listener);
  const [rule] = listener.routes;
  assert.ok(rule);
  return rule;
};

test('a policy is read again only when its Secret has changed', () => {
  const { objects } = readObjects(base());
  const key = (text: string): Secret => ({
    metadata: { name: 'key', namespace: 'default' },
    data: { 'api-key': Buffer.from(text).toString('base64') },
  });
  const one = policy({ targetRefs: forRoute, policies: { apiKey: { keys: [{ secret: 'key' }] } } });
  const settings = (secrets: readonly Secret[]): unknown =>
    ruleIn(run({ ...objects, secrets, gatewayPolicies: [one] })).policies[0]?.settings;
  const first = key('the-first-of-the-keys');
  const before = settings([first]);
  assert.ok(before);
  assert.equal(settings([first]), before);
  assert.notDeepEqual(settings([key('the-second-of-the-keys')]), before);
  assert.equal(settings([]), undefined);
  assert.equal(settings([first]) === undefined, false);
});

test('a policy that breaks the translation closes its targets and is named', () => {
  const { objects } = readObjects(base());
  const trapped = Object.defineProperty({}, 'rules', {
    enumerable: true,
    get: () => {
      throw new Error('trapped');
    },
  });
  const translation = run({
    ...objects,
    gatewayPolicies: [policy({ targetRefs: forRoute, policies: { authorization: trapped } })],
  });
  assert.deepEqual(
    translation.defects.map(({ object }) => object),
    ['GatewayPolicy default/one'],
  );
  const { policies, backends } = ruleIn(translation);
  assert.deepEqual([policies, backends.map(({ kind }) => kind)], [[], ['invalid']]);
  assert.equal(ancestorsIn(translation)[0]?.conditions?.[0]?.reason, 'Invalid');
});

test('a status keeps the entries of other controllers and stays within the limit of the API', () => {
  const gateways = Array.from({ length: 20 }, (_, index) => `gate-${String(index).padStart(2, '0')}`);
  const { objects } = readObjects(base(gateways));
  const theirs: PolicyAncestorStatus = {
    ancestorRef: { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'theirs' },
    controllerName: 'example.com/other',
    conditions: [],
  };
  const stale = { ...theirs, controllerName: 'portcullis.dev/gateway' };
  const spec = { targetRefs: forRoute, policies: { timeout: { requestTimeout: '1s' } } };
  const found = ancestorsIn(
    run({ ...objects, gatewayPolicies: [policy(spec, { ancestors: [theirs, stale] })] }),
  );
  assert.equal(found.length, 16);
  assert.deepEqual(found[0], theirs);
  assert.deepEqual(
    found.slice(1).map(({ ancestorRef }) => ancestorRef.name),
    gateways.slice(0, 15),
  );
});

test('the secret of a client at the provider is the text of a Secret, without its last line break', () => {
  const { objects } = readObjects(base());
  const mcpAuthentication = {
    issuer: 'https://login.example.com',
    audiences: ['a'],
    provider: { entra: {} },
    clientId: 'gateway',
    clientSecret: { secret: 'login' },
  };
  const withSecret = (data: Readonly<Record<string, string>>): Translation =>
    run({
      ...objects,
      secrets: [{ metadata: { name: 'login', namespace: 'default' }, data }],
      gatewayPolicies: [policy({ targetRefs: forRoute, policies: { mcpAuthentication } })],
    });
  const text = Buffer.from('open-sesame\n').toString('base64');
  const [use] = ruleIn(withSecret({ 'client-secret': text })).policies;
  assert.equal((use?.settings as { readonly clientSecret?: string }).clientSecret, 'open-sesame');
  assert.equal(use?.guarded, true);
  const [ancestor] = ancestorsIn(withSecret({ other: text }));
  assert.match(
    ancestor?.conditions?.[0]?.message ?? '',
    /mcpAuthentication.clientSecret: .*it does not hold client-secret/,
  );
});

test('a status never contains data of a Secret', () => {
  const { objects } = readObjects(base());
  const secret = (name: string, entry: string, text: string): Secret => ({
    metadata: { name, namespace: 'default' },
    data: { [entry]: Buffer.from(text).toString('base64') },
  });
  const translation = run({
    ...objects,
    secrets: [secret('key', 'api-key', 'open\nsesame'), secret('users', '.htpasswd', 'alice:open-sesame')],
    gatewayPolicies: [
      policy({
        targetRefs: forRoute,
        policies: {
          backendAuth: { key: { secret: 'key' } },
          basicAuth: { htpasswd: { secret: 'users' } },
        },
      }),
    ],
  });
  const [ancestor] = ancestorsIn(translation);
  const message = ancestor?.conditions?.[0]?.message ?? '';
  assert.match(message, /backendAuth.*basicAuth/);
  assert.doesNotMatch(JSON.stringify([...translation.models, ...translation.report]), /sesame|alice/);
});

test('the keys of tokens come from servers with TLS or from Services, whatever names their issuer', () => {
  const { objects } = readObjects(base());
  const why = (policies: object): string => {
    const translation = run({ ...objects, gatewayPolicies: [policy({ targetRefs: forRoute, policies })] });
    return ancestorsIn(translation)[0]?.conditions?.[0]?.message ?? '';
  };
  const audiences = ['a'];
  for (const [issuer, jwks] of [
    ['http://idp.example.com', undefined],
    ['https://idp.example.com', { url: 'http://idp.example.com/keys' }],
  ] as const) {
    const one = { issuer, audiences, ...(jwks === undefined ? {} : { jwks }) };
    const refused = /keys from http:\/\/idp\.example\.com\/.*: expected https:\/\//;
    for (const policies of [
      { jwtAuth: one },
      { jwtAuth: { providers: [one] } },
      { mcpAuthentication: one },
      {
        mcpAuthentication: {
          issuers: [{ ...one, issuer: 'https://other.example.com', jwks: undefined }, one],
        },
      },
    ])
      assert.match(why(policies), refused, JSON.stringify(policies));
  }
  for (const issuer of ['https://idp.example.com', 'http://idp.ns.svc.cluster.local:9000'])
    assert.equal(why({ mcpAuthentication: { issuer, audiences } }), '', issuer);
});

test('the author of a policy may not use the credentials of the machine that a proxy runs on', () => {
  const { objects } = readObjects(base());
  for (const kind of factsOf('backendAuth')?.notInCluster ?? []) {
    const policies = { backendAuth: { [kind]: { host: 'http://169.254.169.254' } } };
    const translation = run({ ...objects, gatewayPolicies: [policy({ targetRefs: forRoute, policies })] });
    const [ancestor] = ancestorsIn(translation);
    assert.match(
      ancestor?.conditions?.[0]?.message ?? '',
      new RegExp(`backendAuth\\.${kind}: is not for the cluster`),
    );
  }
});

test('the proxies ask for credentials at servers with TLS or at Services, with proofs from Secrets', () => {
  const { objects } = readObjects(base());
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const clientAuth = { clientId: 'gateway', clientSecret: { secret: 'partner' } };
  const data = {
    'client-secret': Buffer.from('open-sesame\n').toString('base64'),
    'tls.key': Buffer.from(pem).toString('base64'),
  };
  const translated = (backendAuth: object): Translation =>
    run({
      ...objects,
      secrets: [{ metadata: { name: 'partner', namespace: 'default' }, data }],
      gatewayPolicies: [policy({ targetRefs: forRoute, policies: { backendAuth } })],
    });
  const credentialOf = (backendAuth: object): Readonly<Record<string, unknown>> | undefined => {
    const [use] = ruleIn(translated(backendAuth)).policies;
    assert.equal(use?.guarded, true, JSON.stringify(backendAuth));
    return (use.settings as { credentials: readonly Readonly<Record<string, unknown>>[] }).credentials[0];
  };
  for (const host of [
    'https://idp.example.com',
    'idp.default.svc:8080',
    'idp.default.svc.cluster.local:80',
  ]) {
    const credential = credentialOf({ oauthTokenExchange: { host, clientAuth } });
    const { clientAuth: proof } = credential?.['endpoint'] as { readonly clientAuth: { secret: unknown } };
    assert.deepEqual(proof.secret, { kind: 'inline', text: 'open-sesame' });
  }
  const keyed = credentialOf({ jwtSign: { signingKey: { secret: 'partner' }, alg: 'ES256' } });
  assert.deepEqual(keyed?.['key'], { kind: 'inline', text: pem.trimEnd() });
  const server = { host: 'https://idp.example.com', clientAuth };
  for (const [backendAuth, message] of [
    [{ clientCredentials: { ...server, host: 'idp.example.com:80' } }, /clientCredentials\.host: expected/],
    [{ clientCredentials: { ...server, host: 'http://idp.example.com' } }, /clientCredentials\.host: /],
    [
      { clientCredentials: { ...server, host: 'idp.login.svc:8080' } },
      /clientCredentials\.host: a Service of another namespace needs https/,
    ],
    [
      { oauthTokenExchange: { ...server, policies: { backendTLS: { insecure: true } } } },
      /oauthTokenExchange\.policies\.backendTLS: is not for the cluster/,
    ],
    [
      { crossAppAccess: { audience: 'a', identityProvider: { backend: 'idp', clientAuth } } },
      /crossAppAccess\.identityProvider\.backend: is not for the cluster/,
    ],
    [
      { oauthTokenExchange: { ...server, clientAuth: { clientId: 'a', clientSecret: 'shown' } } },
      /clientAuth\.clientSecret: expected a map/,
    ],
    [{ jwtSign: { signingKey: { file: '/etc/key' } } }, /signingKey\.file: is not for the cluster/],
  ] as const) {
    const [ancestor] = ancestorsIn(translated(backendAuth));
    assert.match(ancestor?.conditions?.[0]?.message ?? '', message);
  }
});

test('the proxies ask a rate limit service with TLS or a Service of the namespace, at its host alone', () => {
  const { objects } = readObjects(base());
  const translated = (more: object): Translation => {
    const remoteRateLimit = {
      host: 'https://limits.example.com',
      domain: 'shop',
      descriptors: [{ entries: [{ key: 'user', value: 'jwt.sub' }] }],
      ...more,
    };
    return run({
      ...objects,
      gatewayPolicies: [policy({ targetRefs: forRoute, policies: { remoteRateLimit } })],
    });
  };
  for (const host of ['https://limits.example.com', 'limits.default.svc:8081']) {
    const [use] = ruleIn(translated({ host })).policies;
    assert.deepEqual([use?.name, use?.guarded], ['remoteRateLimit', true]);
  }
  for (const [more, message] of [
    [{ host: 'limits.example.com:8081' }, /remoteRateLimit\.host: expected https/],
    [{ host: '127.0.0.1:8081' }, /remoteRateLimit\.host: expected https/],
    [{ host: 'limits.other.svc:8081' }, /remoteRateLimit\.host: a Service of another namespace needs https/],
    [{ backend: 'limits' }, /remoteRateLimit\.backend: is not for the cluster/],
    [{ policies: { backendTLS: {} } }, /remoteRateLimit\.policies\.backendTLS: is not for the cluster/],
  ] as const) {
    const [ancestor] = ancestorsIn(translated(more));
    assert.match(ancestor?.conditions?.[0]?.message ?? '', message);
  }
});

test('timeouts of 0s in a rule replace the timeout that the rule inherits', () => {
  const targetRefs = [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'gate' }];
  const inherited = policy({ targetRefs, policies: { timeout: { requestTimeout: '5s' } } });
  const settings = (timeouts: string): unknown => {
    const text = base().replace('rules: [{', `rules: [{ ${timeouts}`);
    const translation = run({ ...readObjects(text).objects, gatewayPolicies: [inherited] });
    return ruleIn(translation).policies.map((one) => [one.name, one.settings]);
  };
  assert.deepEqual(settings(''), [['timeout', { requestTimeout: 5000 }]]);
  assert.deepEqual(settings('timeouts: { request: 0s },'), [['timeout', {}]]);
  assert.deepEqual(settings('timeouts: { request: 0s, backendRequest: 2s },'), [
    ['timeout', { backendRequestTimeout: 2000 }],
  ]);
});

test('a policy for a port of a Service holds where another protocol has the same number', () => {
  const { objects } = readObjects(
    `${base()}\n---\n` +
      'kind: Service\nmetadata: { name: app }\nspec: { ports: [{ name: quic, port: 80, protocol: UDP }, { name: web, port: 80 }] }',
  );
  const spec = {
    targetRefs: [{ group: '', kind: 'Service', name: 'app', sectionName: 'web' }],
    policies: { requestHeaderModifier: { set: { 'x-from': 'gate' } } },
  };
  const services = objects.services.filter(({ spec: of }) => of?.ports?.length === 2);
  const [backend] = ruleIn(run({ ...objects, services, gatewayPolicies: [policy(spec)] })).backends;
  assert.ok(backend?.kind === 'http');
  assert.deepEqual(
    backend.policies?.map(({ name }) => name),
    ['requestHeaderModifier'],
  );
});
