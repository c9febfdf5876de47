/** MCP servers that get credentials of an authorization server: examples/credentials, with two users. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../../apps/dev-idp/src/config.ts';
import { startDevIdp } from '../../apps/dev-idp/src/index.ts';
import { RemoteServer } from '../../src/mcp/remoteServer.testing.ts';
import { AuthorizationServer } from '../../src/policies/backendAuth/authorizationServer.testing.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { until } from '../../src/until.testing.ts';
import { openSession, resultText } from './session.testing.ts';

const fromRoot = (file: string): string => fileURLToPath(new URL(`../../${file}`, import.meta.url));
const example = fromRoot('examples/credentials/tokenExchange.yaml');

interface Stage extends AsyncDisposable {
  readonly gateway: GatewayProcess;
  readonly calendar: RemoteServer;
  readonly weather: RemoteServer;
  readonly tokens: AuthorizationServer;
  readonly users: { readonly alice: string; readonly bob: string };
}

async function stage(t: TestContext, workers = '1'): Promise<Stage> {
  const idp = await startDevIdp({
    port: 0,
    config: await loadConfig(fromRoot('examples/quickstart/idp.yaml')),
  });
  const [calendar, weather] = [await RemoteServer.start(), await RemoteServer.start()];
  const tokens = await AuthorizationServer.start();
  // It answers with texts that say of what each token was made.
  tokens.instead = (response) => {
    const { form } = tokens.requests.at(-1)!;
    const subject = form.get('subject_token');
    const payload = Buffer.from(subject?.split('.')[1] ?? 'e30', 'base64url').toString();
    const { sub = 'gateway' } = JSON.parse(payload) as { sub?: string };
    response.end(JSON.stringify({ access_token: `for-${sub}-${form.get('scope')}`, expires_in: 3_600 }));
  };
  const gateway = await startGateway('', {
    args: ['-f', example],
    env: {
      GATEWAY_PORT: '0',
      IDP_ISSUER: idp.issuer,
      CALENDAR_URL: calendar.url,
      WEATHER_URL: weather.url,
      TOKEN_HOST: `http://127.0.0.1:${String(tokens.port)}`,
      WORKER_THREADS: workers,
    },
  });
  t.after(async () => {
    await gateway[Symbol.asyncDispose]();
    await Promise.all([calendar.close(), weather.close(), idp.close()]);
    tokens.close();
  });
  await gateway.keysReady();
  const users = {
    alice: await idp.issueToken({ user: 'alice' }),
    bob: await idp.issueToken({ user: 'bob' }),
  };
  return { gateway, calendar, weather, tokens, users, [Symbol.asyncDispose]: async () => undefined };
}

const sent = (server: RemoteServer, method: string): readonly (string | undefined)[] =>
  server.of(method).map(({ headers }) => headers.authorization);

for (const workers of ['1', '2'])
  test(`each server gets the token of its user, and never that of another one, with ${workers} worker(s)`, async (t) => {
    const { gateway, calendar, weather, tokens, users } = await stage(t, workers);
    for (const [user, token] of Object.entries(users)) {
      const session = await openSession(`${gateway.url}/mcp`, token);
      for (const server of [calendar, weather]) server.seen.length = 0;
      for (const target of ['calendar', 'weather'])
        assert.equal(resultText(await session.call(`${target}_echo`, { text: user })), user);
      assert.deepEqual(sent(calendar, 'tools/call'), [`Bearer for-${user}-calendar.read`]);
      assert.deepEqual(sent(weather, 'tools/call'), ['Bearer for-gateway-weather']);
      for (const { headers } of [...calendar.seen, ...weather.seen])
        assert.doesNotMatch(JSON.stringify(headers), new RegExp(token));
      await session.close();
    }
    const secrets = [...Object.values(users), 'secret-of-the-gateway', 'for-alice', 'for-bob', 'for-gateway'];
    for (const secret of secrets) assert.ok(!(gateway.log() + gateway.accessLog()).includes(secret));
    assert.ok(tokens.requests.every(({ authorization }) => authorization?.startsWith('Basic ') === true));
  });

test('a refused exchange fails the calls of its target only, and a good one serves them again', async (t) => {
  const { gateway, calendar, tokens, users } = await stage(t);
  const { instead } = tokens;
  tokens.instead = (response) => {
    if (tokens.requests.at(-1)?.form.get('scope') === 'weather') instead?.(response);
    else response.writeHead(400).end('{"error":"invalid_scope"}');
  };
  const session = await openSession(`${gateway.url}/mcp`, users.alice);
  const refused = await session.call('calendar_echo', { text: 'a' });
  assert.match(refused.error?.message ?? '', /calendar/);
  assert.equal(calendar.of('tools/call').length, 0);
  assert.equal(resultText(await session.call('weather_echo', { text: 'a' })), 'a');
  const why = /no credential for the backend.*status 400, invalid_scope/;
  await until('the reason is logged', () => why.test(gateway.log() + gateway.accessLog()));
  tokens.instead = instead;
  await until('the target to serve again', async () => {
    const { error } = await session.call('calendar_echo', { text: 'again' });
    return error === undefined;
  });
  assert.deepEqual(sent(calendar, 'tools/call'), ['Bearer for-alice-calendar.read']);
  await session.close();
});

test('a token endpoint can be a named backend', async (t) => {
  const server = await RemoteServer.start();
  const tokens = await AuthorizationServer.start();
  tokens.instead = (response) => void response.end(JSON.stringify({ access_token: 'issued' }));
  t.after(async () => {
    await server.close();
    tokens.close();
  });
  const backendAuth = {
    clientCredentials: { backend: 'idp', clientAuth: { clientId: 'gate', clientSecret: 'secret' } },
  };
  await using gateway = await startGateway(
    JSON.stringify({
      backends: [{ name: 'idp', host: `127.0.0.1:${String(tokens.port)}` }],
      mcp: { port: 0, targets: [{ name: 'a', mcp: { host: server.url }, policies: { backendAuth } }] },
    }),
  );
  const session = await openSession(`${gateway.url}/mcp`);
  assert.equal(resultText(await session.call('echo', { text: 'a' })), 'a');
  assert.deepEqual(sent(server, 'tools/call'), ['Bearer issued']);
  await session.close();
});
