/** The ways to write a configuration, and what routes, backends and policies of it do. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { listenOnLoopback } from '../support/loopback.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { ask, type Question } from './http.testing.ts';
import { openSession, resultText } from './session.testing.ts';
import { authentication, inline, node, rogue, startEchoApp, startIdp } from './stage.testing.ts';

/** A backend that says its name. */
async function startNamed(name: string) {
  const { port, close } = await listenOnLoopback(createServer((_request, response) => response.end(name)));
  return { address: `127.0.0.1:${port}`, [Symbol.asyncDispose]: close };
}

const fixed = (body: string): string => `directResponse: { status: 200, body: ${body} }`;

describe('gateways and routes', () => {
  test('routes attach to gateways and their listeners by name, and to `default` without one', async () => {
    await using gateway = await startGateway(`
gateways:
  default: { port: 0 }
  named:
    port: 0
    listeners:
    - { name: exact, hostname: api.example.com }
    - { name: wide, hostname: '*.example.com' }
routes:
- policies: { ${fixed('on default')} }
- gateways: named/exact
  policies: { ${fixed('on exact')} }
- gateways: [named/wide]
  policies: { ${fixed('on wide')} }
- gateways: [default, named]
  matches: [{ path: { exact: /both } }]
  policies: { ${fixed('on both')} }
`);
    const [first = 0, second = 0] = gateway.ports;
    const on = async (port: number, host: string, path = '/'): Promise<string> => {
      const { status, body } = await ask(`http://127.0.0.1:${port}${path}`, { headers: { host } });
      return status === 200 ? body : String(status);
    };
    assert.deepEqual(
      await Promise.all([
        on(first, 'whatever'),
        on(first, 'whatever', '/both'),
        on(second, 'api.example.com'),
        on(second, 'API.example.com:8080'),
        on(second, 'x.example.com'),
        on(second, 'a.b.example.com'),
        on(second, 'x.example.com', '/both'),
        on(second, 'example.com'),
        on(second, 'elsewhere'),
      ]),
      ['on default', 'on both', 'on exact', 'on exact', 'on wide', 'on wide', 'on both', '404', '404'],
    );
  });

  test('the top-level mcp serves its server at /mcp with its metadata', async () => {
    await using idp = await startIdp();
    await using gateway = await startGateway(`
mcp:
  port: 0
  targets: [{ name: rogue, stdio: ${inline({ cmd: node, args: [rogue] })} }]
  policies: ${inline({ mcpAuthentication: authentication(idp) })}
`);
    await gateway.keysReady();
    assert.equal((await ask(`${gateway.url}/mcp`, { method: 'POST', body: '{}' })).status, 401);
    const session = await openSession(`${gateway.url}/mcp`, await idp.issueToken());
    assert.equal(resultText(await session.call('echo', { text: 'hello' })), 'hello');
    await session.close();
    const metadata = await ask(`${gateway.url}/.well-known/oauth-protected-resource/mcp`);
    assert.partialDeepStrictEqual(JSON.parse(metadata.body), { authorization_servers: [idp.issuer] });
    assert.equal((await ask(`${gateway.url}/elsewhere`)).status, 404);
  });

  test('the host name * stands for every host, on listeners and on routes', async () => {
    await using gateway = await startGateway(`
gateways:
  default: { port: 0, listeners: [{ hostname: '*' }, { hostname: api.example.com }] }
routes:
- { hostnames: [shop.example.com, '*'], policies: { ${fixed('any')} } }
- { hostnames: ['*.example.com'], policies: { ${fixed('below')} } }
`);
    const on = async (host: string): Promise<string> => (await ask(gateway.url, { headers: { host } })).body;
    assert.equal(await on('shop.example.com'), 'any');
    assert.equal(await on('x.example.com'), 'below');
    assert.equal(await on('elsewhere'), 'any');
    assert.equal(await on('api.example.com'), 'below');
  });

  test('a reference to a backend may begin with a slash', async () => {
    await using app = await startNamed('the app');
    await using gateway = await startGateway(`
backends: [{ name: app, host: '${app.address}' }]
binds: [{ port: 0, listeners: [{ routes: [{ backends: [{ backend: /app }] }] }] }]
`);
    assert.equal((await ask(gateway.url)).body, 'the app');
  });

  test('a configuration on the command line is as good as a file', async () => {
    await using gateway = await startGateway('', {
      args: [
        '-c',
        `binds: [{ port: 0, listeners: [{ routes: [{ policies: { ${fixed('from the command line')} } }] }] }]`,
      ],
    });
    assert.equal((await ask(gateway.url)).body, 'from the command line');
  });
});

