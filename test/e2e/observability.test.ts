import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { ask } from './http.testing.ts';
import { openSession } from './session.testing.ts';
import { inline, mcpRoute, node, rogue, startEchoApp, startIdp } from './stage.testing.ts';
import { until } from '../../src/until.testing.ts';

let idp: Awaited<ReturnType<typeof startIdp>>;
let echo: Awaited<ReturnType<typeof startEchoApp>>;
before(async () => {
  [idp, echo] = await Promise.all([startIdp(), startEchoApp()]);
});
after(async () => {
  await echo?.close();
  await idp?.close();
});

const start = (logging: object): Promise<GatewayProcess> =>
  startGateway(`
config:
  logging: ${inline(logging)}
  session: { key: ${'ab'.repeat(32)} }
binds:
- port: 0
  listeners:
  - routes:
${mcpRoute({ idp, path: '/mcp', target: { cmd: node, args: [rogue], env: { API_KEY: 'the-key-of-the-api' } } })}
    - name: echo
      matches: [{ path: { pathPrefix: /get } }]
      backends: [{ host: '127.0.0.1:${echo.port}' }]
`);

/** Six requests of all sorts. */
async function visit(gateway: GatewayProcess): Promise<void> {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  await ask(`${gateway.url}/get?password=in-the-query`, {
    headers: { 'x-request-id': 'visit-1', traceparent, cookie: 'session=in-a-cookie' },
  });
  await ask(`${gateway.url}/nowhere`, { headers: { 'x-request-id': 'visit-2' } });
  await ask(`${gateway.url}/mcp`, { method: 'POST', body: '{}', headers: { 'x-request-id': 'visit-3' } });
  const token = await idp.issueToken({ user: 'bob' });
  await ask(`${gateway.url}/mcp`, {
    method: 'POST',
    body: '{}',
    headers: { 'x-request-id': 'visit-4', authorization: `Bearer ${token}` },
  });
  const bad = await idp.issueToken({ user: 'alice', wrongKey: true });
  await ask(`${gateway.url}/mcp`, { headers: { 'x-request-id': 'visit-5', authorization: `Bearer ${bad}` } });
  await ask(`${gateway.url}/get/%22%20status=200`, { headers: { 'x-request-id': 'visit-6' } });
}
const visits = 6;

describe('the access log', () => {
  test('has one line a request, as text', async () => {
    await using gateway = await start({ accessLog: 'text' });
    await gateway.keysReady();
    await visit(gateway);
    await until(`the last line in ${gateway.accessLog()}`, () =>
      gateway.accessLog().includes('id=visit-6\n'),
    );
    const lines = gateway.accessLog().trimEnd().split('\n');
    assert.equal(lines.length, visits, gateway.accessLog());
    const { host } = new URL(gateway.url);
    assert.match(
      lines[0] ?? '',
      new RegExp(
        `^\\S+Z 200 GET ${host}/get [\\d.]+ms client=127\\.0\\.0\\.1 route=echo backend=127\\.0\\.0\\.1:${echo.port} trace=0af7651916cd43dd8448eb211c80319c id=visit-1$`,
      ),
    );
    assert.match(lines[1] ?? '', / 404 GET \S+\/nowhere .*error=route_not_found/);
    assert.match(lines[2] ?? '', / 401 POST .*route=mcp .*error=token_missing/);
    assert.match(lines[3] ?? '', / 403 POST .*subject=bob error=authorization_denied/);
    assert.match(lines[4] ?? '', / 401 GET .*error=token_invalid .*token=signature/);
  });

  test('has one line a request, as JSON', async () => {
    await using gateway = await start({ accessLog: 'json', format: 'json' });
    await gateway.keysReady();
    await visit(gateway);
    await gateway.accessLine(`visit-${visits}`);
    const lines = gateway
      .accessLog()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.deepEqual(
      lines.map(({ requestId, status, error }) => [requestId, status, error]),
      [
        ['visit-1', 200, undefined],
        ['visit-2', 404, 'route_not_found'],
        ['visit-3', 401, 'token_missing'],
        ['visit-4', 403, 'authorization_denied'],
        ['visit-5', 401, 'token_invalid'],
        ['visit-6', 404, undefined],
      ],
    );
    assert.partialDeepStrictEqual(lines[0], {
      method: 'GET',
      path: '/get',
      route: 'echo',
      backend: `127.0.0.1:${echo.port}`,
      traceId: '0af7651916cd43dd8448eb211c80319c',
    });
    for (const line of gateway.log().trimEnd().split('\n')) JSON.parse(line);
  });

  test('can be none', async () => {
    await using gateway = await start({ accessLog: 'none' });
    await visit(gateway);
    assert.equal(
      (await gateway.metric('portcullis_requests_total', { route: 'echo', status: '200' })) ?? 0,
      1,
    );
    await gateway.stop();
    assert.equal(gateway.accessLog(), '');
  });
});

