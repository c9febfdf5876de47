/** Every configuration under examples/ runs as it stands there and does what its first line says. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { findOperatorSecret } from '../../src/admin/index.ts';
import { startDevIdp, type DevIdp } from '../../apps/dev-idp/src/index.ts';
import { loadConfig } from '../../apps/dev-idp/src/config.ts';
import { decideByPlan, startAuthorization } from '../../examples/policies/extAuthz/service.ts';
import { checkOrder, hideCards, startProcessor } from '../../examples/mcp/guardrails/processor.ts';
import { countMinutes, startRateLimitService } from '../../examples/policies/rateLimitService/service.ts';
import { startEcho, type Echo } from '../../apps/echo/src/index.ts';
import { launcher } from '../../src/launcher.testing.ts';
import { RedisServer, withoutRedis } from '../../src/store/redisServer.testing.ts';
import { startRemote, type RemoteServer } from '../../src/mcp/remoteServer.testing.ts';
import { Collector } from '../../src/tracing/collector.testing.ts';
import { SseServer } from '../../src/mcp/targets/sse/sseServer.testing.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { ask as askHost } from './http.testing.ts';
import { logInAt, LoginBrowser } from './oidc.testing.ts';
import { policyWalks } from './policyWalks.testing.ts';
import { apart, openSession, resultText } from './session.testing.ts';
import { counterStarted } from './conditions.testing.ts';
import { until } from '../../src/until.testing.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

interface Stage {
  readonly gateway: GatewayProcess;
  readonly idp: DevIdp;
  /** Its TMPDIR. */
  readonly folder: string;
  /** Starts another one with the same configuration. */
  another(): Promise<GatewayProcess>;
  /** The MCP server over the network. */
  readonly remote: RemoteServer;
  readonly collector: Collector;
  /** The same over HTTP+SSE. */
  readonly old: SseServer;
  /** Tokens of a member of the group, and of somebody else. */
  readonly member: string;
  readonly guest: string;
  ask(path: string, init?: RequestInit & { token?: string }): Promise<Response>;
  /** Opens a session and lists its tools. */
  tools(token?: string): Promise<string[]>;
}

const statusOf = async (asked: Promise<Response>): Promise<number> => {
  const response = await asked;
  await response.body?.cancel();
  return response.status;
};
const initialize = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };

const walks: Readonly<Record<string, (stage: Stage) => Promise<void>>> = {
  ...policyWalks,
  'examples/quickstart/config.yaml': async ({ ask, tools, member, guest, gateway }) => {
    assert.equal(await statusOf(ask('/mcp', initialize)), 401);
    assert.equal(await statusOf(ask('/mcp', { ...initialize, token: guest })), 403);
    assert.ok((await tools(member)).includes('echo'));
    for (const host of ['www.example.com', 'echo.localhost']) {
      const echo = await askHost(`${gateway.url}/headers`, { headers: { host } });
      assert.equal(echo.status, 200);
      assert.deepEqual((JSON.parse(echo.body) as { headers: Record<string, unknown> }).headers['Host'], [
        host,
      ]);
    }
  },
  'examples/policies/authorization.yaml': async ({ ask, member, guest }) => {
    assert.equal(await statusOf(ask('/anything', { token: member })), 200);
    assert.equal(await statusOf(ask('/anything', { token: guest })), 403);
    assert.equal(await statusOf(ask('/anything')), 403);
    assert.equal(await statusOf(ask('/anything/public/x')), 200);
    assert.equal(await statusOf(ask('/anything/public/x', { method: 'POST' })), 403);
    assert.equal(await statusOf(ask('/anything', { method: 'DELETE', token: member })), 403);
  },
  'examples/policies/csrf.yaml': async ({ ask }) => {
    const post = async (headers: Readonly<Record<string, string>>): Promise<number> =>
      await statusOf(ask('/post', { method: 'POST', headers }));
    assert.equal(await post({ origin: 'https://evil.example' }), 403);
    assert.equal(await post({ origin: 'https://admin.example.com' }), 200);
    assert.equal(await post({}), 200);
    assert.equal(await statusOf(ask('/get', { headers: { origin: 'https://evil.example' } })), 200);
  },
  'examples/policies/extAuthz.yaml': async ({ ask }) => {
    const get = (path: string, customer: string): Promise<Response> =>
      ask(path, { headers: { 'x-customer': customer, 'x-plan': 'gold' } });
    const stranger = await get('/anything', 'eve');
    assert.equal(stranger.status, 401);
    assert.equal(stranger.headers.get('www-authenticate'), 'Customer');
    assert.equal(await stranger.text(), 'no such customer\n');
    const known = await get('/anything', 'bob');
    assert.equal(known.status, 200);
    assert.match(await known.text(), /"X-Plan": \[\s*"basic"\s*\]/);
    assert.equal(await statusOf(get('/anything/reports', 'bob')), 403);
    assert.equal(await statusOf(get('/anything/reports', 'ada')), 200);
    assert.equal(await statusOf(ask('/anything', { method: 'POST', headers: { 'x-customer': 'ada' } })), 403);
  },
  'examples/policies/cors.yaml': async ({ ask }) => {
    const preflight = (origin: string): Promise<Response> =>
      ask('/post', { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST' } });
    const allowed = await preflight('https://app.example.com');
    assert.equal(allowed.headers.get('access-control-allow-origin'), 'https://app.example.com');
    assert.equal(allowed.headers.get('access-control-max-age'), '600');
    const local = await preflight('http://localhost:5173');
    assert.equal(local.headers.get('access-control-allow-origin'), 'http://localhost:5173');
    const foreign = await preflight('https://evil.example');
    assert.equal(foreign.headers.get('access-control-allow-origin'), null);
    const answer = await ask('/get', { headers: { origin: 'https://app.example.com' } });
    assert.equal(answer.headers.get('access-control-allow-origin'), 'https://app.example.com');
    assert.match(answer.headers.get('access-control-expose-headers') ?? '', /x-request-id/i);
  },
  'examples/policies/directResponse.yaml': async ({ ask }) => {
    const status = await ask('/status');
    assert.equal(status.headers.get('cache-control'), 'no-store');
    assert.deepEqual(await status.json(), { path: '/status', client: '127.0.0.1' });
    const closed = await ask('/');
    assert.equal(closed.status, 503);
    assert.equal(await closed.text(), 'back in an hour');
  },
  'examples/policies/jwtAuth.yaml': async ({ ask, member, guest }) => {
    const refused = await ask('/headers');
    assert.equal(refused.status, 401);
    assert.match(refused.headers.get('www-authenticate') ?? '', /^Bearer/);
    await refused.body?.cancel();
    assert.equal(await statusOf(ask('/headers', { token: guest })), 200);
    assert.equal(await statusOf(ask('/headers', { token: member })), 200);
  },
  'examples/policies/mcpAuthentication.yaml': async ({ ask, tools, member, guest }) => {
    const refused = await ask('/mcp', initialize);
    assert.equal(refused.status, 401);
    const [, url = ''] =
      /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '') ?? [];
    assert.partialDeepStrictEqual(await (await fetch(url)).json(), {
      scopes_supported: ['mcp'],
      resource_documentation: 'https://example.com/docs',
    });
    assert.equal(await statusOf(ask('/mcp', { ...initialize, token: guest })), 403);
    assert.ok((await tools(member)).includes('echo'));
  },
  'examples/policies/oidc.yaml': async ({ gateway, idp }) => {
    for (const [user, status] of [
      ['alice', 200],
      ['bob', 403],
    ] as const) {
      const browser = new LoginBrowser(gateway.url);
      const callback = new URL(await logInAt(idp, await browser.begin('/anything'), user));
      assert.equal((await browser.open(`${callback.pathname}${callback.search}`)).status, 302);
      assert.equal((await browser.open('/anything')).status, status);
      assert.equal((await browser.open('/anything/public')).status, 200);
    }
  },
  'examples/policies/sharedLogin.yaml': async ({ ask, gateway, tools, member }) => {
    const metadata = await ask('/.well-known/oauth-authorization-server/mcp');
    const endpoints = (await metadata.json()) as Record<string, string>;
    assert.equal(endpoints['issuer'], `${gateway.url}/mcp`);
    const redirectUri = 'http://127.0.0.1:33418/';
    const registered = await fetch(endpoints['registration_endpoint'] ?? '', {
      method: 'POST',
      body: JSON.stringify({ redirect_uris: [redirectUri], client_name: 'Editor' }),
    });
    const { client_id: clientId = '' } = (await registered.json()) as { client_id?: string };
    const asked = new URLSearchParams({
      client_id: clientId,
      redirect_uri: redirectUri,
      response_type: 'code',
      code_challenge: 'c'.repeat(43),
      code_challenge_method: 'S256',
    });
    const page = await fetch(`${endpoints['authorization_endpoint'] ?? ''}?${asked.toString()}`);
    assert.match(await page.text(), /Editor<.*> asks for access/);
    assert.ok((await tools(member)).includes('echo'));
  },
  'examples/policies/clientDocuments.yaml': async ({ ask, tools, member }) => {
    const metadata = await ask('/.well-known/oauth-authorization-server/mcp');
    const endpoints = (await metadata.json()) as Record<string, unknown>;
    assert.equal(endpoints['client_id_metadata_document_supported'], true);
    assert.equal(endpoints['registration_endpoint'], undefined);
    const asked = new URLSearchParams({ client_id: 'https://localhost/client.json', response_type: 'code' });
    const page = await fetch(`${String(endpoints['authorization_endpoint'])}?${asked.toString()}`);
    assert.equal(page.status, 400);
    assert.match(await page.text(), /The client is not registered here/);
    assert.ok((await tools(member)).includes('echo'));
  },
  'examples/policies/mcpAuthorization.yaml': async ({ tools, member, guest }) => {
    assert.deepEqual(await tools(guest), ['echo']);
    const seen = await tools(member);
    assert.ok(seen.includes('get-sum'));
    assert.ok(!seen.includes('get-env'));
  },
  'examples/policies/requestHeaderModifier.yaml': async ({ ask }) => {
    const { headers } = (await (await ask('/headers', { headers: { cookie: 'a=b' } })).json()) as {
      headers: Record<string, string[]>;
    };
    assert.deepEqual(headers['X-Api-Key'], ['example-key']);
    assert.deepEqual(headers['X-Via'], ['gateway']);
    assert.equal(headers['Cookie'], undefined);
  },
  'examples/policies/transformations.yaml': async ({ ask, member }) => {
    const headersFor = async (init: { token?: string }): Promise<Record<string, string[]>> => {
      const response = await ask('/headers', { ...init, headers: { 'x-user': 'root', 'x-internal': '1' } });
      assert.equal(response.headers.get('x-cacheable'), 'true');
      return ((await response.json()) as { headers: Record<string, string[]> }).headers;
    };
    const known = await headersFor({ token: member });
    assert.deepEqual(known['X-Groups'], ['["mcp-users"]']);
    assert.deepEqual([known['X-User']?.length, known['X-User']?.includes('root')], [1, false]);
    assert.equal(known['X-Internal'], undefined);
    assert.equal((await headersFor({}))['X-User'], undefined);
  },
  'examples/policies/responseHeaderModifier.yaml': async ({ ask }) => {
    const response = await ask('/get');
    assert.equal(response.headers.get('strict-transport-security'), 'max-age=31536000');
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
    await response.body?.cancel();
  },
  'examples/workers/workers.yaml': async ({ ask, gateway }) => {
    assert.equal(await statusOf(ask('/headers')), 200);
    assert.equal(await gateway.metric('portcullis_workers'), 2);
  },
  'examples/workers/mcp.yaml': async ({ gateway, folder }) => {
    await counterStarted(folder);
    assert.equal(await gateway.metric('portcullis_workers'), 3);
    const session = await openSession(`${gateway.url}/mcp`, undefined, { fetch: apart });
    for (let i = 0; i < 12; i++)
      assert.equal(resultText(await session.call('echo', { message: `${i}` })), `Echo: ${i}`);
    // initialize, initialized, 12 calls, and this.
    const { headers } = await session.send('DELETE');
    assert.equal(headers.get('x-ratelimit-remaining'), '85');
  },
  'examples/mcp/remote.yaml': async ({ ask, gateway, guest, remote }) => {
    assert.equal(await statusOf(ask('/mcp', initialize)), 401);
    const session = await openSession(`${gateway.url}/mcp`, guest);
    assert.equal(resultText(await session.call('echo', { text: 'far' })), 'far');
    assert.equal((await session.call('drop')).error?.message, 'Unknown tool: drop');
    await session.close();
    await until('the end of the session', () => remote.of('DELETE').length === 1);
    for (const { headers } of remote.seen) {
      assert.equal(headers['x-api-key'], 'a-key-of-the-gateway');
      assert.equal(headers.authorization, undefined);
    }
  },
  'examples/mcp/sse.yaml': async ({ gateway, old }) => {
    const session = await openSession(`${gateway.url}/mcp`);
    assert.equal(resultText(await session.call('echo', { text: 'from 2024' })), 'from 2024');
    const { left } = old.stream;
    await session.close();
    await left;
    for (const { headers } of old.seen) assert.equal(headers['x-api-key'], 'a-key-of-the-gateway');
  },
  'examples/mcp/authorization.yaml': async ({ gateway, member, tools, ask }) => {
    assert.deepEqual((await tools(member)).sort(), ['echo', 'get-env', 'get-sum']);
    const session = await openSession(`${gateway.url}/mcp`, member);
    const call = async (name: string, given: object): Promise<unknown> => {
      const answer = await session.request('tools/call', { name, arguments: given });
      return answer.error === undefined ? resultText(answer) : [answer.error.code, answer.error.message];
    };
    assert.equal(await call('echo', { message: 'hello' }), 'Echo: hello');
    assert.deepEqual(await call('echo', { message: 'a secret' }), [403, 'echo does not repeat secrets']);
    assert.equal(await call('get-sum', { a: 1, b: 2 }), 'The sum of 1 and 2 is 3.');
    assert.deepEqual(await call('get-sum', { a: 100, b: 2 }), [403, 'refused by a rule']);
    assert.deepEqual(await call('get-sum', { b: 2 }), [403, 'refused by a rule']);
    assert.deepEqual(await call('get-tiny-image', {}), [403, 'refused by a rule']);
    const refused = await ask('/mcp', {
      method: 'POST',
      token: member,
      headers: {
        'mcp-session-id': session.id,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: '{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"get-env","arguments":{}}}',
    });
    assert.equal(refused.status, 403);
    assert.equal(
      refused.headers.get('www-authenticate'),
      `Bearer error="insufficient_scope", resource_metadata="${gateway.url}/.well-known/oauth-protected-resource/mcp", scope="tools:use env:read"`,
    );
    assert.equal(((await refused.json()) as { error: { code: number } }).error.code, 403);
    await session.close();
  },
  'examples/mcp/federation.yaml': async ({ gateway, tools }) => {
    assert.deepEqual(await tools(), ['local_echo', 'local_get-sum', 'remote_echo']);
    const session = await openSession(`${gateway.url}/mcp`);
    assert.equal(resultText(await session.call('local_echo', { message: 'near' })), 'Echo: near');
    assert.equal(resultText(await session.call('remote_echo', { text: 'far' })), 'far');
    assert.equal((await session.call('local_get-env')).error?.message, 'Unknown tool: local_get-env');
    await session.close();
  },
  'examples/mcp/modern.yaml': async ({ gateway, tools }) => {
    const url = new URL(`${gateway.url}/mcp`);
    const versionNegotiation = { mode: { pin: '2026-07-28' } };
    const client = new ModernClient({ name: 'test', version: '1' }, { versionNegotiation });
    await client.connect(new ModernTransport(url));
    const names = (await client.listTools()).tools.map(({ name }) => name);
    assert.ok(names.includes('echo') && !names.includes('get-env'));
    const echo = await client.callTool({ name: 'echo', arguments: { message: 'alone' } });
    assert.deepEqual(echo.content, [{ type: 'text', text: 'Echo: alone' }]);
    await assert.rejects(client.callTool({ name: 'get-env', arguments: {} }), /Unknown tool: get-env/);
    await client.close();
    assert.deepEqual(await tools(), names);
  },
  'examples/mcp/view.yaml': async ({ gateway, tools }) => {
    assert.deepEqual(await tools(), ['add', 'say']);
    const session = await openSession(`${gateway.url}/mcp`);
    assert.equal(resultText(await session.call('add', { a: 1, b: 2 })), 'The sum of 1 and 2 is 3.');
    assert.equal(resultText(await session.call('say', { text: 'far' })), 'far');
    assert.equal((await session.call('local_echo')).error?.message, 'Unknown tool: local_echo');
    await session.close();
  },
  'examples/mcp/stateless.yaml': async ({ ask, remote }) => {
    const response = await ask('/mcp', {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"alone"}}}',
    });
    assert.equal(resultText((await response.json()) as Parameters<typeof resultText>[0]), 'alone');
    await until('the end of the session', () => remote.of('DELETE').length === 1);
  },
  'examples/mcp/stdioTarget.yaml': async ({ gateway }) => {
    const session = await openSession(`${gateway.url}/mcp`);
    assert.match(resultText(await session.call('get-env')), /"GREETING": "hello"/);
    await session.close();
  },
  'examples/mcp/shared.yaml': async ({ ask }) => {
    const call = async (name: string): Promise<string> => {
      const response = await ask('/mcp', {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":{"message":"once"}}}`,
      });
      return response.text();
    };
    for (const answer of await Promise.all([call('echo'), call('echo')])) assert.match(answer, /Echo: once/);
    assert.match(await call('get-env'), /Unknown tool: get-env/);
  },
  'examples/mcp/callLimits.yaml': async ({ gateway, member }) => {
    const session = await openSession(`${gateway.url}/mcp`, member);
    for (const text of ['1', '2']) assert.equal(resultText(await session.call('echo', { text })), text);
    const params = { name: 'echo', arguments: { text: '3' } };
    assert.equal((await session.send('POST', { id: 9, method: 'tools/call', params })).status, 429);
    await session.close();
  },
  'examples/mcp/budgets.yaml': async ({ gateway, remote, member }) => {
    remote.tools['export'] = (x) => x.json(x.result('exported'));
    const session = await openSession(`${gateway.url}/mcp`, member);
    for (let count = 0; count < 2; count++)
      assert.equal(resultText(await session.call('export')), 'exported');
    await session.close();
  },
  'examples/mcp/timeouts.yaml': async ({ gateway, remote, member, guest }) => {
    remote.tools['export'] = (x) => x.json(x.result('exported'));
    for (const token of [member, guest]) {
      const session = await openSession(`${gateway.url}/mcp`, token);
      assert.equal(resultText(await session.call('export')), 'exported');
      await session.close();
    }
  },
  'examples/mcp/guardrails.yaml': async ({ gateway, remote, member }) => {
    remote.tools['order'] = (x) => x.json(x.result('paid with 1234567812345678'));
    const session = await openSession(`${gateway.url}/mcp`, member);
    assert.equal(resultText(await session.call('order', { amount: 900 })), 'paid with ****');
    const refused = await session.call('order', { amount: 5_000 });
    assert.match(resultText(refused), /above the limit of alice/);
    assert.equal(remote.of('tools/call').length, 1);
    await session.close();
  },
  'examples/mcp/userChildren.yaml': async ({ gateway, member, guest }) => {
    const open = (token: string, github: string): ReturnType<typeof openSession> =>
      openSession(`${gateway.url}/mcp`, token, {
        fetch: (url, init) => {
          const headers = new Headers(init?.headers);
          headers.set('x-github-token', github);
          return fetch(url, { ...init, headers });
        },
      });
    const sessions = await Promise.all([
      open(member, 'github-of-member'),
      open(member, 'github-of-member'),
      open(guest, 'github-of-guest'),
    ]);
    const environments = await Promise.all(
      sessions.map(
        async (session) => JSON.parse(resultText(await session.call('get-env')) ?? '{}') as object,
      ),
    );
    const values = environments.map((one) => Object.entries(one));
    const own = (index: number, name: string): unknown =>
      values[index]?.find(([variable]) => variable === name)?.[1];
    assert.deepEqual(
      [0, 1, 2].map((index) => own(index, 'GITHUB_TOKEN')),
      ['github-of-member', 'github-of-member', 'github-of-guest'],
    );
    assert.equal(own(0, 'USER_NAME'), own(1, 'USER_NAME'));
    assert.notEqual(own(0, 'USER_NAME'), own(2, 'USER_NAME'));
    assert.equal(await gateway.metric('portcullis_mcp_children'), 2);
    await Promise.all(sessions.map((session) => session.close()));
  },
  'examples/mcp/openapi.yaml': async ({ gateway, guest }) => {
    const session = await openSession(`${gateway.url}/mcp`, guest);
    const { result } = await session.request('tools/list');
    assert.deepEqual(
      (result?.['tools'] as { name: string }[]).map(({ name }) => name),
      ['listProducts', 'order'],
    );
    const order = { productId: 'tea', gift: { productId: 'cup', count: 2 } };
    const echoed = JSON.parse(resultText(await session.call('order', { body: order })) ?? '') as {
      readonly url: string;
      readonly headers: Readonly<Record<string, readonly string[]>>;
      readonly json: unknown;
    };
    assert.equal(new URL(echoed.url).pathname, '/anything/orders');
    assert.deepEqual(echoed.json, order);
    assert.deepEqual(echoed.headers['X-Api-Key'], ['a-key-of-the-gateway']);
    assert.equal(echoed.headers['Authorization'], undefined);
    await session.close();
  },
  'examples/mcp/openapiReferences.yaml': async ({ gateway }) => {
    const session = await openSession(`${gateway.url}/mcp`);
    const { result } = await session.request('tools/list');
    const [tool] = result?.['tools'] as { name: string; inputSchema: { $defs: unknown } }[];
    assert.equal(tool?.name, 'addProduct');
    assert.deepEqual(Object.keys(tool.inputSchema.$defs as object), ['Price', 'Product']);
    const product = { name: 'tea', price: 2 };
    const echoed = JSON.parse(resultText(await session.call('addProduct', { body: product })) ?? '') as {
      readonly json: unknown;
    };
    assert.deepEqual(echoed.json, product);
    await session.close();
  },
  'examples/mcp/sseClients.yaml': async ({ gateway, tools }) => {
    assert.ok((await tools('')).includes('echo'));
    const client = new Client({ name: 'old', version: '1' });
    await client.connect(new SSEClientTransport(new URL('/sse', gateway.url)));
    assert.ok((await client.listTools()).tools.some(({ name }) => name === 'echo'));
    await client.close();
  },
  'examples/mcp/pins.yaml': async ({ gateway, tools, folder }) => {
    assert.ok((await tools()).includes('echo'));
    const session = await openSession(`${gateway.url}/mcp`);
    assert.equal(resultText(await session.call('echo', { message: 'pinned' })), 'Echo: pinned');
    await session.close();
    assert.equal(readdirSync(join(folder, 'portcullis-pins')).length, 1);
  },
  'examples/telemetry/access-log.yaml': async ({ gateway, ask, tools }) => {
    await statusOf(ask('/nowhere', { headers: { 'x-tenant': 'blue', 'x-request-id': 'absent' } }));
    const refused = await gateway.accessLine('absent');
    assert.deepEqual([refused['status'], refused['tenant'], 'client' in refused], [404, 'blue', false]);
    await tools();
    await until('the line of a list', () => gateway.accessLog().includes('"call.methodName":"tools/list"'));
  },
  'examples/telemetry/tracing.yaml': async ({ ask, collector }) => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await statusOf(ask('/nowhere', { headers: { traceparent, 'x-tenant': 'blue' } }));
    const sampled = () =>
      collector.spans.find(({ parentSpanId }) => parentSpanId === traceparent.slice(36, 52));
    await until('the span', () => sampled() !== undefined);
    const { traceId, attributes } = sampled() ?? assert.fail();
    assert.deepEqual(
      [
        traceId,
        attributes['tenant'],
        attributes['client.address'],
        collector.heads[0]?.['x-collector-tenant'],
      ],
      [traceparent.slice(3, 35), 'blue', undefined, 'the-tenant-of-the-example'],
    );
  },
  'examples/telemetry/log-export.yaml': async ({ ask, collector }) => {
    await statusOf(ask('/nowhere', { headers: { 'x-tenant': 'blue' } }));
    await until('the record and the span', () => collector.logs.length === 1 && collector.spans.length === 1);
    const [log, span] = [collector.logs[0] ?? assert.fail(), collector.spans[0] ?? assert.fail()];
    assert.deepEqual([log.traceId, log.spanId], [span.traceId, span.spanId]);
    assert.deepEqual(
      [log.attributes['tenant'], log.attributes['client'], log.severity, span.resource['service.name']],
      ['blue', undefined, 'WARN', 'the-gateway-of-the-example'],
    );
  },
  'examples/audit/audit.yaml': async ({ gateway, folder }) => {
    const session = await openSession(`${gateway.url}/mcp`);
    await session.call('echo', { message: 'kept', customer: { name: 'Ada' }, details: [{ iban: 'XX00' }] });
    await session.close();
    await gateway.stop();
    const file = join(folder, 'audit.jsonl');
    const calls = readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.includes('"tools/call"'));
    assert.equal(calls.length, 2, 'an intent and an outcome');
    assert.match(
      calls[0] ?? '',
      /"message":"kept","customer":\{"name":"\[redacted\]"\},"details":\[\{"iban":"\[redacted\]"\}\]/,
    );
    const verify = ['audit', 'verify', file, '--key', join(folder, 'audit.key')];
    const checkpoints = ['--checkpoints', join(folder, 'audit-checkpoints.jsonl'), '--strict'];
    const verified = spawnSync(process.execPath, [launcher, ...verify, ...checkpoints]);
    assert.equal(verified.status, 0, String(verified.stdout));
    assert.match(String(verified.stdout), /^intact: .* 0 problems, 0 known gaps, [1-9]/m);
    writeFileSync(file, readFileSync(file, 'utf8').replace('"kept"', '"lost"'));
    const altered = spawnSync(process.execPath, [launcher, ...verify]);
    assert.equal(altered.status, 1, String(altered.stdout));
    assert.match(String(altered.stdout), /^altered: .*audit\.jsonl:\d+: line \d+ of server/m);
  },
  'examples/mcp/stdio.yaml': async ({ remote }) => {
    const tool = { name: 'far', inputSchema: { type: 'object' } };
    remote.listed = () => [tool];
    const client = new Client({ name: 'desktop', version: '1' });
    const env = { ...(process.env as Record<string, string>), MCP_URL: remote.url };
    const args = [launcher, 'stdio', '-f', `${root}examples/mcp/stdio.yaml`];
    await client.connect(
      new StdioClientTransport({ command: process.execPath, args, env, stderr: 'ignore' }),
    );
    const names = (await client.listTools()).tools.map(({ name }) => name);
    assert.ok(names.includes('everything_echo') && names.includes('remote_far'), names.join(', '));
    assert.ok(!names.includes('everything_get-env'));
    await client.close();
  },
  'examples/mcp/replicas.yaml': async ({ gateway, another, guest, remote }) => {
    const session = await openSession(`${gateway.url}/mcp`, guest);
    await using second = await another();
    await second.keysReady();
    const { status } = await fetch(`${second.url}/mcp`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${guest}`, 'mcp-session-id': session.id },
    });
    assert.equal(status, 204);
    assert.equal(remote.of('DELETE').length, 1);
    if (withoutRedis !== false) return;
    const own = await openSession(`${gateway.url}/programs`, guest);
    gateway.signal('SIGKILL');
    await gateway.ended;
    const headers = {
      authorization: `Bearer ${guest}`,
      'mcp-session-id': own.id,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    const body =
      '{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"echo","arguments":{"message":"on"}}}';
    const answer = await fetch(`${second.url}/programs`, { method: 'POST', headers, body });
    assert.match(await answer.text(), /Echo: on/);
  },
  'examples/admin/editable.yaml': async ({ gateway, folder }) => {
    const { hostname: host, port } = new URL(gateway.admin);
    const found = findOperatorSecret({ host, port: Number(port) }, { XDG_RUNTIME_DIR: folder });
    const headers = {
      authorization: `Bearer ${found?.secret ?? ''}`,
      'content-type': 'application/json',
    };
    const url = `${gateway.admin}/api/v1/config`;
    const { writable, text } = (await (await fetch(url, { headers })).json()) as {
      writable: boolean;
      text: string;
    };
    assert.equal(writable, true);
    const body = JSON.stringify({ text: text.replace('mode: file', 'mode: readOnly') });
    const checked = await fetch(`${url}/check`, { method: 'POST', headers, body });
    assert.equal(((await checked.json()) as { ok: boolean }).ok, true);
  },
  'examples/admin/login.yaml': async ({ gateway, idp }) => {
    for (const [user, role] of [
      ['alice', 'operator'],
      ['bob', 'viewer'],
    ] as const) {
      const browser = new LoginBrowser(gateway.url);
      const callback = new URL(await logInAt(idp, await browser.begin('/ui/'), user));
      assert.equal((await browser.open(`${callback.pathname}${callback.search}`)).status, 302);
      const { status, body } = await browser.fetch('/api/v1/session');
      assert.equal(status, 200, body);
      assert.equal((JSON.parse(body) as { role: string }).role, role);
    }
  },
  'examples/policies/timeout.yaml': async ({ ask }) => {
    assert.equal(await statusOf(ask('/delay/0.1')), 200);
    assert.equal(await statusOf(ask('/delay/5')), 504);
  },
};

/** Configurations of the gateway; those of its companions have no ports to bind. */
const configurations = globSync('examples/**/*.{yaml,yml}', { cwd: root })
  .filter((file) => !file.includes('/.'))
  // Theirs are walked in upstream.test.ts, tls.test.ts, tcp.test.ts, store.test.ts, why.test.ts and
  // issuedCredentials.test.ts: each needs backends of its own.
  .filter((file) => !/^examples\/(?:credentials|upstream|tls|tcp|store|why)\//.test(file))
  .filter((file) => /^(?:binds|gateways|mcp|routes):/m.test(readFileSync(root + file, 'utf8')))
  .sort();

test('every example has its walk', () => {
  assert.deepEqual(configurations, Object.keys(walks).sort());
});

describe('the example', { concurrency: 2 }, () => {
  let idp: DevIdp;
  let echo: Echo;
  let member: string;
  let guest: string;

  before(async () => {
    idp = await startDevIdp({ port: 0, config: await loadConfig(`${root}examples/quickstart/idp.yaml`) });
    echo = await startEcho({ port: 0 });
    member = await idp.issueToken({ user: 'alice' });
    guest = await idp.issueToken({ client: 'guest' });
  });
  after(async () => {
    await echo?.close();
    await idp?.close();
  });

  for (const [file, walk] of Object.entries(walks))
    test(file, async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'portcullis-example-'));
      t.after(() => rmSync(folder, { recursive: true }));
      writeFileSync(join(folder, 'audit.key'), 'an audit key for this test and no other use');
      const remote = await startRemote(t);
      const old = await SseServer.start();
      t.after(() => old.close());
      await using collector = await Collector.grpc();
      const processor = await startProcessor(0, { request: checkOrder, response: hideCards });
      t.after(() => processor.close());
      const authorization = await startAuthorization(0, decideByPlan);
      t.after(() => authorization.close());
      const limits = await startRateLimitService(
        0,
        countMinutes(3, () => 0),
      );
      t.after(() => limits.close());
      const redis =
        file.endsWith('replicas.yaml') && withoutRedis === false ? await RedisServer.start() : undefined;
      t.after(() => redis?.close());
      const start = (): Promise<GatewayProcess> =>
        startGateway('', {
          args: ['-f', root + file],
          env: {
            GATEWAY_PORT: '0',
            IDP_ISSUER: idp.issuer,
            ECHO_HOST: `127.0.0.1:${echo.port}`,
            MIRROR_HOST: `127.0.0.1:${echo.port}`,
            MCP_URL: remote.url,
            MCP_SSE_URL: old.url,
            ...(redis && { REDIS_URL: `redis://127.0.0.1:${redis.port}` }),
            MCP_SESSION_KEY: 'e5'.repeat(32),
            COLLECTOR: collector.url,
            PROCESSOR: `127.0.0.1:${processor.port}`,
            AUTHZ: `127.0.0.1:${authorization.port}`,
            RATE_LIMIT_SERVICE: `127.0.0.1:${limits.port}`,
            TMPDIR: folder,
            AUDIT_FOLDER: folder,
          },
        });
      await using gateway = await start();
      await gateway.keysReady();
      await walk({
        gateway,
        idp,
        another: start,
        folder,
        remote,
        collector,
        old,
        member,
        guest,
        ask: (path, { token, headers, ...init } = {}) =>
          fetch(`${gateway.url}${path}`, {
            ...init,
            headers: {
              ...(headers as Record<string, string> | undefined),
              ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
            },
          }),
        tools: async (token) => {
          const session = await openSession(`${gateway.url}/mcp`, token);
          const { result } = await session.request('tools/list');
          await session.close();
          return (result?.['tools'] as { name: string }[]).map(({ name }) => name);
        },
      });
    });
});