describe('backends', () => {
  test('can be named once and referred to', async () => {
    await using app = await startNamed('the app');
    await using gateway = await startGateway(`
backends:
- { name: app, host: '${app.address}' }
- name: tools
  mcp: { targets: [{ name: rogue, stdio: ${inline({ cmd: node, args: [rogue] })} }] }
binds:
- port: 0
  listeners:
  - routes:
    - matches: [{ path: { pathPrefix: /tools } }]
      backends: [{ backend: tools }]
    - backends: [{ backend: app }]
`);
    assert.equal((await ask(gateway.url)).body, 'the app');
    const session = await openSession(`${gateway.url}/tools`);
    assert.equal(resultText(await session.call('echo', { text: 'hello' })), 'hello');
    await session.close();
  });

  test('share the requests by weight; one of weight 0 gets none', async () => {
    await using heavy = await startNamed('heavy');
    await using light = await startNamed('light');
    await using gateway = await startGateway(`
binds:
- port: 0
  listeners:
  - routes:
    - backends:
      - { host: '${heavy.address}', weight: 3 }
      - { host: '${light.address}', weight: 1 }
      - { host: '127.0.0.1:1', weight: 0 }
`);
    const seen = { heavy: 0, light: 0 };
    for (let i = 0; i < 400; i++) seen[(await (await fetch(gateway.url)).text()) as keyof typeof seen]++;
    // 300 and 100 are expected; a fair die strays by more than 60 about once in 10¹¹ runs.
    assert.ok(Math.abs(seen.heavy - 300) < 60, inline(seen));
    assert.equal(seen.heavy + seen.light, 400);
  });

  test('without any valid one the answer is 500, and one that cannot be reached 503', async () => {
    await using gateway = await startGateway(`
binds:
- port: 0
  listeners:
  - routes:
    - { matches: [{ path: { exact: /none } }], backends: [{ host: '127.0.0.1:1', weight: 0 }] }
    - { matches: [{ path: { exact: /dead } }], backends: [{ host: '127.0.0.1:1' }] }
    - { matches: [{ path: { exact: /nameless } }], backends: [{ host: 'no-such-host.invalid:80' }] }
`);
    const statuses = await Promise.all(
      ['/none', '/dead', '/nameless', '/else'].map(async (path) => (await ask(gateway.url + path)).status),
    );
    assert.deepEqual(statuses, [500, 503, 503, 404]);
  });
});

test('variables stand in values, typed after they are put in, and cannot change the structure', async () => {
  await using gateway = await startGateway(
    `
binds:
- port: \${PORT}
  listeners:
  - routes:
    - policies:
        directResponse:
          status: \${STATUS:-202}
          body: '$GREETING, \${NAME:-nobody}, $$HOME'
`,
    { env: { PORT: '0', GREETING: 'hello: [world]\n- x', NAME: '' } },
  );
  const { status, body } = await ask(gateway.url);
  assert.equal(status, 202);
  assert.equal(body, 'hello: [world]\n- x, nobody, $HOME');
});

