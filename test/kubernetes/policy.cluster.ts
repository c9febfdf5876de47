/** GatewayPolicies from the API server to a proxy: what clients meet, and what the status says of it. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { until } from '../../src/until.testing.ts';
import { ask, type Answer, type Question } from '../e2e/http.testing.ts';
import { startGateway, type GatewayProcess } from '../e2e/gateway.testing.ts';
import { openSession } from '../e2e/session.testing.ts';
import { everything } from '../e2e/stage.testing.ts';
import { freePorts } from '../support/loopback.ts';
import { clusterForSuite, needsCluster } from './cluster.testing.ts';
import { startControllerProcess, type ControllerProcess } from './controllerProcess.testing.ts';
import { applyGateway, gatewayApi, object, ours } from './gatewayStage.testing.ts';
import { proxyFlags } from './proxyFlags.testing.ts';

const issuer = 'https://login.example.com';
const audience = 'api://tools';

describe('GatewayPolicies on a cluster', needsCluster, () => {
  const stage = clusterForSuite();
  const ends: (() => unknown)[] = [];
  const suite = { after: (end: () => unknown) => void ends.push(end) };
  let controller: ControllerProcess | undefined;
  let proxy: GatewayProcess | undefined;
  let port = 0;
  let jwks = '';
  let token: (claims?: object) => Promise<string>;

  before(async () => {
    [port = 0] = await freePorts(1);
    const { publicKey, privateKey } = await generateKeyPair('ES256');
    jwks = JSON.stringify({
      keys: [{ ...(await exportJWK(publicKey)), kid: 'a', alg: 'ES256', use: 'sig' }],
    });
    token = async (claims = {}) =>
      await new SignJWT({ sub: 'alice', ...claims })
        .setProtectedHeader({ alg: 'ES256', kid: 'a' })
        .setIssuer(issuer)
        .setAudience(audience)
        .setIssuedAt()
        .setExpirationTime('1h')
        .sign(privateKey);
    await applyGateway(stage.cluster, port, [
      object('v1', 'ConfigMap', 'keys', { data: { 'jwks.json': jwks } }),
      // Answers by itself: no backend is needed to see what comes before it.
      policy('answer', { directResponse: { status: 200, body: 'served' } }),
    ]);
    controller = await startControllerProcess(suite, stage.cluster.kubeconfig);
    await controller.ready();
    proxy = await startGateway('', { args: await proxyFlags(suite, stage.cluster, [controller]) });
    suite.after(async () => await proxy?.stop());
  });
  after(async () => {
    for (const end of ends.toReversed()) await end();
  });

  const get = async (host: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> =>
    await ask(`http://127.0.0.1:${port}/`, { headers: { host, ...headers } });

  const answers = async (host: string, status: number, headers?: Readonly<Record<string, string>>) =>
    await until(`${host} answers ${status}`, async () => (await get(host, headers)).status === status);

  interface Status {
    readonly ancestors?: readonly {
      readonly ancestorRef: { readonly kind: string; readonly name: string };
      readonly controllerName: string;
      readonly conditions: readonly {
        readonly type: string;
        readonly status: string;
        readonly reason: string;
        readonly message: string;
        readonly observedGeneration: number;
      }[];
    }[];
  }

  const statusOf = async (name: string): Promise<Status> =>
    JSON.parse(
      (await stage.cluster.kubectl(['get', 'gatewaypolicy', name, '-o', 'jsonpath={.status}'])) || '{}',
    ) as Status;

  /** `Kind name: reason` of its only condition, for each ancestor of ours. */
  const says = async (name: string, ...expected: readonly string[]): Promise<void> => {
    const found = async (): Promise<string[]> =>
      ((await statusOf(name)).ancestors ?? [])
        .filter(({ controllerName }) => controllerName === 'portcullis.dev/gateway')
        .map(({ ancestorRef, conditions }) => {
          assert.deepEqual(
            conditions.map(({ type }) => type),
            ['Accepted'],
          );
          return `${ancestorRef.kind} ${ancestorRef.name}: ${conditions[0]?.reason ?? ''}`;
        });
    const end = performance.now() + 60_000;
    while (String(await found()) !== String(expected)) {
      if (performance.now() > end) assert.deepEqual(await found(), expected);
      await pause(50);
    }
  };

  test('a token is asked for where a policy says so, with keys of a ConfigMap, and keys that change are followed', async () => {
    await stage.cluster.apply(
      [
        route('jwt', 'jwt.test', 'answer'),
        policy('jwt', jwtAuth({ configMap: 'keys' }), target('HTTPRoute', 'jwt')),
      ].join('\n---\n'),
    );
    await answers('jwt.test', 401);
    assert.equal((await get('jwt.test', { authorization: `Bearer ${await token()}` })).status, 200);
    assert.equal((await get('jwt.test', { authorization: 'Bearer nonsense' })).status, 401);
    await says('jwt', 'Gateway gw: Accepted');

    // Never open while there are no keys.
    await stage.cluster.kubectl(['delete', 'configmap', 'keys']);
    await says('jwt', 'Gateway gw: Invalid');
    await answers('jwt.test', 500, { authorization: `Bearer ${await token()}` });
    await stage.cluster.apply(object('v1', 'ConfigMap', 'keys', { data: { 'jwks.json': jwks } }));
    await says('jwt', 'Gateway gw: Accepted');
    await answers('jwt.test', 200, { authorization: `Bearer ${await token()}` });
    await stage.cluster.kubectl(['delete', 'gatewaypolicy', 'jwt']);
    await answers('jwt.test', 200);
  });

  test('a policy of a Gateway applies until a closer one overrides it, and again after that', async () => {
    await stage.cluster.apply(
      [
        route('plain', 'plain.test', 'answer'),
        route('own', 'own.test', 'answer'),
        policy('everywhere', marked('gateway'), target('Gateway', 'gw')),
        policy('here', marked('listener'), { ...target('Gateway', 'gw'), sectionName: 'http' }),
        policy('of-route', marked('route'), target('HTTPRoute', 'own')),
        policy('of-rule', marked('rule'), { ...target('HTTPRoute', 'own'), sectionName: 'main' }),
      ].join('\n---\n'),
    );
    const mark = async (host: string, expected: string): Promise<true> =>
      await until(
        `${host} is marked ${expected}`,
        async () => (await get(host)).headers['x-mark'] === expected,
      );
    await mark('own.test', 'rule');
    await mark('plain.test', 'listener');
    await stage.cluster.kubectl(['delete', 'gatewaypolicy', 'of-rule', 'here']);
    await mark('own.test', 'route');
    await mark('plain.test', 'gateway');
    await stage.cluster.kubectl(['delete', 'gatewaypolicy', 'of-route']);
    await mark('own.test', 'gateway');
    await says('everywhere', 'Gateway gw: Accepted');
    await stage.cluster.kubectl(['delete', 'gatewaypolicy', 'everywhere']);
  });

  test('preflights are answered, and requests above a limit refused', async () => {
    await stage.cluster.apply(
      [
        route('limited', 'limited.test', 'answer'),
        policy(
          'limits',
          {
            cors: { allowOrigins: ['https://app.example.com'], allowMethods: ['GET'], maxAge: 600 },
            localRateLimit: [{ maxTokens: 2, tokensPerFill: 1, fillInterval: '1h' }],
          },
          target('HTTPRoute', 'limited'),
        ),
      ].join('\n---\n'),
    );
    const preflight = async (): Promise<Answer> =>
      await ask(`http://127.0.0.1:${port}/`, {
        method: 'OPTIONS',
        headers: {
          host: 'limited.test',
          origin: 'https://app.example.com',
          'access-control-request-method': 'GET',
        },
      });
    await until(
      'preflights are answered',
      async () => (await preflight()).headers['access-control-allow-origin'] === 'https://app.example.com',
    );
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await get('limited.test')).status);
    assert.deepEqual(statuses, [200, 200, 429]);
  });

  test('rules about tools hide them, on an McpBackend as well', async () => {
    await stage.cluster.apply(
      [
        object(ours, 'McpBackend', 'tools', {
          spec: {
            targets: [{ name: 'a', stdio: { command: process.execPath, args: [everything, 'stdio'] } }],
          },
        }),
        object(gatewayApi, 'HTTPRoute', 'mcp', {
          spec: {
            parentRefs: [{ name: 'gw' }],
            rules: [
              {
                matches: [{ path: { value: '/mcp' } }],
                backendRefs: [{ group: 'portcullis.dev', kind: 'McpBackend', name: 'tools' }],
              },
            ],
          },
        }),
        policy(
          'login',
          {
            mcpAuthentication: {
              issuer,
              audiences: [audience],
              jwks: { inline: jwks },
              authorization: { rules: [{ if: '"mcp-users" in auth.claims.groups' }] },
            },
          },
          target('HTTPRoute', 'mcp'),
        ),
        policy(
          'tools',
          { mcpAuthorization: { rules: [{ allow: 'mcp.tool.name == "echo"' }] } },
          { group: 'portcullis.dev', kind: 'McpBackend', name: 'tools' },
        ),
      ].join('\n---\n'),
    );
    const url = `http://127.0.0.1:${port}/mcp`;
    const status = async (authorization?: string): Promise<number> =>
      (
        await fetch(url, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            ...(authorization === undefined ? {} : { authorization }),
          },
          body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
        })
      ).status;
    await until('it asks for a token', async () => (await status()) === 401);
    await says('tools', 'Gateway gw: Accepted');
    // A status may be ahead of the proxy.
    await until('the proxy knows of the tools', async () =>
      JSON.stringify((await proxy?.configDump())?.model).includes('"mcpAuthorization"'),
    );
    assert.equal(await status(`Bearer ${await token({ groups: ['others'] })}`), 403);
    const session = await openSession(url, await token({ groups: ['mcp-users'] }));
    const { result } = await session.request('tools/list');
    assert.deepEqual(
      (result?.['tools'] as readonly { readonly name: string }[]).map(({ name }) => name),
      ['echo'],
    );
    const allowed = await session.call('echo', { message: 'hello' });
    assert.match(JSON.stringify(allowed.result), /hello/);
    const { error } = await session.call('get-sum', { a: 1, b: 2 });
    assert.match(error?.message ?? '', /Unknown tool/);
    await session.close();
  });

  test('an API key is that of a Secret, which gets into no status and no log', async () => {
    const secret = (key: string): string =>
      object('v1', 'Secret', 'partner', { stringData: { 'api-key': key } });
    await stage.cluster.apply(
      [
        route('partners', 'partners.test', 'answer', 'partners'),
        policy('partners', {
          apiKey: { mode: 'strict', keys: [{ secret: 'partner' }], location: { header: { name: 'x-key' } } },
        }),
      ].join('\n---\n'),
    );
    // There is no key yet, so nobody is let in, whatever they show.
    await answers('partners.test', 500);
    await says('partners', 'Gateway gw: Invalid');
    await stage.cluster.apply(secret('open-sesame-open-sesame'));
    await answers('partners.test', 401);
    assert.equal((await get('partners.test', { 'x-key': 'open-sesame-open-sesame' })).status, 200);
    await stage.cluster.apply(secret('another-word-another-word'));
    await answers('partners.test', 401, { 'x-key': 'open-sesame-open-sesame' });
    assert.equal((await get('partners.test', { 'x-key': 'another-word-another-word' })).status, 200);
    const written = await stage.cluster.kubectl([
      'get',
      'gatewaypolicy,httproute,gateway',
      '-A',
      '-o',
      'yaml',
    ]);
    assert.doesNotMatch(written, /open-sesame|another-word/);
    assert.doesNotMatch(controller?.log() ?? 'open-sesame', /open-sesame|another-word/);
  });

  test('clients log in at a proxy that is one client of the provider, with a secret of a Secret', async () => {
    const secret = object('v1', 'Secret', 'login', {
      stringData: { 'client-secret': 'open-sesame-of-the-client' },
    });
    await stage.cluster.apply(
      [
        route('logins', 'logins.test', 'answer', 'logins'),
        policy('logins', {
          mcpAuthentication: {
            issuer,
            audiences: [audience],
            jwks: { inline: jwks },
            provider: { entra: {} },
            clientId: 'gateway',
            clientSecret: { secret: 'login' },
          },
        }),
      ].join('\n---\n'),
    );
    await answers('logins.test', 500);
    await stage.cluster.apply(secret);
    await answers('logins.test', 401);
    const at = (path: string, init: Question = {}): Promise<Answer> =>
      ask(`http://127.0.0.1:${port}/.well-known/${path}`, {
        ...init,
        headers: { host: 'logins.test', ...init.headers },
      });
    const metadata = JSON.parse((await at('oauth-authorization-server')).body) as Record<string, string>;
    assert.equal(metadata['issuer'], 'http://logins.test');
    const registered = await at('mcp-login-register', {
      method: 'POST',
      body: JSON.stringify({ redirect_uris: ['http://127.0.0.1/back'], client_name: 'Editor' }),
    });
    assert.equal(registered.status, 201, registered.body);
    const query = new URLSearchParams({
      client_id: (JSON.parse(registered.body) as { readonly client_id: string }).client_id,
      redirect_uri: 'http://127.0.0.1/back',
      response_type: 'code',
      code_challenge: 'c'.repeat(43),
      code_challenge_method: 'S256',
    });
    const page = await at(`mcp-login-authorize?${query.toString()}`);
    assert.match(page.body, /Editor<.*> asks for access to .*http:\/\/logins.test</);
    // All proxies share the key, so none makes one of its own.
    assert.doesNotMatch(proxy?.log() ?? '', /forgotten at a restart/);
    assert.doesNotMatch((proxy?.log() ?? '') + (controller?.log() ?? ''), /open-sesame-of-the-client/);
    const written = await stage.cluster.kubectl(['get', 'gatewaypolicy,httproute', '-A', '-o', 'yaml']);
    assert.doesNotMatch(written, /open-sesame-of-the-client/);
  });

  test('browsers log in where a policy says so, and a proxy exchanges no code at its own machine', async () => {
    const loginSecret = object('v1', 'Secret', 'browsers', {
      stringData: { 'client-secret': 'open-sesame-of-browsers' },
    });
    const own = `http://127.0.0.1:${port}`;
    await stage.cluster.apply(
      [
        loginSecret,
        route('browsers', 'browsers.test', 'answer', 'browsers'),
        policy('browsers', {
          oidc: {
            issuer: own,
            clientId: 'app',
            clientSecret: { secret: 'browsers' },
            redirectURI: 'http://browsers.test/oauth/callback',
            authorizationEndpoint: `${own}/authorize`,
            tokenEndpoint: `${own}/token`,
            jwks: { inline: jwks },
          },
        }),
      ].join('\n---\n'),
    );
    await answers('browsers.test', 401);
    const begun = await get('browsers.test', { accept: 'text/html' });
    assert.equal(begun.status, 302);
    const login = new URL(begun.headers.location ?? '');
    assert.equal(login.href.split('?')[0], `${own}/authorize`);
    const cookie = (begun.headers['set-cookie'] ?? []).map((line) => line.split(';')[0]).join('; ');
    const back = new URLSearchParams({ code: 'a', state: login.searchParams.get('state') ?? '', iss: own });
    const failed = await ask(`${own}/oauth/callback?${back.toString()}`, {
      headers: { host: 'browsers.test', cookie, accept: 'text/html' },
    });
    assert.equal(failed.status, 500);
    await until('the log has the reason', () =>
      /oauth\/callback.*error=login_failed.*only https/.test(proxy?.accessLog() ?? ''),
    );
    assert.doesNotMatch((proxy?.log() ?? '') + (controller?.log() ?? ''), /open-sesame-of-browsers/);
  });

  test('the older of two conflicting policies counts; missing targets and wrong expressions are reported', async () => {
    await stage.cluster.apply(route('twice', 'twice.test', 'answer'));
    await stage.cluster.apply(policy('older', marked('older'), target('HTTPRoute', 'twice')));
    // The times of creation are in seconds.
    await pause(1_100);
    await stage.cluster.apply(
      [
        policy(
          'b-newer',
          { ...marked('newer'), cors: { allowOrigins: ['https://app.example.com'] } },
          target('HTTPRoute', 'twice'),
        ),
        policy('lost', marked('lost'), target('HTTPRoute', 'nowhere')),
        policy(
          'wrong',
          { authorization: { rules: [{ allow: 'request.nothing' }] } },
          target('HTTPRoute', 'broken'),
        ),
        route('broken', 'broken.test', 'answer'),
      ].join('\n---\n'),
    );
    await says('older', 'Gateway gw: Accepted');
    await says('b-newer', 'Gateway gw: Conflicted');
    await says('lost', 'HTTPRoute nowhere: TargetNotFound');
    await says('wrong', 'Gateway gw: Invalid');
    await answers('broken.test', 500);
    await answers('twice.test', 200);
    const { headers } = await get('twice.test', { origin: 'https://app.example.com' });
    assert.equal(headers['x-mark'], 'older');
    // A policy without a closer one still holds.
    assert.equal(headers['access-control-allow-origin'], 'https://app.example.com');
    await stage.cluster.kubectl(['delete', 'gatewaypolicy', 'older']);
    await says('b-newer', 'Gateway gw: Accepted');
    await stage.cluster.apply(
      policy(
        'wrong',
        { authorization: { rules: [{ allow: 'request.method == "GET"' }] } },
        target('HTTPRoute', 'broken'),
      ),
    );
    await says('wrong', 'Gateway gw: Accepted');
    await answers('broken.test', 200);
  });
});

const target = (kind: string, name: string): object => ({ group: 'gateway.networking.k8s.io', kind, name });

const policy = (name: string, policies: object, ...targetRefs: readonly object[]): string =>
  object(ours, 'GatewayPolicy', name, {
    spec: { ...(targetRefs.length === 0 ? {} : { targetRefs }), policies },
  });

/** A rule that names policies by filters. */
const route = (name: string, host: string, ...filters: readonly string[]): string =>
  object(gatewayApi, 'HTTPRoute', name, {
    spec: {
      parentRefs: [{ name: 'gw' }],
      hostnames: [host],
      rules: [
        {
          name: 'main',
          filters: filters.map((filter) => ({
            type: 'ExtensionRef',
            extensionRef: { group: 'portcullis.dev', kind: 'GatewayPolicy', name: filter },
          })),
        },
      ],
    },
  });

const jwtAuth = (keys: object): object => ({
  jwtAuth: { mode: 'strict', issuer, audiences: [audience], jwks: keys },
});

const marked = (mark: string): object => ({ responseHeaderModifier: { set: { 'x-mark': mark } } });