test('no log, even at debug level, and no admin page contains a secret', async () => {
  await using gateway = await start({ level: 'debug', accessLog: 'json' });
  await gateway.keysReady();
  await visit(gateway);
  const token = await idp.issueToken({ user: 'alice' });
  const session = await openSession(`${gateway.url}/mcp`, token);
  await session.call('echo', { text: 'in-the-arguments' });
  await session.call('environment', { name: 'API_KEY' });
  const pages = await Promise.all(
    [`${gateway.admin}/config_dump`, `${gateway.stats}/metrics`, `${gateway.readiness}/readyz`].map(
      async (url) => (await ask(url)).body,
    ),
  );
  await session.close();
  await gateway.stop();
  const shown = [gateway.log(), gateway.accessLog(), ...pages].join('\n');
  assert.match(shown, /DEBUG/);
  const secrets = {
    'a token': /eyJ[\w-]{10}/,
    'the session id, which is a credential': new RegExp(session.id),
    'the session key': /(?:ab){32}/,
    'a variable of a child': /the-key-of-the-api/,
    'a query': /in-the-query/,
    'a cookie': /in-a-cookie/,
    'the arguments of a call': /in-the-arguments/,
  };
  for (const [what, pattern] of Object.entries(secrets)) assert.doesNotMatch(shown, pattern, what);
});

test('the log level is changed while it runs', async () => {
  await using gateway = await start({});
  await visit(gateway);
  assert.doesNotMatch(gateway.log(), / DEBUG /);
  assert.equal((await gateway.change('/logging?level=debug')).status, 200);
  const session = await openSession(`${gateway.url}/mcp`, await idp.issueToken({ user: 'alice' }));
  await session.close();
  await until('a line at debug level', () => / DEBUG /.test(gateway.log()));
});

test('metrics count requests by route and status, and MCP calls by method and target', async () => {
  await using gateway = await start({ accessLog: 'none' });
  await gateway.keysReady();
  await visit(gateway);
  await visit(gateway);
  const counted = async (route: string, status: string): Promise<number | undefined> =>
    gateway.metric('portcullis_requests_total', { route, status });
  assert.deepEqual(
    await Promise.all([
      counted('echo', '200'),
      counted('', '404'),
      counted('mcp', '401'),
      counted('mcp', '403'),
    ]),
    [2, 2, 4, 2],
  );
  assert.equal(await gateway.metric('portcullis_errors_total', { code: 'token_invalid' }), 2);
  const session = await openSession(`${gateway.url}/mcp`, await idp.issueToken({ user: 'alice' }));
  for (let i = 0; i < 3; i++) await session.call('echo', { text: 'x' });
  assert.equal(
    await gateway.metric('portcullis_mcp_requests_total', { method: 'tools/call', outcome: 'ok' }),
    3,
  );
  assert.equal(await gateway.metric('portcullis_mcp_sessions'), 1);
  assert.equal(await gateway.metric('portcullis_mcp_children'), 1);
  await session.close();
  await until('the child to be gone', async () => (await gateway.metric('portcullis_mcp_children')) === 0);
  assert.equal(await gateway.metric('portcullis_mcp_sessions'), 0);
});

test('the admin port is closed to web pages', async () => {
  await using gateway = await start({});
  const dump = `${gateway.admin}/config_dump`;
  const { host } = new URL(gateway.admin);
  assert.equal((await ask(dump)).status, 200);
  assert.equal((await ask(dump, { headers: { host: 'evil.example' } })).status, 403);
  assert.equal((await ask(dump, { headers: { origin: 'https://evil.example' } })).status, 403);
  assert.equal((await ask(dump, { headers: { 'sec-fetch-site': 'cross-site' } })).status, 403);
  assert.equal((await ask(dump, { headers: { origin: `http://${host}` } })).status, 200);
  const quit = await ask(`${gateway.admin}/quitquitquit`, {
    method: 'POST',
    headers: { origin: 'https://evil.example' },
  });
  assert.equal(quit.status, 403);
  assert.equal((await ask(`${gateway.admin}/quitquitquit`)).status, 405);
  assert.equal((await ask(`${gateway.url}/config_dump`)).status, 404, 'it is on no port of the gateway');
});