describe('a request', () => {
  let echo: Awaited<ReturnType<typeof startEchoApp>>;
  let gateway: GatewayProcess;
  before(async () => {
    echo = await startEchoApp();
    const backends = `backends: [{ host: '127.0.0.1:${echo.port}' }]`;
    gateway = await startGateway(`
binds:
- port: 0
  listeners:
  - routes:
    - { name: any, ${backends} }
    - { name: exact, matches: [{ path: { exact: /api/v1 } }], policies: { ${fixed('exact')} } }
    - { name: prefix, matches: [{ path: { pathPrefix: /api } }], policies: { ${fixed('prefix')} } }
    - { name: longer, matches: [{ path: { pathPrefix: /api/v1 } }], policies: { ${fixed('longer')} } }
    - { name: regex, matches: [{ path: { regex: '/r[0-9]+' } }], policies: { ${fixed('regex')} } }
    - name: method
      matches: [{ path: { pathPrefix: /api }, method: POST }]
      policies: { ${fixed('method')} }
    - name: header
      matches: [{ path: { pathPrefix: /api }, headers: [{ name: X-Stage, value: { exact: beta } }] }]
      policies: { ${fixed('header')} }
    - name: query
      matches: [{ path: { pathPrefix: /api }, query: [{ name: v, value: { regex: '[0-9]+' } }] }]
      policies: { ${fixed('query')} }
    - { name: host, hostnames: [special.example], policies: { ${fixed('host')} } }
    - name: cors
      matches: [{ path: { pathPrefix: /anything/cors } }]
      policies:
        cors: { allowOrigins: ['https://app.example'], allowMethods: [GET], allowHeaders: [authorization] }
        authorization: { rules: [{ require: 'request.headers["x-pass"] == "yes"' }] }
      ${backends}
    - name: headers
      matches: [{ path: { pathPrefix: /anything/headers } }]
      policies:
        requestHeaderModifier: { add: { x-added: one }, set: { x-set: two }, remove: [x-removed] }
        responseHeaderModifier: { set: { x-answer: three }, remove: [server] }
      ${backends}
    - name: slow
      matches: [{ path: { pathPrefix: /delay } }]
      policies: { timeout: { requestTimeout: 2s } }
      ${backends}
`);
  });
  after(async () => {
    await gateway?.stop();
    await echo?.close();
  });
  const at = (path: string, question?: Question) => ask(gateway.url + path, question);

  test('finds its route in the order of the Gateway API, wherever that stands in the file', async () => {
    const found = async (path: string, question?: Question): Promise<string> =>
      (await at(path, question)).body.slice(0, 10);
    assert.deepEqual(
      await Promise.all([
        found('/api/v1'),
        found('/api/v1/x'),
        found('/api/x'),
        found('/api/x', { method: 'POST' }),
        found('/api/x', { headers: { 'x-stage': 'beta' } }),
        found('/api/x?v=12'),
        found('/api/x?v=12a'),
        found('/r12'),
        found('/', { headers: { host: 'special.example' } }),
      ]),
      ['exact', 'longer', 'prefix', 'method', 'header', 'query', 'prefix', 'regex', 'host'],
    );
    assert.equal((await at('/apix')).status, 404, 'of the echo app: a prefix holds for whole segments');
    assert.equal((await at('/r12x')).status, 404, 'a regular expression holds for the whole path');
  });

  test('tells the backend who asked, and the client who answered', async () => {
    const { headers, body } = await at('/headers', {
      headers: {
        'x-forwarded-for': '203.0.113.7',
        'x-request-id': 'my-id-1',
        connection: 'x-hop',
        'x-hop': '1',
      },
    });
    const { headers: seen } = JSON.parse(body) as { headers: Record<string, string[]> };
    assert.deepEqual(seen['X-Forwarded-For'], ['203.0.113.7, 127.0.0.1']);
    assert.deepEqual(seen['X-Forwarded-Proto'], ['http']);
    assert.deepEqual(seen['X-Forwarded-Host'], [new URL(gateway.url).host]);
    assert.deepEqual(seen['X-Request-Id'], ['my-id-1']);
    assert.equal(seen['X-Hop'], undefined, 'a header of the connection goes no further');
    assert.match(String(headers['x-envoy-upstream-service-time']), /^\d+$/);
    assert.equal(headers['server'], 'portcullis');
  });

  test('is changed by header policies, and so is its answer', async () => {
    const { headers, body } = await at('/anything/headers', {
      headers: { 'x-removed': '1', 'x-set': 'mine' },
    });
    const { headers: seen } = JSON.parse(body) as { headers: Record<string, string[]> };
    assert.deepEqual(seen['X-Added'], ['one']);
    assert.deepEqual(seen['X-Set'], ['two']);
    assert.equal(seen['X-Removed'], undefined);
    assert.equal(headers['x-answer'], 'three');
    assert.equal(headers['server'], undefined);
  });

  test('of a page is preflighted without credentials, and refusals carry CORS headers too', async () => {
    const origin = 'https://app.example';
    const preflight = await at('/anything/cors', {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'authorization',
      },
    });
    assert.ok(preflight.status === 200 || preflight.status === 204);
    assert.equal(preflight.headers['access-control-allow-origin'], origin);
    const refused = await at('/anything/cors', { headers: { origin } });
    assert.equal(refused.status, 403);
    assert.equal(refused.headers['access-control-allow-origin'], origin);
    const passed = await at('/anything/cors', { headers: { origin, 'x-pass': 'yes' } });
    assert.equal(passed.status, 200);
    assert.equal(passed.headers['access-control-allow-origin'], origin);
  });

  test('that takes too long is 504', async () => {
    const { status, body } = await at('/delay/5');
    assert.deepEqual([status, body], [504, 'request timeout\n']);
    assert.equal((await at('/delay/0')).status, 200);
  });

  test('finds its way with bodies in both directions', async () => {
    const body = 'x'.repeat(300_000);
    const answer = await at('/post', { method: 'POST', body, headers: { 'content-type': 'text/plain' } });
    assert.equal((JSON.parse(answer.body) as { data: string }).data, body);
    assert.equal((await at('/bytes/100000')).status, 200);
    assert.equal((await at('/stream/20')).body.trim().split('\n').length, 20);
    assert.equal((await at('/status/204')).status, 204);
    assert.equal((await at('/get', { method: 'HEAD' })).body, '');
  });
});
