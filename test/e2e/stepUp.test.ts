/** Scopes of the whole request and of one tool: a client learns all of them at once, and no message passes without. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway } from './gateway.testing.ts';
import { until } from '../../src/until.testing.ts';
import { openSession, resultText } from './session.testing.ts';
import { authentication, inline, rogueBackends, startIdp } from './stage.testing.ts';

test('a client without the scopes of the request learns those of its call, too, and gets nowhere', async (t) => {
  const idp = await startIdp();
  const gateway = await startGateway(`
binds:
- port: 0
  listeners:
  - routes:
    - policies: ${inline({
      mcpAuthentication: authentication(idp, { authorization: undefined }),
      mcpAuthorization: {
        rules: [{ requireScopes: ['mcp'] }, { if: 'mcp.tool.name == "echo"', requireScopes: ['write'] }],
      },
    })}
      backends: ${rogueBackends}
`);
  t.after(async () => {
    await gateway.stop();
    await idp.close();
  });
  await gateway.keysReady();
  const tokenOf = (...scopes: string[]): Promise<string> => idp.issueToken({ user: 'alice', scopes });
  const none = await tokenOf();
  const session = await openSession(`${gateway.url}/mcp`, await tokenOf('mcp', 'write'));
  assert.equal(resultText(await session.call('echo', { text: 'hello' })), 'hello');

  const ask = async (token: string, body: unknown, method = 'POST') => {
    const response = await fetch(`${gateway.url}/mcp`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        'mcp-session-id': session.id,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      ...(method === 'POST' ? { body: typeof body === 'string' ? body : JSON.stringify(body) } : {}),
    });
    await response.body?.cancel();
    const challenge = response.headers.get('www-authenticate') ?? '';
    return [response.status, / scope="(.*)"/.exec(challenge)?.[1]] as const;
  };
  const message = (method: string, params: object = {}) => ({ jsonrpc: '2.0', method, params });
  const request = (method: string, params: object = {}) => ({ id: 7, ...message(method, params) });
  const call = (name: string) => request('tools/call', { name, arguments: {} });
  assert.deepEqual(await ask(none, call('echo')), [403, 'mcp write']);
  assert.deepEqual(await ask(await tokenOf('write'), call('echo')), [403, 'mcp write']);
  assert.deepEqual(await ask(none, [{ ...request('ping'), id: 8 }, call('echo')]), [403, 'mcp write']);
  assert.deepEqual(await ask(await tokenOf('mcp'), call('echo')), [403, 'mcp write']);
  const others = [
    call('pid'),
    request('initialize', { protocolVersion: '2025-11-25', capabilities: {} }),
    request('ping'),
    request('tools/list'),
    message('notifications/initialized'),
    [message('notifications/cancelled'), request('ping')],
    { jsonrpc: '2.0', id: 1, result: {} },
    'no JSON',
    '',
  ];
  for (const body of others) assert.deepEqual(await ask(none, body), [403, 'mcp'], JSON.stringify(body));
  for (const method of ['GET', 'DELETE']) assert.deepEqual(await ask(none, '', method), [403, 'mcp']);
  assert.equal(resultText(await session.call('echo', { text: 'still here' })), 'still here');
  const rules = () => [...gateway.accessLog().matchAll(/rule"?[=:]"(.*?)"/g)].map(([, rule]) => rule);
  await until('the line of the last refusal', () => {
    const lines = gateway.accessLog().split('\n');
    return lines.some((line) => / DELETE .*requireScopes mcp/.test(line));
  });
  assert.ok(rules().includes('requireScopes mcp'), gateway.accessLog());
  assert.ok(!rules().includes('requireScopes mcp: true'));
  await session.close();
});

const gate = { requireScopes: ['mcp'] };
const ofEcho = { if: 'mcp.tool.name == "echo"', requireScopes: ['write'] };
const ofTools = { if: 'has(mcp.tool)', requireScopes: ['mcp'] };
const rulesOf = (...rules: object[]): object => ({ rules });

/** Two rule sets on one route: in `mcpAuthentication.authorization`, in other policies of the route, on the backend. */
const spreads: Readonly<Record<string, readonly [own: object | undefined, route: object, backend: object]>> =
  {
    'a gate in mcpAuthentication and a tool on the backend': [
      rulesOf(gate),
      {},
      { mcpAuthorization: rulesOf(ofEcho) },
    ],
    'a gate on the route and a tool on the backend': [
      undefined,
      { mcpAuthorization: rulesOf(gate) },
      { mcpAuthorization: rulesOf(ofEcho) },
    ],
    'a tool in mcpAuthentication and a gate on the backend': [
      rulesOf(ofEcho),
      {},
      { mcpAuthorization: rulesOf(gate) },
    ],
    'a tool on the route and all tools on the backend': [
      undefined,
      { mcpAuthorization: rulesOf(ofEcho) },
      { mcpAuthorization: rulesOf(ofTools) },
    ],
  };

test('a challenge has the scopes of all rule sets of the route, whichever of them the caller has', async (t) => {
  const idp = await startIdp();
  t.after(() => idp.close());
  const routes = Object.values(spreads).map(([authorization, policies, ofBackend], at) => {
    const [backend] = JSON.parse(rogueBackends) as [object];
    return {
      matches: [{ path: { pathPrefix: `/${at}` } }],
      policies: { mcpAuthentication: authentication(idp, { authorization }), ...policies },
      backends: [{ ...backend, policies: ofBackend }],
    };
  });
  const gateway = await startGateway(inline({ binds: [{ port: 0, listeners: [{ routes }] }] }));
  t.after(() => gateway.stop());
  await gateway.keysReady();
  const tokenOf = (...scopes: string[]): Promise<string> => idp.issueToken({ user: 'alice', scopes });
  for (const [at, name] of Object.keys(spreads).entries()) {
    const url = `${gateway.url}/${at}`;
    const session = await openSession(url, await tokenOf('mcp', 'write'));
    assert.equal(resultText(await session.call('echo', { text: 'hello' })), 'hello');
    for (const held of [[], ['mcp'], ['write']]) {
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${await tokenOf(...held)}`,
          'mcp-session-id': session.id,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'echo' } }),
      });
      await response.body?.cancel();
      assert.equal(response.status, 403, name);
      const [, scope = ''] = / scope="(.*)"/.exec(response.headers.get('www-authenticate') ?? '') ?? [];
      assert.deepEqual(scope.split(' ').toSorted(), ['mcp', 'write'], `${name}, with ${held.join()}`);
    }
    await session.close();
  }
});
